// Of a kernel that is selected by name, as many arguments become constants as of one with an annotation. The others are passed.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: env MNEME_JIT_KERNELS=. MNEME_JIT_REPORT=- llvm-mneme-record --no-record --device=host -- %t/app 2>&1 | FileCheck %s
// CHECK: 1 launches and calls served, 0 ran as compiled
// CHECK: sum 65

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

#define TEN(X) X##0, X##1, X##2, X##3, X##4, X##5, X##6, X##7, X##8, X##9
#define MANY(X) TEN(X##0), TEN(X##1), TEN(X##2), TEN(X##3), TEN(X##4), TEN(X##5), X##60, X##61, X##62, X##63, X##64

__global__ void sum(int *P, MANY(int A)) {
  int Values[] = {MANY(A)};
  *P = 0;
  for (int V : Values)
    *P += V;
}

#define ONES 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
int main() {
  int *P, Sum;
  OK(cudaMalloc(&P, sizeof(Sum)));
  sum<<<1, 1>>>(P, ONES, ONES, ONES, ONES, ONES, ONES, 1, 1, 1, 1, 1);
  OK(cudaMemcpy(&Sum, P, sizeof(Sum), cudaMemcpyDeviceToHost));
  printf("sum %d\n", Sum);
}
