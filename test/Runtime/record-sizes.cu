// Buffers of every order of magnitude, with contents that do not compress: what a
// snapshot file stores in one piece goes through its writer's buffer or around it,
// and must come out in order.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec && llvm-mneme-record --device=host --max-recordings=0 -o %t.rec -- %t 2>&1 | FileCheck %s
// RUN: llvm-mneme-record check %t.rec
// RUN: for R in $(ls %t.rec | sed -n 's/.*prologue.*\.\([0-9a-f]*\)\.mneme/\1/p'); do \
// RUN:   llvm-mneme-replay %t.rec --record-id=$R --iterations=1 --format=text || exit 1; \
// RUN: done | FileCheck --check-prefix=REPLAY %s
// REPLAY-COUNT-13: verdict {{ *}}Match

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <vector>

__global__ void invert(unsigned *P, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    P[I] = ~P[I];
}

int main() {
  unsigned State = 1;
  for (int KiB : {1, 4, 100, 500, 513, 520, 700, 900, 1020, 1023, 1024, 1025,
                  1600}) {
    int N = KiB * 256;
    std::vector<unsigned> H(N), Back(N);
    for (unsigned &V : H)
      V = State = State * 1664525u + 1013904223u;
    unsigned *D;
    OK(cudaMalloc(&D, N * 4));
    OK(cudaMemcpy(D, H.data(), N * 4, cudaMemcpyHostToDevice));
    invert<<<KiB, 256>>>(D, N);
    OK(cudaMemcpy(Back.data(), D, N * 4, cudaMemcpyDeviceToHost));
    for (int I = 0; I < N; ++I)
      CHECK(Back[I] == ~H[I]);
    OK(cudaFree(D));
  }
  // CHECK: mneme: 13 launches seen, 13 recorded, 0 skipped
  return 0;
}
