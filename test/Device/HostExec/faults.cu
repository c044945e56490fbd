// REQUIRES: cuda-toolkit, device-host
//
// Kernels that end badly: the program goes on and learns why.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O1 %s -o %t
// RUN: for S in auto fiber; do for K in assert trap unsupported address; do \
// RUN:   env MNEME_HOST_STRATEGY=$S llvm-mneme-record --device=host -o %t.$S.$K -- %t $K 2>&1; \
// RUN: done; done | FileCheck %s
//
// CHECK: Assertion `N != 3` failed
// CHECK: assert: error 710
// CHECK: trap: error 719
// CHECK: executed 'mov.u64 $0, %current_graph_exec
// CHECK: unsupported: error {{[0-9]+}}
// CHECK: address: error 700
// CHECK: Assertion `N != 3` failed
// CHECK: assert: error 710
// CHECK: trap: error 719
// CHECK: executed 'mov.u64 $0, %current_graph_exec
// CHECK: unsupported: error {{[0-9]+}}
// CHECK: address: error 700

#include <cassert>
#include <cstdio>
#include <cstring>

__global__ void failAssert(int N) { assert(N != 3); }
__global__ void failTrap(int N) {
  if (N == 3)
    __trap();
}
// An instruction without a meaning is no error until it is executed.
__global__ void failUnsupported(int N) {
  unsigned long long Graph;
  if (N == 3)
    asm volatile("mov.u64 %0, %%current_graph_exec;" : "=l"(Graph));
}
__global__ void failAddress(int *P) { *P = 1; }

static int report(const char *Name) {
  int Error = cudaDeviceSynchronize();
  printf("%s: error %d\n", Name, Error);
  fflush(stdout);
  return Error == 0;
}

int main(int Argc, char **Argv) {
  const char *Kind = Argv[1];
  if (!strcmp(Kind, "assert")) {
    failAssert<<<1, 32>>>(2);
    if (cudaDeviceSynchronize())
      return 1;
    failAssert<<<1, 32>>>(3);
  } else if (!strcmp(Kind, "trap")) {
    failTrap<<<1, 32>>>(2);
    if (cudaDeviceSynchronize())
      return 1;
    failTrap<<<1, 32>>>(3);
  } else if (!strcmp(Kind, "unsupported")) {
    failUnsupported<<<1, 32>>>(2);
    if (cudaDeviceSynchronize())
      return 1;
    failUnsupported<<<1, 32>>>(3);
  } else {
    failAddress<<<1, 1>>>((int *)64);
  }
  return report(Kind);
}
