// Lambdas that kernels take, directly or in structs: captures become constants of the kernel, for each value that a launch has.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: env MNEME_JIT_REPORT=%t/report llvm-mneme-record --no-record --device=host -- %t/app | FileCheck %s
// RUN: %jit_report %t/report 'void direct' | FileCheck %s --check-prefix=DIRECT
// DIRECT: host kernel void direct<
// DIRECT-NEXT: arg 1 = 2: 2 served
// DIRECT-NEXT: arg 1 = 3: 1 served
// RUN: %jit_report %t/report 'void wrapped' | FileCheck %s --check-prefix=WRAPPED
// WRAPPED: host kernel void wrapped<
// WRAPPED-NEXT: arg 1 + 8 = 2: 1 served
// RUN: %jit_report %t/report 'void pair' | FileCheck %s --check-prefix=PAIR
// PAIR: host kernel void pair<
// PAIR-NEXT: arg 1 = 5, arg 2 = 6: 1 served

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

template <typename T> struct Wrapper {
  double Other;
  T Body;
};
template <typename T> __global__ void direct(T Body) { Body(1); }
template <typename T> __global__ void wrapped(Wrapper<T> W) { W.Body(2); }
template <typename T, typename U> __global__ void pair(T A, U B) {
  A(3);
  B(4);
}

template <typename T> void launch(T &&Body) {
  mneme::register_lambda(Body);
  direct<<<1, 1>>>(Body);
}

int main() {
  int *P, Values[5];
  OK(cudaMalloc(&P, sizeof(Values)));
  auto Make = [](int *P, int N) {
    return [=, N = mneme::jit_variable(N)] __device__(int I) { P[I] = N * I; };
  };
  auto Show = [&](int At) {
    OK(cudaMemcpy(Values, P, sizeof(Values), cudaMemcpyDeviceToHost));
    printf("%d\n", Values[At]);
  };
  for (int N : {2, 3, 2}) {
    launch(Make(P, N));
    Show(1);
  }
  // CHECK: 2
  // CHECK-NEXT: 3
  // CHECK-NEXT: 2
  auto Body = Make(P, 2);
  wrapped<<<1, 1>>>(Wrapper<decltype(Body)>{0, Body});
  Show(2);
  // CHECK-NEXT: 4
  pair<<<1, 1>>>(Make(P, 5), Make(P, 6));
  Show(3);
  // CHECK-NEXT: 15
  Show(4);
  // CHECK-NEXT: 24
}
