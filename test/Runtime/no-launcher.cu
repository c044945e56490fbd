// Without the launcher, or without instrumentation, kernels fail with one clear
// error, and the process lives.
//
// REQUIRES: cuda-toolkit
// RUN: %cuda_cc %s -o %t
// RUN: env LD_PRELOAD=%mneme_rt %t 2>&1 | FileCheck %s --check-prefixes=CHECK,UNSET
// UNSET: mneme: error: cannot load device code of 'no-launcher.cu': MNEME_SOCKET is not set: run the program under llvm-mneme-record
// RUN: env LD_PRELOAD=%mneme_rt MNEME_SOCKET=%t.nowhere %t 2>&1 | FileCheck %s --check-prefixes=CHECK,NOWHERE
// NOWHERE: mneme: error: cannot load device code of 'no-launcher.cu': cannot connect to the launcher at '{{.*}}.nowhere': No such file or directory
// RUN: %cuda_cc_plain %s -o %t.plain -lcudart
// RUN: env LD_PRELOAD=%mneme_rt %t.plain 2>&1 | FileCheck %s --check-prefixes=CHECK,PLAIN
// PLAIN: mneme: error: kernel '_Z6kernelv': its source was not compiled with MnemePass, or its device code is damaged, so there is nothing to run on the host device

#include "Inputs/check.h"
#include <cuda_runtime.h>

__global__ void kernel() {}

int main() {
  setvbuf(stdout, nullptr, _IONBF, 0);
  kernel<<<1, 1>>>();
  // CHECK: launch cudaErrorInvalidDeviceFunction
  printf("launch %s\n", cudaGetErrorName(cudaGetLastError()));
  // Not said again.
  // CHECK-NOT: mneme: error
  kernel<<<1, 1>>>();
  // CHECK: launch cudaErrorInvalidDeviceFunction
  printf("launch %s\n", cudaGetErrorName(cudaGetLastError()));
  int *P;
  OK(cudaMalloc(&P, 4)); // Not sticky.
}
