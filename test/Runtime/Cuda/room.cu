// Memory that the application has freed is there for other functions than
// cudaMalloc: little of it stays with the arena.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=0x10000000 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t | FileCheck %s

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void unused() {}

int main(int Argc, char **) {
  void *D, *Managed;
  OK(cudaMalloc(&D, 200 << 20));
  OK(cudaFree(D));
  // CHECK: managed: no error
  printf("managed: %s\n",
         cudaGetErrorString(cudaMallocManaged(&Managed, 200 << 20)));
  if (Argc > 1)
    unused<<<1, 1>>>();
}
