// Compilers that wait can be killed, and end with the server, even if that is killed.
//
// RUN: mkdir -p %t %servers/processes
// RUN: %source_cxx %s -o %t/app
// RUN: %python %S/Inputs/processes.py %servers/processes %t/app | FileCheck %s
// CHECK:      2 4 compilers wait
// CHECK-NEXT: 6 without them
// CHECK-NEXT: 8 compilers wait
// CHECK-NEXT: none without the server

#include <iostream>
#include <mneme/jit_module.h>

int main() {
  mneme::jit_module M(mneme::jit_target::host, "template <int N> int twice() { return 2 * N; }");
  for (std::string N; std::getline(std::cin, N);)
    std::cout << M.instantiate("twice", N).call<int>() << M.error() << std::endl;
}
