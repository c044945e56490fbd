// Several devices of one architecture share their code; those of different architectures get code of their own. Attributes are set
// on each device, and set again after a reset.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{run} = %jit_gpu MNEME_EMULATED_KERNELS=%t/plain.bc MNEME_JIT_REPORT=%t/report MNEME_EMULATED_DEVICES=2 \
// DEFINE:   MNEME_EMULATED_LOG=%t/log %t/app
// RUN: %{run} | FileCheck %s
// CHECK: 0: 5
// CHECK-NEXT: 1: 5
// CHECK-NEXT: after a reset: 5
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=SAME
// SAME: served=3 fell_back=1
// RUN: %jit_report %t/report fill | FileCheck %s --check-prefix=FILL
// FILL: 1 ran as compiled: the launch is not for the current device and context
// RUN: FileCheck %s --check-prefix=LOG < %t/log
// LOG: library
// LOG-NEXT: attribute 9: 50
// LOG-NEXT: attribute 9: 25
// LOG-NOT: {{.}}
//
// RUN: rm %t/log
// RUN: env MNEME_EMULATED_ARCH=sm_90,sm_100 %{run} | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=OTHER
// OTHER: served=3 fell_back=1
// RUN: grep -c ^library %t/log | FileCheck %s --check-prefix=LIBRARIES
// LIBRARIES: {{^2$}}

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 1))) __global__ void fill(int N, int *P) {
  *P = N;
}

static void launch(const char *What) {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  fill<<<1, 1>>>(5, D);
  OK(cudaGetLastError());
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%s: %d\n", What, H);
}

int main() {
  int Devices = 0;
  OK(cudaGetDeviceCount(&Devices));
  // A machine with one GPU.
  int Last = Devices > 1;
  cudaStream_t S;
  setvbuf(stdout, nullptr, _IONBF, 0);
  OK(cudaStreamCreate(&S));
  OK(cudaFuncSetAttribute(
      fill, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  launch("0");
  OK(cudaSetDevice(Last));
  OK(cudaFuncSetAttribute(
      fill, cudaFuncAttributePreferredSharedMemoryCarveout, 25));
  launch("1");
  // A runtime refuses that.
  int *D;
  OK(cudaMalloc(&D, 4));
  fill<<<1, 1, 0, S>>>(6, D);
  cudaGetLastError();
  OK(cudaSetDevice(0));
  OK(cudaDeviceReset());
  launch("after a reset");
}
