// Functions that are annotated in the text of a source are compiled again for their calls, with the settings of the JIT.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %source_cxx %s -o app
// DEFINE: %{run} = env MNEME_JIT_REPORT=report ./app
// RUN: %{run} | FileCheck %s
// CHECK: power 32 27
// CHECK-NEXT: scale 6
// CHECK-NOT: {{.}}
// RUN: %jit_report report power | FileCheck %s --check-prefix=POWER
// POWER: function power
// POWER-NEXT: arg 2 = 5: 1 served
// POWER-NEXT: arg 2 = 3: 1 served
// RUN: %jit_report report scale | FileCheck %s --check-prefix=SCALE
// SCALE: arg 2 = 3: 1 served
// RUN: env MNEME_JIT_PASSES=no-such-pass MNEME_JIT_REPORT=report ./app 2> err | FileCheck %s
// RUN: FileCheck %s --check-prefix=PASSES < err
// PASSES: mneme: warning: 'power': does not compile: {{.*}}'no-such-pass'
// RUN: env MNEME_JIT=0 MNEME_JIT_REPORT=none ./app | FileCheck %s

#include <cstdio>
#include <mneme/jit_module.h>

int main() {
  mneme::jit_module M(mneme::jit_target::host, R"(
    #include <mneme/jit.h>
    extern "C" __attribute__((annotate("jit", 2), noinline)) int power(int X, int N) {
      int R = 1;
      for (int I = 0; I < N; ++I)
        R *= X;
      return R;
    }
    extern "C" __attribute__((noinline)) int scale(int X, int N) {
      mneme::jit_arg(N);
      return X * N;
    })");
  auto Power = M.function<int(int, int)>("power");
  if (!Power)
    return std::printf("%s", M.error().c_str());
  std::printf("power %d", Power(2, 5));
  std::printf(" %d\n", Power(3, 3));
  std::printf("scale %d\n", M.function<int(int, int)>("scale")(2, 3));
}
