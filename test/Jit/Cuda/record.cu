// A recorder takes precedence over the JIT, also in a program that is linked with it. Recordings of annotated kernels replay with and
// without the constants that the JIT would use, are tuned and bisected like others.
//
// REQUIRES: device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc -O2 %s -o %t/app -Wl,--no-as-needed %jit_lib -Wl,-rpath,%mneme_build/lib
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc MNEME_JIT_REPORT=%t/report
// RUN: %{gpu} %t/app | FileCheck %s
// CHECK: 12
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=JIT
// JIT: served=2 fell_back=0
// RUN: rm %t/report
// RUN: %{gpu} llvm-mneme-record --device=cuda -o %t/rec -- %t/app 2>&1 | FileCheck %s --check-prefix=RECORD
// RECORD: 12
// RECORD: 2 launches seen, 2 recorded
// RUN: not test -e %t/report
// RUN: llvm-mneme-replay %t/rec --device=host --all | FileCheck %s --check-prefix=REPLAY
// RUN: llvm-mneme-replay %t/rec --device=host --all --specialize --specialize-dims | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-2: "verdict": "Match"
// RUN: %{gpu} llvm-mneme-record --device=cuda --kernel=add --quiet -o %t/one -- %t/app
// RUN: %{gpu} llvm-mneme-replay %t/one --device=cuda:0 --specialize --set-launch-bounds | FileCheck %s --check-prefix=GPU
// GPU: "verdict": "Match"
// RUN: llvm-mneme-tune %t/one --device=host --trials=2 --quiet --explain=off --results-dir=%t/study
// RUN: llvm-mneme-replay bisect %t/one --device=host --load-pass-plugin=%fault_passes \
// RUN:   '--passes=function(fault-wrong<_Z3addiPi>)' | FileCheck %s --check-prefix=BISECT
// BISECT: fault-wrong

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 1))) __global__ void fill(int N, int *P) {
  P[threadIdx.x] = N;
}
__global__ void add(int N, int *P) {
  mneme::jit_arg(N);
  P[threadIdx.x] += N;
}

int main() {
  int *P, H;
  OK(cudaMalloc(&P, 32 * sizeof(H)));
  fill<<<1, 32>>>(5, P);
  add<<<1, 32>>>(7, P);
  OK(cudaMemcpy(&H, P, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%d\n", H);
}
