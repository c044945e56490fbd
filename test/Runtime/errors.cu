// Names and texts of errors are those of the real runtime: programs print them.
//
// REQUIRES: cuda-toolkit
// RUN: %cuda_cc_plain %s -o %t -lcudart
// RUN: %t > %t.cuda
// RUN: env LD_PRELOAD=%mneme_rt %t > %t.mneme
// RUN: diff %t.cuda %t.mneme
// RUN: FileCheck %s < %t.mneme

#include <cstdio>
#include <cuda_runtime_api.h>

int main() {
  // CHECK: 700 cudaErrorIllegalAddress: an illegal memory access was encountered
  for (int E = -1; E < 1100; ++E)
    printf("%d %s: %s\n", E, cudaGetErrorName((cudaError_t)E),
           cudaGetErrorString((cudaError_t)E));
}
