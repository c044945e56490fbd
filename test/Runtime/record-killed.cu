// An application that is killed while it records leaves whole recordings, or none;
// the next run records what is missing.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec %t.log
// RUN: for ms in 1 3 6 10 15 20 30 40 60 80; do \
// RUN:   llvm-mneme-record --device=host --quiet --max-recordings=0 -o %t.rec -- %t $ms; echo exit $?; \
// RUN:   ls -A %t.rec | grep -v -x -E -e '.*[.]json|.*[.]bc|.lock' -e '(DeviceState|Pages)[.].*[.]mneme'; \
// RUN:   if ls %t.rec/*.json > %t.ls; then llvm-mneme-record check %t.rec; fi; \
// RUN:   done > %t.log 2>&1
// RUN: FileCheck %s --input-file=%t.log --implicit-check-not=error: --implicit-check-not=warning: --implicit-check-not=recording-
// CHECK: exit 137
//
// The launcher is asked to end, passes that on, and ends after the application; or
// the application aborts.
// RUN: rm -rf %t.rec
// RUN: for ms in 2 8 20 50; do for signal in 15 6; do \
// RUN:   llvm-mneme-record --device=host --quiet --max-recordings=0 -o %t.rec -- %t $ms $signal; echo exit $?; \
// RUN:   ls -A %t.rec | grep -v -x -E -e '.*[.]json|.*[.]bc|.lock' -e '(DeviceState|Pages)[.].*[.]mneme'; \
// RUN:   if ls %t.rec/*.json > %t.ls; then llvm-mneme-record check %t.rec; fi; \
// RUN:   done; done > %t.log 2>&1
// RUN: FileCheck %s --check-prefix=ENDED --input-file=%t.log --implicit-check-not=error: --implicit-check-not=warning: --implicit-check-not=recording-
// ENDED: exit 143
// ENDED: exit 134
//
// RUN: llvm-mneme-record --device=host --max-recordings=0 -o %t.rec -- %t
// RUN: llvm-mneme-record check %t.rec | FileCheck %s --check-prefix=WHOLE
// WHOLE: 1 kernel, 6 instances, 0 problems

#include "Inputs/check.h"
#include <chrono>
#include <csignal>
#include <cuda_runtime.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void increment(unsigned *P, size_t N) {
  size_t Step = size_t(gridDim.x) * blockDim.x;
  for (size_t I = blockIdx.x * size_t(blockDim.x) + threadIdx.x; I < N; I += Step)
    ++P[I];
}

int main(int Argc, char **Argv) {
  const size_t N = 1 << 20;
  std::vector<unsigned> H(N);
  for (size_t I = 0; I < N; ++I)
    H[I] = I * 2654435761u;
  unsigned *P;
  OK(cudaMalloc(&P, 4 * N));
  OK(cudaMemcpy(P, H.data(), 4 * N, cudaMemcpyHostToDevice));
  // Compiled before the clock starts.
  cudaFuncAttributes Attributes;
  OK(cudaFuncGetAttributes(&Attributes, increment));
  if (Argc > 1)
    std::thread([=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(atoi(Argv[1])));
      int Signal = Argc > 2 ? atoi(Argv[2]) : SIGKILL;
      kill(Signal == SIGTERM ? getppid() : getpid(), Signal);
    }).detach();
  for (int Blocks = 1; Blocks <= 4; ++Blocks)
    increment<<<Blocks, 64>>>(P, N);
  for (int Blocks = 1; Blocks <= 2; ++Blocks)
    increment<<<Blocks, 32>>>(P, N);
  OK(cudaDeviceSynchronize());
  if (Argc > 1)
    pause();
}
