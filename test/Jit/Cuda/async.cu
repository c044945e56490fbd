// In mode async, launches run as compiled until their code is there. It is loaded by another thread.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %jit_gpu MNEME_EMULATED_KERNELS=%t/plain.bc MNEME_JIT_MODE=async MNEME_JIT_REPORT=%t/report %t/app | FileCheck %s
// CHECK: 1000 right
// RUN: %jit_report %t/report fill | FileCheck %s --check-prefix=REPORT
// REPORT: kernel fill(int, int*)
// REPORT-NEXT: {{[1-9][0-9]*}} ran as compiled: being compiled
// REPORT-NEXT: arg 1 = 5, threads <= 32: {{[1-9][0-9]*}} served

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>
#include <unistd.h>

__attribute__((annotate("jit", 1))) __global__ void fill(int N, int *P) {
  P[threadIdx.x] = N + threadIdx.x;
}

int main() {
  int *P, H[32], Right = 0;
  OK(cudaMalloc(&P, sizeof(H)));
  for (int I = 0; I != 1000; ++I) {
    OK(cudaMemset(P, 0, sizeof(H)));
    fill<<<1, 32>>>(5, P);
    OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
    Right += H[0] == 5 && H[31] == 36;
    usleep(5000);
  }
  printf("%d right\n", Right);
}
