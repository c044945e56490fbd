// LLVM IR that is compiled at run time: text and bitcode, and its errors.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %source_cxx %s -rdynamic -o %t/app
// RUN: echo 'define i32 @sub(i32 %%a, i32 %%b) { %%c = sub i32 %%a, %%b ret i32 %%c }' > %t/sub.ll
// RUN: %llvm_tools/llvm-as %t/sub.ll -o %t/sub.bc
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %t/app %t/sub.bc | FileCheck %s
// CHECK: add 42, 0 messages
// CHECK: bitcode 38
// CHECK: back 7
// CHECK: module.ll:2:{{[0-9]+}}: error: {{.*}}'%missing'
// CHECK: error: invalid IR: {{.*}}
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=FIRST
// FIRST: library LLVM IR compiled: 3
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %t/app %t/sub.bc | FileCheck %s
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=SECOND
// SECOND: library LLVM IR cache: 3

#include <cstdio>
#include <fstream>
#include <iterator>
#include <mneme/jit_module.h>

using namespace mneme;

// The code calls functions that the program exports.
extern "C" int seven() { return 7; }

static jit_module compile(std::string Text) { return jit_module(jit_target::host, Text, {}, jit_language::llvm_ir); }

int main(int, char **argv) {
  auto Add = compile("define i32 @add(i32 %a, i32 %b) {\n  %c = add i32 %a, %b\n  ret i32 %c\n}");
  std::printf("add %d, %zu messages\n", Add.function<int(int, int)>("add")(40, 2), Add.messages().size());
  std::ifstream In(argv[1], std::ios::binary);
  auto Sub = compile(std::string(std::istreambuf_iterator<char>(In), {}));
  std::printf("bitcode %d\n", Sub.function<int(int, int)>("sub")(40, 2));
  auto Back = compile("declare i32 @seven() define i32 @f() { %r = call i32 @seven() ret i32 %r }");
  std::printf("back %d\n", Back.function<int()>("f")());

  auto Bad = compile("define i32 @f() {\n  ret i32 %missing\n}");
  Bad.compile();
  std::printf("%s", Bad.error().c_str());
  auto Invalid = compile("define i32 @f() {\n  br label %a\na:\n  %x = add i32 %y, 1\n  %y = add i32 %x, 1\n  ret i32 %y\n}");
  Invalid.compile();
  std::printf("%s", Invalid.error().c_str());
}
