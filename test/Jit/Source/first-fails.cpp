// An instance that does not compile leaves the module as it was, also if it is the first one.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %source_cxx %s -o app
// RUN: env MNEME_JIT_CACHE=none ./app | FileCheck %s
// CHECK:      instance.cpp:1:{{.*}}error: no matching function for call to 'twice'
// CHECK:      module.cpp:1:{{.*}}note: candidate template ignored
// CHECK-NEXT: 6
// CHECK:      instance.cpp:1:{{.*}}error: no matching function for call to 'twice'
// CHECK:      8

#include <cstdio>
#include <mneme/jit_module.h>

int main() {
  mneme::jit_module M(mneme::jit_target::host, "template <int N> int twice() { return 2 * N; }");
  size_t Shown = 0;
  for (const char *N : {"void", "3", "void *", "4"}) {
    int Result = M.instantiate("twice", N).call<int>();
    if (M.error().size() == Shown)
      std::printf("%d\n", Result);
    else
      std::printf("%s", M.error().c_str() + Shown);
    Shown = M.error().size();
  }
}
