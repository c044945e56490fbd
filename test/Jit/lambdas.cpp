// Captures of lambdas: values come from the closure at each call, so that one lambda can have several. register_lambda() is
// enough, and captures may be closures.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O2 %s -o %t/app && %t/app > %t/expected && FileCheck %s < %t/expected
// RUN: %jit_cxx -O0 %s -o %t/O0
// RUN: %jit_run MNEME_JIT_REPORT=%t/report %t/app | diff - %t/expected
// RUN: %jit_run MNEME_JIT_REPORT=%t/O0.report %t/O0 | diff - %t/expected
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=ALL
// RUN: %jit_report %t/O0.report | FileCheck %s --check-prefix=ALL
// ALL: served=8 fell_back=0
// RUN: %jit_report %t/report main | FileCheck %s --check-prefix=MAIN
// Without jit_variable, all numbers become constants.
// MAIN:      {{^  }}arg 1 = 7, arg 1 + 4 = 8: 1 served
// A mutable lambda changes its captures.
// MAIN:      argument 1 is not a constant: the code may write to it
// MAIN-NEXT: : 2 served
// Captured closures.
// MAIN:      arg 1 = 8: 1 served
// RUN: %python %mneme_src/utils/schemas.py check jit-report %t/report

#include <cstdio>
#include <mneme/jit.h>

template <typename F> void run(F &&Body) {
  mneme::register_lambda(Body);
  Body();
}

static void caller(int V, int W) {
  run([=, V = mneme::jit_variable(V)] { printf("V %d %d\n", V, W); });
}

int main() {
  // CHECK: V 1 10
  // CHECK-NEXT: V 2 10
  // CHECK-NEXT: V 1 20
  caller(1, 10);
  caller(2, 10);
  caller(1, 20);
  // CHECK-NEXT: 7 8
  int A = 7, B = 8;
  run([A, B] { printf("%d %d\n", A, B); });
  // CHECK-NEXT: 1
  // CHECK-NEXT: 2
  int C = 0;
  auto Counter = [C]() mutable { printf("%d\n", ++C); };
  run(Counter);
  run(Counter);
  // CHECK-NEXT: 8
  double D = 8;
  auto Inner = [D = mneme::jit_variable(D)] { return D; };
  run([Inner] { printf("%g\n", Inner()); });
  // CHECK-NEXT: annotated 3
  [](int N)
      __attribute__((annotate("jit", 2))) { printf("annotated %d\n", N); }(3);
}
