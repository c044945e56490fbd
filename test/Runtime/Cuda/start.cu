// With --device=cuda the application starts while the driver still tells which
// GPUs there are, where there is one by all appearances. Nothing is recorded
// before it has.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// DEFINE: %{how} =
// DEFINE: %{record} = llvm-mneme-record --device=cuda --cuda-node=%s -o %t.%{how}.rec -- %t %{how} 2>&1
// DEFINE: %{slow} = %emulated_gpu MNEME_EMULATED_INIT_MS=500 MNEME_EMULATED_KERNELS=%t.bc

// In the launcher the driver does not start before it does in the application.
// REDEFINE: %{how} = meet
// RUN: rm -f %t.meeting
// RUN: %{slow} MNEME_EMULATED_INIT_MEET=%t.meeting %{record} | FileCheck %s --check-prefixes=CHECK,RECORDED
// REDEFINE: %{how} = record
// RUN: %{slow} %{record} | FileCheck %s --check-prefixes=CHECK,RECORDED
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.record.rec | FileCheck %s --check-prefix=REPLAY
// CHECK: sum 3
// RECORDED: 1 launch seen, 1 recorded
// REPLAY: add grid 1: Match

// Without an answer the application is not started.
// REDEFINE: %{how} = wait
// RUN: %{slow} MNEME_EMULATED_INIT=998 not llvm-mneme-record --device=cuda --cuda-node=%t.missing -o %t.wait.rec -- %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FAILS --implicit-check-not=sum
// FAILS: error: the CUDA driver cannot be initialized: CUDA error 998 (--device=host needs none)

// A bad one ends nothing, but the exit code tells, and nothing is recorded.
// REDEFINE: %{how} = bad
// RUN: %{slow} MNEME_EMULATED_ARCH=sm_80 not %{record} | FileCheck %s --check-prefix=BAD --implicit-check-not=recorded
// BAD: error: '{{.*}}': its kernels are for sm_90, the device is an sm_80 (Emulated GPU): none of them runs there
// RUN: not ls %t.bad.rec/*.json

// An application that ends sooner than the driver has answered.
// REDEFINE: %{how} = none
// RUN: %{slow} MNEME_EMULATED_DEVICES=0 not %{record} | FileCheck %s --check-prefix=NONE --implicit-check-not=sum
// NONE: error: the CUDA driver finds no device (--device=host needs none)
// REDEFINE: %{how} = idle
// RUN: %{slow} %{record} | FileCheck %s --check-prefix=IDLE
// IDLE: idle

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void add(int *P) { P[2] = P[0] + P[1]; }

int main(int, char **Argv) {
  if (!strcmp(Argv[1], "idle")) {
    puts("idle");
    return 0;
  }
  int *D, H[3] = {1, 2, 0};
  if (cudaMalloc(&D, sizeof(H)) != cudaSuccess)
    return 2;
  OK(cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice));
  add<<<1, 1>>>(D);
  if (cudaGetLastError() != cudaSuccess)
    return 3;
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("sum %d\n", H[2]);
}
