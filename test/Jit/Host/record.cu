// Annotations do not change the code that is recorded, nor its hash; a recorder takes precedence. Recordings of annotated kernels
// replay, are tuned and bisected like others.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app -DMARK='mneme::jit_arg(N)' -DATTRIBUTE='annotate("jit", 1)'
// RUN: %cuda_cc -O2 %s -o %t/plain -DMARK= -DATTRIBUTE=
// RUN: llvm-mneme-record list-kernels --static-hash %t/app | grep -E "symbol:|static:" > %t/app.txt
// RUN: llvm-mneme-record list-kernels --static-hash %t/plain | grep -E "symbol:|static:" > %t/plain.txt
// RUN: diff %t/app.txt %t/plain.txt
// RUN: env MNEME_JIT_REPORT=%t/report llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: 3
// CHECK: 2 launches seen, 2 recorded
// RUN: not test -e %t/report
// RUN: llvm-mneme-replay %t/rec --device=host --all | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-2: "verdict": "Match"
// RUN: llvm-mneme-record --device=host --kernel=marked --quiet -o %t/one -- %t/app
// RUN: llvm-mneme-tune %t/one --device=host --trials=2 --quiet --explain=off --results-dir=%t/study
// RUN: llvm-mneme-replay bisect %t/one --device=host --load-pass-plugin=%fault_passes \
// RUN:   '--passes=function(fault-wrong<_Z6markediPi>)' | FileCheck %s --check-prefix=BISECT
// BISECT: fault-wrong

#include <cstdio>
#include <mneme/jit.h>

__global__ void marked(int N, int *P) {
  MARK;
  P[threadIdx.x] = N;
}
__attribute__((noinline)) __device__ int next(int N) { return N + 1; }
__attribute__((ATTRIBUTE)) __global__ void attribute(int N, int *P) {
  P[threadIdx.x] = next(P[threadIdx.x]) + N;
}

int main() {
  int *P, I = 0;
  cudaMalloc(&P, 32 * sizeof(I));
  marked<<<1, 32>>>(1, P);
  attribute<<<1, 32>>>(1, P);
  cudaMemcpy(&I, P, sizeof(I), cudaMemcpyDeviceToHost);
  printf("%d\n", I);
}
