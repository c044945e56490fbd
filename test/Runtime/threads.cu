// Several host threads: launches are serialized, errors are each thread's own.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -std=c++17 -O2 %s -o %t -lpthread
// RUN: rm -rf %t.rec && llvm-mneme-record --device=host -o %t.rec -- %t | FileCheck %s
// RUN: llvm-mneme-record check %t.rec

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <thread>
#include <vector>

__device__ unsigned Launches;

__global__ void fill(int *P, int N, int V) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    P[I] += V;
  if (!I)
    atomicAdd(&Launches, 1);
}

static void work(int Id) {
  cudaStream_t S;
  OK(cudaStreamCreate(&S));
  for (int Round = 0; Round < 20; ++Round) {
    int N = 1000 + Id, *D;
    std::vector<int> H(N, Round);
    OK(cudaMalloc(&D, N * sizeof(int)));
    OK(cudaMemcpyAsync(D, H.data(), N * sizeof(int), cudaMemcpyHostToDevice, S));
    fill<<<(N + 63) / 64, 64, 0, S>>>(D, N, Id);
    OK(cudaMemcpyAsync(H.data(), D, N * sizeof(int), cudaMemcpyDeviceToHost, S));
    OK(cudaStreamSynchronize(S));
    for (int V : H)
      CHECK(V == Round + Id);
    OK(cudaFree(D));
    // Nobody else sees this one. (Not D again: another thread may have it now.)
    if (Id % 2) {
      EXPECT(cudaErrorInvalidValue, cudaFree(H.data()));
      EXPECT(cudaErrorInvalidValue, cudaGetLastError());
    }
    OK(cudaGetLastError());
  }
  OK(cudaStreamDestroy(S));
}

int main() {
  std::vector<std::thread> Threads;
  for (int I = 0; I < 8; ++I)
    Threads.emplace_back(work, I);
  for (std::thread &T : Threads)
    T.join();
  unsigned N;
  OK(cudaMemcpyFromSymbol(&N, Launches, sizeof(N)));
  // CHECK: 160 launches
  printf("%u launches\n", N);
}
