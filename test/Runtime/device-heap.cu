// Launches that can reach memory from malloc in a kernel, or leave a pointer to it, are skipped with the reason. Others are recorded.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: all as it should be
// CHECK: scratch(int*, int) {{ *}}2
// CHECK: mneme: 6 launches seen, 2 recorded, 4 skipped
// CHECK-NEXT: 3 skipped: memory points to memory that a kernel has allocated with malloc, which is not recorded
// CHECK-NEXT: 1 skipped: same launch configuration failed to be recorded before
// RUN: llvm-mneme-replay %t/rec --all --passes='default<O2>' | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-2: "verdict": "Match"

#include "Inputs/check.h"
#include <cuda_runtime.h>

struct Node {
  int Value;
  Node *Next;
};
__device__ Node *List;
__device__ int Sum;

__global__ void make(int N) {
  for (int I = 0; I < N; ++I) {
    auto *New = static_cast<Node *>(malloc(sizeof(Node)));
    *New = {I, List};
    List = New;
  }
}
__global__ void add() {
  for (Node *N = List; N; N = N->Next)
    Sum += N->Value;
}
__global__ void drop() {
  while (Node *N = List) {
    List = N->Next;
    free(N);
  }
}
// Memory that a kernel uses for itself, or leaks, does not matter.
__global__ void scratch(int *Out, int N) {
  auto *P = static_cast<int *>(malloc(N * sizeof(int)));
  for (int I = 0; I < N; ++I)
    P[I] = I;
  Out[threadIdx.x] = P[threadIdx.x];
  if (N == 64)
    free(P);
}

int main() {
  int *Out, H[64];
  OK(cudaMalloc(&Out, sizeof(H)));
  scratch<<<1, 64>>>(Out, 64);
  scratch<<<1, 32>>>(Out, 32);
  make<<<1, 1>>>(10);
  add<<<1, 1>>>();
  drop<<<1, 1>>>();
  OK(cudaMemcpyFromSymbol(H, Sum, sizeof(int)));
  CHECK(H[0] == 45);
  // The heap ends with a reset.
  make<<<1, 1>>>(10);
  OK(cudaDeviceReset());
  OK(cudaMemcpyFromSymbol(H, List, sizeof(void *)));
  CHECK(!H[0] && !H[1]);
  printf("all as it should be\n");
}
