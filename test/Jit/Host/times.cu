// Every second launch of a variant runs as compiled, and the report compares the times of both. A variant that was launched once
// has nothing to compare.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{run} = llvm-mneme-record --no-record --device=host -- %t/app
// RUN: env MNEME_JIT_TIMES=1 MNEME_JIT_REPORT=- %{run} 2>&1 | FileCheck %s
// CHECK: 8 launches and calls served, 7 ran as compiled
// CHECK: host kernel 'add(int*, int)': 8 served
// CHECK-NEXT: 7 ran as compiled: to compare times
// CHECK-NEXT: arg 2 = 1: 7 served
// CHECK-NEXT: speed-up {{[0-9.]+}} ({{[0-9.]+}} to {{[0-9.]+}}): {{[0-9.]+}} us, as compiled {{[0-9.]+}} us, 7 pairs of launches
// CHECK-NEXT: arg 2 = 0: 1 served
// CHECK-NOT: speed-up
// CHECK: sum 14
//
// RUN: env MNEME_JIT_TIMES=1 MNEME_JIT_REPORT=%t/report %{run}
// RUN: %python %mneme_src/utils/schemas.py check jit-report %t/report
//
// RUN: env MNEME_JIT_TIMES=0 MNEME_JIT_REPORT=- %{run} 2>&1 | FileCheck %s --check-prefix=OFF
// OFF: 15 launches and calls served, 0 ran as compiled
// OFF-NOT: speed-up

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 2))) __global__ void add(int *P, int N) { *P += N; }

int main() {
  int *P, Sum = 0;
  OK(cudaMalloc(&P, sizeof(Sum)));
  OK(cudaMemcpy(P, &Sum, sizeof(Sum), cudaMemcpyHostToDevice));
  for (int I = 0; I != 14; ++I)
    add<<<1, 1>>>(P, 1);
  add<<<1, 1>>>(P, 0);
  OK(cudaMemcpy(&Sum, P, sizeof(Sum), cudaMemcpyDeviceToHost));
  printf("sum %d\n", Sum);
}
