// GDB shows functions that are compiled at run time by name, and unwinds them.
//
// REQUIRES: gdb
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O2 %s -o %t/app
// RUN: gdb -batch -nx -ex "set environment LD_PRELOAD %jit_lib" \
// RUN:   -ex "break called" -ex run -ex backtrace %t/app 2>&1 | FileCheck %s
// CHECK: #0 {{.*}}called
// CHECK-NEXT: #1 {{.*}} in caller(int)
// CHECK-NEXT: #2 {{.*}} in main

#include <cstdio>
#include <mneme/jit.h>

extern "C" __attribute__((noinline)) void called(int N) { printf("%d\n", N); }

__attribute__((noinline, annotate("jit", 1))) int caller(int N) {
  called(N);
  return N + 1;
}

int main() { return caller(1) != 2; }
