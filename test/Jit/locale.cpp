// The locale of a program changes neither how its settings are read, nor the numbers in its report.
//
// REQUIRES: localedef
// RUN: rm -rf %t && mkdir -p %t/locales && rm -rf %servers/locale && mkdir %servers/locale && cd %t
// RUN: localedef --no-archive -i de_DE -f UTF-8 %t/locales/de_DE.UTF-8
// RUN: %jit_cxx -O2 %s -o app
// RUN: env LOCPATH=%t/locales LC_ALL=de_DE.UTF-8 XDG_RUNTIME_DIR=%servers/locale %jit_run MNEME_JIT_IDLE=0.25 MNEME_JIT_REPORT=report \
// RUN:   ./app > out 2>&1
// RUN: FileCheck %s --match-full-lines < out
// CHECK-NOT: mneme
// CHECK:     1,5 4
// RUN: %python %mneme_src/utils/schemas.py check jit-report report
// RUN: %jit_report report twice | FileCheck %s --check-prefix=REPORT
// REPORT: 1 served
#include <clocale>
#include <cstdio>
#include <mneme/jit.h>

__attribute__((noinline, annotate("jit", 1))) int twice(int N) { return 2 * N; }

int main(int Argc, char **) {
  std::setlocale(LC_ALL, "");
  std::printf("%.1f ", 1.5);
  std::printf("%d\n", twice(1 + Argc));
}
