// MLIR for the CPU that is compiled at run time.
//
// REQUIRES: mlir-tools
// RUN: rm -rf %t && mkdir %t
// RUN: %source_cxx %s -o %t/app
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %t/app | FileCheck %s
// CHECK: sum 45
// CHECK: module.mlir:3:{{[0-9]+}}: error: {{.*}}
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %t/app | FileCheck %s
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=SECOND
// SECOND: library MLIR cache: 1

#include <cstdio>
#include <mneme/jit_module.h>

using namespace mneme;

int main() {
  jit_module M(jit_target::host, R"(
func.func @sum(%n: index) -> i64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant 0 : i64
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %init) -> i64 {
    %x = arith.index_cast %i : index to i64
    %next = arith.addi %s, %x : i64
    scf.yield %next : i64
  }
  return %sum : i64
})",
               {}, jit_language::mlir);
  auto Sum = M.function<long(long)>("sum");
  if (!Sum)
    return std::printf("%s", M.error().c_str());
  std::printf("sum %ld\n", Sum(10));
  jit_module Bad(jit_target::host, "\nfunc.func @f() -> i32 {\n  return %missing : i32\n}", {}, jit_language::mlir);
  Bad.compile();
  std::printf("%s", Bad.error().c_str());
}
