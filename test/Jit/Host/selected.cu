// A program without annotations: kernels are selected by their names. Names match with or without demangling.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{run} = env MNEME_JIT_REPORT=%t/report llvm-mneme-record --no-record --device=host -- %t/app
// RUN: %{run} | FileCheck %s
// RUN: not test -e %t/report
// RUN: env MNEME_JIT_KERNELS='^second' %{run} | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=ONE
// RUN: %jit_report %t/report second | FileCheck %s --check-prefix=SECOND
// RUN: env MNEME_JIT_KERNELS='.*' %{run} | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=BOTH
// CHECK: 32 3
// ONE: served=1 fell_back=0
// SECOND: host kernel second(int*, int)
// SECOND-NEXT: arg 2 = 1, block.x = 32: 1 served
// BOTH: served=2 fell_back=0

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

__global__ void first(int *P, int N) { P[1] = N; }
__global__ void second(int *P, int N) { P[0] = blockDim.x * N; }

int main() {
  int *P, Values[2];
  OK(cudaMalloc(&P, sizeof(Values)));
  first<<<1, 1>>>(P, 3);
  second<<<1, 32>>>(P, 1);
  OK(cudaMemcpy(Values, P, sizeof(Values), cudaMemcpyDeviceToHost));
  printf("%d %d\n", Values[0], Values[1]);
}
