// In mode async, calls run as compiled until the code is ready.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O2 %s -o %t/app -ldl
// RUN: %jit_run MNEME_JIT_MODE=async MNEME_JIT_REPORT=%t/report timeout 100 %t/app | FileCheck %s
// CHECK: as compiled first: 1
// CHECK-NEXT: then by the JIT: 1
// RUN: %jit_report %t/report where | FileCheck %s --check-prefix=WHERE
// WHERE: {{[1-9][0-9]*}} ran as compiled: being compiled
// WHERE: arg 1 = 1: 1 served

#include <cstdio>
#include <dlfcn.h>
#include <mneme/jit.h>
#include <unistd.h>

/// Whether the caller's code is in no loaded object.
__attribute__((noinline)) static bool isCallerNew() {
  Dl_info Info;
  return !dladdr(__builtin_return_address(0), &Info);
}

__attribute__((noinline, annotate("jit", 1))) bool where(int N) {
  bool IsNew = isCallerNew();
  asm volatile(""); // No tail call.
  return IsNew && N;
}

int main() {
  printf("as compiled first: %d\n", !where(1));
  bool IsNew = false;
  while (!(IsNew = where(1)))
    usleep(1000);
  printf("then by the JIT: %d\n", IsNew);
}
