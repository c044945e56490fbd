// Variables that point to variables and into the heap, arguments and memory that point
// to variables, which the kernel does not name: what is recorded replays.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: 15 22 31
// CHECK: 3 launches seen, 3 recorded
// RUN: llvm-mneme-record check %t/rec
// RUN: ls %t/rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O1>'
// RUN: ls %t/rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O3>'

#include "Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Value = 5;
__device__ int *Direct = &Value;
__device__ int **Twice = &Direct;
__device__ int *Heap;
__device__ int Unnamed[2] = {20, 30};

__global__ void chain() {
  **Twice += *Heap;
  *Heap = 10;
}
__global__ void argument(int *P) { *P += 2; }
__global__ void inside(int **P) { **P += 1; }

int main() {
  int *D, **Holder, *Address, H;
  OK(cudaMalloc(&D, sizeof(int)));
  H = 10;
  OK(cudaMemcpy(D, &H, sizeof(H), cudaMemcpyHostToDevice));
  OK(cudaMemcpyToSymbol(Heap, &D, sizeof(D)));
  chain<<<1, 1>>>();
  OK(cudaMemcpyFromSymbol(&H, Value, sizeof(H)));
  printf("%d ", H);
  OK(cudaGetSymbolAddress((void **)&Address, Unnamed));
  argument<<<1, 1>>>(Address);
  OK(cudaMemcpyFromSymbol(&H, Unnamed, sizeof(H)));
  printf("%d ", H);
  ++Address;
  OK(cudaMalloc(&Holder, sizeof(Address)));
  OK(cudaMemcpy(Holder, &Address, sizeof(Address), cudaMemcpyHostToDevice));
  inside<<<1, 1>>>(Holder);
  OK(cudaMemcpyFromSymbol(&H, Unnamed, sizeof(H), sizeof(int)));
  printf("%d\n", H);
}
