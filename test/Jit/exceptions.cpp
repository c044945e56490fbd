// Exceptions leave code that is compiled at run time, are caught in it, and pass through it.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O2 %s -o %t/app && %t/app > %t/expected
// RUN: FileCheck %s < %t/expected
// RUN: %jit_run MNEME_JIT_REPORT=%t/report %t/app | diff - %t/expected
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=ALL
// ALL: served=5 fell_back=0

#include <cstdio>
#include <mneme/jit.h>
#include <stdexcept>
#include <string>

struct Guard {
  const char *Name;
  ~Guard() { printf("left %s\n", Name); }
};

__attribute__((annotate("jit", 1))) void thrower(int N) {
  Guard G = {"thrower"};
  try {
    if (N == 2)
      throw 42;
  } catch (int I) {
    printf("caught %d inside\n", I);
  }
  if (N > 2)
    throw std::runtime_error("N is " + std::to_string(N));
}

__attribute__((annotate("jit"))) void passed() {
  Guard G = {"passed"};
  thrower(3);
}

int main() {
  // CHECK: left thrower
  // CHECK-NEXT: caught 42 inside
  // CHECK-NEXT: left thrower
  // CHECK-NEXT: left thrower
  // CHECK-NEXT: caught N is 3
  for (int N : {1, 2, 3})
    try {
      thrower(N);
    } catch (const std::exception &E) {
      printf("caught %s\n", E.what());
    }
  // CHECK-NEXT: left thrower
  // CHECK-NEXT: left passed
  // CHECK-NEXT: caught N is 3
  try {
    passed();
  } catch (const std::exception &E) {
    printf("caught %s\n", E.what());
  }
}
