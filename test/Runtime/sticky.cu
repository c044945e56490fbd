// What a kernel does wrong ends its launch and stays: never the process.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t illegal 2>%t.err | FileCheck %s -DERROR=cudaErrorIllegalAddress
// RUN: FileCheck %s --check-prefix=ILLEGAL < %t.err
// ILLEGAL: mneme: error: kernel '_Z5wrongPii' <<<(1,1,1), (1,1,1)>>>: {{.*}}illegal
// RUN: llvm-mneme-record --device=host --no-record -- %t beyond | FileCheck %s -DERROR=cudaErrorIllegalAddress
// RUN: llvm-mneme-record --device=host --no-record -- %t freed | FileCheck %s -DERROR=cudaErrorIllegalAddress
// RUN: llvm-mneme-record --device=host --no-record -- %t assert | FileCheck %s -DERROR=cudaErrorAssert
// RUN: llvm-mneme-record --device=host --no-record -- %t trap | FileCheck %s -DERROR=cudaErrorLaunchFailure
// RUN: llvm-mneme-record --device=host --no-record --timeout=0.2 -- %t loop | FileCheck %s -DERROR=cudaErrorLaunchTimeout

#undef NDEBUG
#include "Inputs/check.h"
#include <cassert>
#include <cuda_runtime.h>

__global__ void wrong(int *P, int How) {
  switch (How) {
  case 0:
    *P = 1;
    break;
  case 1:
    assert(P == nullptr);
    break;
  case 2:
    __trap();
    break;
  case 3:
    while (*(volatile int *)P == 0)
      ;
  }
}
__global__ void right(int *P) { *P = 1; }

int main(int, char **Argv) {
  int *D, H = 5;
  OK(cudaMalloc(&D, 4096));
  const char *How = Argv[1];
  if (!strcmp(How, "illegal"))
    wrong<<<1, 1>>>((int *)16, 0);
  else if (!strcmp(How, "beyond"))
    wrong<<<1, 1>>>(D + 1024, 0);
  else if (!strcmp(How, "freed")) {
    int *Gone;
    OK(cudaMalloc(&Gone, 4096));
    OK(cudaFree(Gone));
    wrong<<<1, 1>>>(Gone, 0);
  } else if (!strcmp(How, "assert"))
    wrong<<<1, 1>>>(D, 1);
  else if (!strcmp(How, "trap"))
    wrong<<<1, 1>>>(D, 2);
  else
    wrong<<<1, 1>>>(D, 3);
  // CHECK: sync [[ERROR]]
  printf("sync %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  // Asking does not clear it, and nothing works any more.
  // CHECK-NEXT: last [[ERROR]]
  // CHECK-NEXT: last [[ERROR]]
  printf("last %s\n", cudaGetErrorName(cudaGetLastError()));
  printf("last %s\n", cudaGetErrorName(cudaGetLastError()));
  right<<<1, 1>>>(D);
  // CHECK-NEXT: launch [[ERROR]]
  printf("launch %s\n", cudaGetErrorName(cudaGetLastError()));
  // CHECK-NEXT: copy [[ERROR]] 5
  printf("copy %s", cudaGetErrorName(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost)));
  printf(" %d\n", H);
  // CHECK-NEXT: malloc [[ERROR]]
  printf("malloc %s\n", cudaGetErrorName(cudaMalloc(&D, 4)));
  // CHECK-NEXT: reset [[ERROR]]
  printf("reset %s\n", cudaGetErrorName(cudaDeviceReset()));
  // Questions about the device are still answered.
  int N;
  OK(cudaGetDeviceCount(&N));
  // CHECK-NEXT: the program goes on
  printf("the program goes on\n");
}
