// Many launches of many kernels; arguments as large as CUDA allows; grids of many
// blocks that do nothing; allocations of nothing.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -std=c++17 -O1 %s -o %t
// RUN: rm -rf %t.rec && llvm-mneme-record --device=host -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=COUNT < %t.err
// COUNT: mneme: 10007 launches seen, 27 recorded, 9980 skipped
// COUNT: 9980 skipped: same launch configuration recorded before
// RUN: llvm-mneme-record check %t.rec | FileCheck %s --check-prefix=WHOLE
// WHOLE: 25 kernels, 27 instances, 0 problems
// RUN: grep -l '8188' %t.rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O2>' --iterations=1 --format=text | FileCheck %s --check-prefix=REPLAY
// REPLAY: verdict {{ *}}Match

#include "Inputs/check.h"
#include <cuda_runtime.h>

template <int K> __global__ void add(int *P) { P[threadIdx.x] += K; }
template <int K> void addAll(int *P) {
  if constexpr (K > 0) {
    add<K><<<1, 32>>>(P);
    addAll<K - 1>(P);
  }
}

template <int N> struct Large {
  int V[N];
  int *P;
};
template <int N> __global__ void sum(Large<N> L) {
  int S = 0;
  for (int I = 0; I < N; ++I)
    S += L.V[I];
  *L.P = S;
}
template <int N> int sumOf() {
  Large<N> L;
  for (int I = 0; I < N; ++I)
    L.V[I] = I;
  OK(cudaMalloc(&L.P, 4));
  sum<N><<<1, 1>>>(L);
  int H = 0;
  OK(cudaMemcpy(&H, L.P, 4, cudaMemcpyDeviceToHost));
  return H;
}

__global__ void nothing() {}
__global__ void nothingWith(int *) {}

int main() {
  int *P, H;
  OK(cudaMalloc(&P, 128));
  OK(cudaMemset(P, 0, 128));
  for (int I = 0; I < 500; ++I)
    addAll<20>(P);
  OK(cudaMemcpy(&H, P, 4, cudaMemcpyDeviceToHost));
  // CHECK: all kernels: 105000
  printf("all kernels: %d\n", H);

  // 4 KiB and 32 764 bytes: what old and new GPUs take.
  // CHECK: arguments: 120 522753 33517578
  int Small = sumOf<16>(), Old = sumOf<1023>(), New = sumOf<8188>();
  printf("arguments: %d %d %d\n", Small, Old, New);

  nothing<<<1 << 20, 1>>>();
  nothing<<<dim3(16, 65535), 32>>>();
  void *None = &H;
  OK(cudaMalloc(&None, 0));
  nothingWith<<<4, 1>>>(static_cast<int *>(None));
  nothingWith<<<1 << 20, 1>>>(nullptr);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(None));
  // CHECK: zero bytes: 1
  printf("zero bytes: %d\n", None == nullptr);
}
