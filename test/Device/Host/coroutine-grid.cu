// REQUIRES: cuda-toolkit, device-host
//
// Blocks that wait for other blocks: later ones must start while earlier ones wait.
//
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: for B in O0 O3; do for S in auto fiber; do for W in 1 2; do \
// RUN:   env MNEME_HOST_STRATEGY=$S MNEME_HOST_WORKERS=$W \
// RUN:   llvm-mneme-record --device=host -o %t.$B.$S.$W -- %t.$B || exit 1; \
// RUN: done; done; done | FileCheck %s
// CHECK-COUNT-8: all right

#include <cooperative_groups.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

static int Failures = 0;

static void check(const char *What, bool Ok) {
  cudaError_t Error = cudaDeviceSynchronize();
  if (Error == cudaSuccess && Ok)
    return;
  printf("%s: %s\n", What, cudaGetErrorString(Error));
  ++Failures;
}

/// Turns the array round, across blocks.
__global__ void reverse(int *A, int N) {
  cg::grid_group Grid = cg::this_grid();
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  A[I] = I;
  Grid.sync();
  int V = A[N - 1 - I];
  Grid.sync();
  A[I] = V;
}

__device__ int Lock, Count;

/// A lock that every thread takes once.
__global__ void takeLock() {
  for (bool Done = false; !Done;)
    if (atomicCAS(&Lock, 0, 1) == 0) {
      ++Count;
      __threadfence();
      atomicExch(&Lock, 0);
      Done = true;
    }
}

__device__ volatile int Ready[64], Prefix[64];

/// A scan in one pass: each block waits for the sum of those before it.
__global__ void scan(const int *In, int *Out) {
  __shared__ int S[256], Base;
  int T = threadIdx.x, B = blockIdx.x;
  S[T] = In[B * 256 + T];
  __syncthreads();
  for (int D = 1; D < 256; D *= 2) {
    int V = T >= D ? S[T - D] : 0;
    __syncthreads();
    S[T] += V;
    __syncthreads();
  }
  if (T == 0) {
    int Before = 0;
    if (B > 0) {
      while (!Ready[B - 1])
        ;
      Before = Prefix[B - 1];
    }
    Prefix[B] = Before + S[255];
    __threadfence();
    Ready[B] = 1;
    Base = Before;
  }
  __syncthreads();
  Out[B * 256 + T] = S[T] + Base;
}

/// Only the grid of a cooperative launch has a barrier.
__global__ void isValid(int *A) { A[0] = cg::this_grid().is_valid(); }

int main() {
  int N = 40 * 64, *A;
  std::vector<int> H(64 * 256);
  cudaMalloc(&A, H.size() * 4);
  void *Args[] = {&A, &N};
  check("launch",
        cudaLaunchCooperativeKernel((void *)reverse, 40, 64, Args, 0, 0) ==
            cudaSuccess);
  cudaMemcpy(H.data(), A, N * 4, cudaMemcpyDeviceToHost);
  bool Ok = true;
  for (int I = 0; I < N; ++I)
    Ok &= H[I] == N - 1 - I;
  check("reverse", Ok);

  takeLock<<<20, 64>>>();
  int Taken = 0;
  cudaMemcpyFromSymbol(&Taken, Count, 4);
  check("takeLock", Taken == 20 * 64);

  int *Out;
  cudaMalloc(&Out, H.size() * 4);
  for (size_t I = 0; I < H.size(); ++I)
    H[I] = I % 5;
  cudaMemcpy(A, H.data(), H.size() * 4, cudaMemcpyHostToDevice);
  scan<<<64, 256>>>(A, Out);
  cudaMemcpy(H.data(), Out, H.size() * 4, cudaMemcpyDeviceToHost);
  int Sum = 0;
  Ok = true;
  for (size_t I = 0; I < H.size(); ++I) {
    Sum += I % 5;
    Ok &= H[I] == Sum;
  }
  check("scan", Ok);

  int Plain, Cooperative;
  isValid<<<1, 1>>>(A);
  cudaMemcpy(&Plain, A, 4, cudaMemcpyDeviceToHost);
  cudaLaunchCooperativeKernel((void *)isValid, 1, 1, Args, 0, 0);
  cudaMemcpy(&Cooperative, A, 4, cudaMemcpyDeviceToHost);
  check("isValid", Plain == 0 && Cooperative == 1);
  printf(Failures ? "%d FAILURES\n" : "all right\n", Failures);
  return Failures != 0;
}
