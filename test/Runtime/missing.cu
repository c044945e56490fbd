// REQUIRES: cuda-toolkit
// RUN: %cuda_cc %s -o %t
// RUN: env LD_PRELOAD=%mneme_rt %t 2>&1 | FileCheck %s
// RUN: %cuda_cc_static %s -o %t.static %cuda_static_libs
// RUN: env LD_PRELOAD=%mneme_rt %t.static 2>&1 | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>

int main() {
  setvbuf(stdout, nullptr, _IONBF, 0);
  cudaIpcMemHandle_t Handle;
  cudaUserObject_t Object;
  // CHECK: mneme: error: cudaIpcGetMemHandle is not available on the host device
  EXPECT(cudaErrorNotSupported, cudaIpcGetMemHandle(&Handle, &Handle));
  // Said once.
  // CHECK-NEXT: again
  printf("again\n");
  EXPECT(cudaErrorNotSupported, cudaIpcGetMemHandle(&Handle, &Handle));
  // CHECK-NEXT: mneme: error: cudaUserObjectCreate is not available on the host device
  EXPECT(cudaErrorNotSupported, cudaUserObjectCreate(&Object, &Object, nullptr, 1, 1));
  EXPECT(cudaErrorNotSupported, cudaGetLastError());
  OK(cudaGetLastError());
  // CHECK-NEXT: all as it should be
  printf("all as it should be\n");
}
