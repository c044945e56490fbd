// An image is loaded for each device that needs it, and again after a reset.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.co
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cuda_cc -O2 --offload-arch=gfx942 %s -o %t/both
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4fillPi variant=%t/tuned.co entry=tuned
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=- MNEME_EMULATED_DEVICES=2
// RUN: %{run} %t/app > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=ALL,SAME
// ALL: 0: tuned
// SAME-NEXT: 1: tuned
// OTHER-NEXT: 1: plain
// ALL-NEXT: 0 again: tuned
// ALL-NEXT: after a reset: tuned
// SAME: 4 served by tuned kernels, 1 fell back
// SAME: 1 fell back: the stream belongs to another context
//
// RUN: %{run} MNEME_EMULATED_ARCH=gfx90a:xnack-,gfx942:xnack- %t/both > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=ALL,OTHER
// OTHER: 3 served by tuned kernels, 0 fell back, 0 too early, 2 of kernels without a tuned one

#ifdef TUNED
extern "C" __global__ void tuned(int *P) { *P = 1; }
#else
#include "../../Runtime/Inputs/check.h"

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
  OK(cudaStreamCreate(&S));
  launch("0");
  OK(cudaSetDevice(1));
  launch("1");
  // HIP refuses that.
  int *D;
  OK(cudaMalloc(&D, 4));
  fill<<<1, 1, 0, S>>>(D);
  cudaGetLastError();
  OK(cudaSetDevice(0));
  launch("0 again");
  OK(cudaDeviceReset());
  launch("after a reset");
}
#endif
