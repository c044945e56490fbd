// REQUIRES: cuda-toolkit
// RUN: %cuda_cc %s -o %t
// RUN: env LD_PRELOAD=%mneme_rt %t 2>&1 | FileCheck %s
// RUN: %cuda_cc_static %s -o %t.static %cuda_static_libs
// RUN: env LD_PRELOAD=%mneme_rt %t.static 2>&1 | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>

int main() {
  setvbuf(stdout, nullptr, _IONBF, 0);
  cudaGraph_t Graph;
  cudaArray_t Array;
  cudaChannelFormatDesc Desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  // CHECK: mneme: error: cudaGraphCreate is not available on the host device
  EXPECT(cudaErrorNotSupported, cudaGraphCreate(&Graph, 0));
  // Said once.
  // CHECK-NEXT: again
  printf("again\n");
  EXPECT(cudaErrorNotSupported, cudaGraphCreate(&Graph, 0));
  // CHECK-NEXT: mneme: error: cudaMallocArray is not available on the host device
  EXPECT(cudaErrorNotSupported, cudaMallocArray(&Array, &Desc, 4, 4, 0));
  EXPECT(cudaErrorNotSupported, cudaGetLastError());
  OK(cudaGetLastError());
  // CHECK-NEXT: all as it should be
  printf("all as it should be\n");
}
