// Options that ask for other files than the code, or hide it, apply to further instances, too. Those that ask for no code
// are an error.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %source_cxx %s -o app
// RUN: env MNEME_JIT_CACHE=none ./app -MD -- -MD -MF x.d -- -ftime-trace -- -g -gsplit-dwarf -- --coverage \
// RUN:   -- -save-temps -- -fvisibility=hidden -- -Xclang -o -Xclang other.o -- -fsyntax-only -- --version | FileCheck %s
// CHECK:      -MD: 1 2
// CHECK-NEXT: -MD -MF x.d: 1 2
// CHECK-NEXT: -ftime-trace: 1 2
// CHECK-NEXT: -g -gsplit-dwarf: 1 2
// CHECK-NEXT: --coverage: 1 2
// CHECK-NEXT: -save-temps: 1 2
// CHECK-NEXT: -fvisibility=hidden: 1 2
// CHECK-NEXT: -Xclang -o -Xclang other.o: 1 2
// CHECK-NEXT: -fsyntax-only: 0 0 error: the compiler made no library: remove options such as -fsyntax-only
// CHECK-NEXT: error: the compiler made no library: remove options such as -fsyntax-only
// CHECK-NEXT: --version: 0 0 error: the compiler made no library: remove options such as -fsyntax-only

#include <cstdio>
#include <mneme/jit_module.h>

int main(int argc, char **argv) {
  for (int I = 1; I < argc; ++I) {
    std::vector<std::string> Options;
    for (; I < argc && std::string(argv[I]) != "--"; ++I)
      Options.push_back(argv[I]);
    mneme::jit_module M(mneme::jit_target::host, "template <int N> int get() { return N; }", Options);
    for (const std::string &Option : Options)
      std::printf("%s%s", &Option == &Options[0] ? "" : " ", Option.c_str());
    std::printf(":");
    for (const char *N : {"1", "2"})
      std::printf(" %d", M.instantiate("get", N).call<int>());
    std::printf("%s%s", M.error().empty() ? "\n" : " ", M.error().c_str());
  }
}
