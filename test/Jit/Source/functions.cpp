// Functions of a source that is compiled at run time, and instances of templates by name. A second run compiles nothing. Options and
// inclusions count: what has changed is compiled again.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %source_cxx %s -o app
// RUN: echo '#define SCALE 10' > scale.h
// DEFINE: %{run} = env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report ./app
// DEFINE: %{show} = %python %S/Inputs/sources.py report | FileCheck %s --match-full-lines --check-prefix
// RUN: %{run} | FileCheck %s
// CHECK: scaled 30
// CHECK: twice 42
// CHECK: reference 8
// CHECK: text module
// CHECK: 2^3 8
// CHECK: 2^4 16
// CHECK: type double 2.5
// CHECK: type int 2
// CHECK: same instance 1, same code 1
// CHECK: own symbols 1 2
// CHECK: thrown 5
// RUN: %{show}=FIRST
// FIRST: library C++ compiled: 8
// RUN: %{run} | FileCheck %s
// RUN: %{show}=SECOND
// SECOND: library C++ cache: 8
//
// Neither is a server needed.
// RUN: env MNEME_JIT_MODE=cached MNEME_JIT_CACHE=%t/cache ./app | FileCheck %s
//
// The other sources do not include it.
// RUN: echo '#define SCALE 20' > scale.h && %{run} | FileCheck %s --check-prefix=CHANGED
// CHANGED: scaled 60
// RUN: %{show}=THIRD
// THIRD: library C++ cache: 7
// THIRD: library C++ compiled: 1
//
// Without the JIT, too: there is no other code.
// RUN: env MNEME_JIT=0 ./app | FileCheck %s --check-prefix=CHANGED

#include <cstdio>
#include <mneme/jit_module.h>
#include <string>

using mneme::jit_target;

int main() {
  mneme::jit_module M(jit_target::host, R"(
    #include "scale.h"
    #include <cstddef>
    extern "C" int scaled(int X) { return SCALE * X; }
    extern "C" int twice(int X) { return FACTOR * X; }
    extern "C" void increment(int &X) { ++X; }
    extern "C" const char *text() { return __FILE__; })",
                      {"-DFACTOR=2"});
  std::printf("scaled %d\n", M.function<int(int)>("scaled")(3));
  std::printf("twice %d\n", M.function<int(int)>("twice")(21));
  int X = 7;
  M.function<void(int &)>("increment")(X);
  std::printf("reference %d\n", X);
  std::string Text = M.function<const char *()>("text")();
  std::printf("text %s\n", Text.substr(0, Text.find('.')).c_str());

  mneme::jit_module T(jit_target::host, R"(
    template <int N> double power(double X) {
      double R = 1;
      for (int I = 0; I < N; ++I)
        R *= X;
      return R;
    }
    template <typename T> T same(T X) { return X; })");
  std::printf("2^3 %g\n", T.instantiate("power", "3").call<double>(2.0));
  // Arguments are converted to the types of the parameters.
  std::printf("2^4 %g\n", T.instance("power<4>").call<double>(2));
  std::printf("type double %g\n", T.instantiate("same", "double").call<double>(2.5));
  std::printf("type int %d\n", T.instantiate("same", "int").call<int>(2.5));
  auto &A = T.instantiate("power", "3"), &B = T.instance("power<3>");
  std::printf("same instance %d, same code %d\n", &A == &B,
              A.prepare_call<double, double>() == B.prepare_call<double, double>());

  // Modules do not see each other's symbols.
  const char *Codes[] = {"extern \"C\" int f() { return 1; }", "extern \"C\" int f() { return 2; }"};
  mneme::jit_module One(jit_target::host, Codes[0]), Two(jit_target::host, Codes[1]);
  std::printf("own symbols %d %d\n", One.function<int()>("f")(), Two.function<int()>("f")());

  mneme::jit_module E(jit_target::host, "extern \"C\" void fail(int X) { throw X; }");
  try {
    E.function<void(int)>("fail")(5);
  } catch (int Value) {
    std::printf("thrown %d\n", Value);
  }
}
