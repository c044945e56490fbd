// After cudaDeviceReset, the next use of the device finds variables and attributes of functions as at the start of the program.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Count = 5;
__constant__ int Step = 1;
__device__ int *Pointer = &Count;

__global__ void count() { *Pointer += Step; }
__global__ void large() {
  extern __shared__ int Shared[];
  Shared[threadIdx.x] = Count;
}

int main() {
  for (int Round = 0; Round < 3; ++Round) {
    count<<<1, 1>>>();
    int H = 10;
    OK(cudaMemcpyToSymbol(Step, &H, sizeof(H)));
    count<<<1, 1>>>();
    OK(cudaMemcpyFromSymbol(&H, Count, sizeof(H)));
    CHECK(H == 5 + 1 + 10);
    H = 0;
    OK(cudaMemcpyToSymbol(Pointer, &H, sizeof(H)));
    large<<<1, 1, 64 << 10>>>();
    EXPECT(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
    large<<<1, 1, 64 << 10>>>();
    OK(cudaDeviceReset());
  }
  // The first use may be a copy.
  int H;
  OK(cudaMemcpyFromSymbol(&H, Count, sizeof(H)));
  CHECK(H == 5);
  OK(cudaDeviceReset());
  // CHECK: all as it should be
  printf("all as it should be\n");
}
