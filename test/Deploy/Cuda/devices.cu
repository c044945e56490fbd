// Several devices, also of different architectures, and one that is reset: the
// variant of the launch's device is used, and attributes are set on each.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4fillPi variant=%t/tuned.cubin entry=tuned
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=- \
// DEFINE:   MNEME_EMULATED_DEVICES=2 MNEME_EMULATED_LOG=%t/log
// RUN: %{run} %t/app 2>&1 | FileCheck %s --check-prefixes=ALL,SAME
// ALL: 0: tuned
// SAME-NEXT: 1: tuned
// OTHER-NEXT: 1: plain
// ALL-NEXT: after a reset: tuned
// SAME: 3 served by tuned kernels, 1 fell back
// SAME: 1 fell back: the stream belongs to another context
// RUN: FileCheck %s --check-prefix=LOG < %t/log
// LOG: library
// LOG-NEXT: attribute 9: 50
// LOG-NEXT: attribute 9: 25
// LOG-NOT: {{.}}
//
// RUN: %{run} MNEME_EMULATED_ARCH=sm_90,sm_80 %t/app 2>&1 | FileCheck %s --check-prefixes=ALL,OTHER
// OTHER: 2 served by tuned kernels, 2 fell back
// OTHER: 1 fell back: for another architecture

#ifdef TUNED
extern "C" __global__ void tuned(int *P) { *P = 1; }
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

__global__ void fill(int *P) { *P = 2; }

static void launch(const char *What) {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  fill<<<1, 1>>>(D);
  OK(cudaGetLastError());
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%s: %s\n", What, H == 1 ? "tuned" : "plain");
}

int main() {
  cudaStream_t S;
  setvbuf(stdout, nullptr, _IONBF, 0);
  OK(cudaStreamCreate(&S));
  OK(cudaFuncSetAttribute(
      fill, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  launch("0");
  OK(cudaSetDevice(1));
  OK(cudaFuncSetAttribute(
      fill, cudaFuncAttributePreferredSharedMemoryCarveout, 25));
  launch("1");
  // A runtime refuses that.
  int *D;
  OK(cudaMalloc(&D, 4));
  fill<<<1, 1, 0, S>>>(D);
  OK(cudaSetDevice(0));
  OK(cudaDeviceReset());
  launch("after a reset");
}
#endif
