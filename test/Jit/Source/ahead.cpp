// The text that instances have in common is compiled with the first, and not again. A change of what it includes counts for the next.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %source_cxx %s -o app
// RUN: env MNEME_JIT_CACHE=none ./app | FileCheck %s
// CHECK: 10 20 30 40 500 600 : 2 warnings, once

#include <cstdio>
#include <fstream>
#include <mneme/jit_module.h>
#include <string>

static void change(const char *Scale) { std::ofstream("scale.h") << "#define SCALE " << Scale << "\n"; }

int main() {
  mneme::jit_module M(mneme::jit_target::host, R"(
    #include "scale.h"
    #warning once
    template <int N> int scaled() { return SCALE * N; })");
  change("10");
  for (const char *N : {"1", "2", "3", "4"})
    std::printf("%d ", M.instantiate("scaled", N).call<int>());
  change("100");
  for (const char *N : {"5", "6"})
    std::printf("%d ", M.instantiate("scaled", N).call<int>());
  std::printf(": %zu warnings, %s", M.messages().size(), M.messages().front().text.c_str());
}
