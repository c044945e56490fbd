// Several threads, each with a stream and memory of its own, while their launches are
// recorded: results are right, and all memory comes back.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=0x8000000 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --max-recordings=9 -o %t.rec -- %t \
// RUN:   > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: llvm-mneme-record check %t.rec
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-5: Match
// REPLAY-NOT: {{.}}
// CHECK: all is well
// ERR: 240 launches seen, 5 recorded, 235 skipped

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <thread>
#include <vector>

__global__ void add(int *P, int N, int V) {
  for (int I = threadIdx.x; I < N; I += blockDim.x)
    P[I] += V;
}

static void work(int Thread) {
  cudaStream_t S;
  OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
  int *Pinned;
  OK(cudaMallocHost((void **)&Pinned, 4000));
  for (int Round = 0; Round != 30; ++Round) {
    int *D, *Managed, N = 100 + 37 * ((Round * 7 + Thread) % 20);
    OK(cudaMallocAsync((void **)&D, N * sizeof(int), S));
    OK(cudaMallocManaged((void **)&Managed, 100));
    for (int I = 0; I != N; ++I)
      Pinned[I] = I;
    OK(cudaStreamSynchronize(S));
    OK(cudaMemcpy(D, Pinned, N * sizeof(int), cudaMemcpyHostToDevice));
    add<<<1, 1 + Round % 3, 0, S>>>(D, N, Thread);
    add<<<2, 4 + Thread % 2, 0, S>>>(Pinned, N, 0);
    std::vector<int> H(N);
    OK(cudaStreamSynchronize(S));
    OK(cudaMemcpy(H.data(), D, N * sizeof(int), cudaMemcpyDeviceToHost));
    for (int I = 0; I != N; ++I)
      CHECK(H[I] == I + Thread && Pinned[I] == I);
    OK(cudaFreeAsync(D, S));
    OK(cudaFree(Managed));
  }
  OK(cudaFreeHost(Pinned));
  OK(cudaStreamDestroy(S));
}

int main() {
  size_t Before, After, Total;
  OK(cudaMemGetInfo(&Before, &Total));
  std::vector<std::thread> Threads;
  for (int I = 0; I != 4; ++I)
    Threads.emplace_back(work, I);
  for (std::thread &T : Threads)
    T.join();
  OK(cudaDeviceSynchronize());
  OK(cudaMemGetInfo(&After, &Total));
  CHECK(Before == After);
  printf("all is well\n");
}
