// Memory that does not compress, over several chunks, with an odd end; and a kernel
// that changes bytes at the borders of chunks and pages.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec && llvm-mneme-record --device=host -o %t.rec -- %t | FileCheck %s
// RUN: llvm-mneme-record check %t.rec
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// SHOW: buffer 0: {{.*}} 6 bytes changed
// RUN: ls %t.rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O1>' | FileCheck %s --check-prefix=REPLAY
// REPLAY: "verified": true

// Half a MiB of changes is not much of 6 MiB.
// RUN: find %t.rec -name 'Pages.*' -size +5900k -size -6300k | count 1
// RUN: find %t.rec -name 'DeviceState.*' -size -2k | count 2

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <vector>

__global__ void borders(unsigned char *P, size_t N) {
  const size_t MiB = 1 << 20;
  const size_t At[] = {0, MiB - 1, MiB, 2 * MiB + 4095, 2 * MiB + 4096, N - 1};
  P[At[threadIdx.x]] ^= 0xff;
}

int main() {
  const size_t N = 6 * (1 << 20) + 123;
  std::vector<unsigned char> H(N);
  unsigned Random = 1;
  for (unsigned char &V : H)
    V = (Random = Random * 1664525 + 1013904223) >> 24;
  unsigned char *D;
  OK(cudaMalloc(&D, N));
  OK(cudaMemcpy(D, H.data(), N, cudaMemcpyHostToDevice));
  borders<<<1, 6>>>(D, N);
  std::vector<unsigned char> Back(N);
  OK(cudaMemcpy(Back.data(), D, N, cudaMemcpyDeviceToHost));
  int Changed = 0;
  for (size_t I = 0; I < N; ++I)
    Changed += Back[I] != H[I];
  // CHECK: 6 bytes changed
  printf("%d bytes changed\n", Changed);
}
