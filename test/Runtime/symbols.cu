// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t | FileCheck %s
// RUN: %cuda_cc_static -O0 -g %s -o %t.static %cuda_static_libs
// RUN: llvm-mneme-record --device=host --no-record -- %t.static | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Counter = 5;
__device__ double Table[4] = {1, 2, 3, 4};
__constant__ float Scale = 0.5f;
__device__ int *Indirect = &Counter;
static __device__ int Hidden = 9;

__global__ void use(double *Out) {
  *Out = Table[3] * Scale + *Indirect + Hidden;
  Counter += 1;
}

int main() {
  // Initial values are there before the first launch.
  int C = 0, H = 0;
  OK(cudaMemcpyFromSymbol(&C, Counter, sizeof(C)));
  OK(cudaMemcpyFromSymbol(&H, Hidden, sizeof(H)));
  CHECK(C == 5 && H == 9);
  size_t Size;
  void *Address;
  OK(cudaGetSymbolSize(&Size, Table));
  CHECK(Size == sizeof(double) * 4);
  OK(cudaGetSymbolAddress(&Address, Table));
  cudaPointerAttributes A;
  OK(cudaPointerGetAttributes(&A, Address));
  CHECK(A.type == cudaMemoryTypeDevice);

  float S = 2;
  double Last = 10;
  OK(cudaMemcpyToSymbol(Scale, &S, sizeof(S)));
  OK(cudaMemcpyToSymbol(Table, &Last, sizeof(Last), 3 * sizeof(double)));
  EXPECT(cudaErrorInvalidValue, cudaMemcpyToSymbol(Table, &Last, sizeof(Last), 4 * sizeof(double)));
  EXPECT(cudaErrorInvalidValue, cudaGetLastError());
  double *Out, Result;
  OK(cudaMalloc(&Out, sizeof(*Out)));
  use<<<1, 1>>>(Out);
  OK(cudaGetLastError());
  OK(cudaMemcpy(&Result, Out, sizeof(Result), cudaMemcpyDeviceToHost));
  OK(cudaMemcpyFromSymbolAsync(&C, Counter, sizeof(C), 0, cudaMemcpyDeviceToHost));
  CHECK(C == 6);
  // Copies between variables and device memory.
  OK(cudaMemcpyFromSymbol(Out, Table, sizeof(double), sizeof(double), cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(&Last, Out, sizeof(Last), cudaMemcpyDefault));
  CHECK(Last == 2);
  int NotAVariable;
  EXPECT(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&Address, NotAVariable));
  EXPECT(cudaErrorInvalidSymbol, cudaGetLastError());
  // CHECK: result 34
  printf("result %g\n", Result);
}
