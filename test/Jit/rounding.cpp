// Products are rounded before a sum exactly where those of the program are, also if both factors are constants of the JIT.
//
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{options} =
// DEFINE: %{check} = %jit_cxx %{options} %s -o %t/app && %t/app > %t/expected && \
// DEFINE:   %jit_run MNEME_JIT_REPORT=%t/report %t/app | diff - %t/expected && %jit_report %t/report | FileCheck %s
// CHECK: served=4 fell_back=0 compiled=4
// RUN: %{check}
// RUN: FileCheck %s --check-prefix=ROUNDED < %t/expected
// ROUNDED: 0 0
// REDEFINE: %{options} = -O2 -mfma -DUSES_FMA
// RUN: %{check}
// REDEFINE: %{options} = -O2 -mfma -DUSES_FMA -ffp-contract=off
// RUN: %{check}
// RUN: FileCheck %s --check-prefix=ROUNDED < %t/expected

#include <cstdio>
#include <mneme/jit.h>

template <typename T>
__attribute__((annotate("jit", 1, 2), noinline)) T fused(T A, T B, T C) {
  return A * B + C;
}

template <typename T>
__attribute__((annotate("jit", 1, 2), noinline)) T difference(T A, T B, T C) {
  return C - A * B;
}

int main() {
#ifdef USES_FMA
  if (!__builtin_cpu_supports("fma")) {
    // The functions are called, but with nothing to round.
    printf("0 0\n");
    return fused(0.0, 0.0, 0.0) + fused(0.f, 0.f, 0.f) +
           difference(0.0, 0.0, 0.0) + difference(0.f, 0.f, 0.f);
  }
#endif
  volatile double A = 0.1, B = 0.3, C = A * B;
  volatile float X = 0.1f, Y = 0.3f, Z = X * Y;
  printf("%g %g\n", fused<double>(A, B, -C), double(fused<float>(X, Y, -Z)));
  printf("%g %g\n", difference<double>(A, B, C),
         double(difference<float>(X, Y, Z)));
}
