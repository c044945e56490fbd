// Shared arrays have the size that a launch asks for, and do not overlap.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: env MNEME_JIT_REPORT=%t/report llvm-mneme-record --no-record --device=host -- %t/app | FileCheck %s
// RUN: env MNEME_JIT=0 llvm-mneme-record --no-record --device=host -- %t/app | FileCheck %s
// RUN: %jit_report %t/report reverse | FileCheck %s --check-prefix=REPORT
// REPORT: host kernel reverse(int*, int)
// REPORT-NEXT: arg 2 = 4: 1 served
// REPORT-NEXT: arg 2 = 16: 1 served

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 2))) __global__ void reverse(int *P, int N) {
  int *A = mneme::shared_array<int, 16>(N);
  int *B = mneme::shared_array<int, 16, 1>(N);
  double *C = mneme::shared_array<double, 16>(N);
  int I = threadIdx.x;
  A[I] = I;
  B[I] = 100 * I;
  C[I] = 0.5;
  __syncthreads();
  P[I] = A[N - 1 - I] + B[I] + 2 * C[0];
}

int main() {
  int *P, Values[16];
  OK(cudaMalloc(&P, sizeof(Values)));
  for (int N : {4, 16}) {
    reverse<<<1, N>>>(P, N);
    OK(cudaMemcpy(Values, P, sizeof(Values), cudaMemcpyDeviceToHost));
    printf("%d %d\n", Values[0], Values[N - 1]);
  }
  // CHECK: 4 301
  // CHECK-NEXT: 16 1501
}
