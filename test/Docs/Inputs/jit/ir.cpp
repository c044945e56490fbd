#include <cstdio>
#include <mneme/jit_module.h>

int main() {
  mneme::jit_module IR(mneme::jit_target::host, R"(
    define i32 @add(i32 %a, i32 %b) {
      %sum = add i32 %a, %b
      ret i32 %sum
    })", {}, mneme::jit_language::llvm_ir);
  mneme::jit_module MLIR(mneme::jit_target::host, R"(
    func.func @add(%a: i32, %b: i32) -> i32 {
      %sum = arith.addi %a, %b : i32
      return %sum : i32
    })", {}, mneme::jit_language::mlir);
  for (mneme::jit_module *M : {&IR, &MLIR})
    if (auto Add = M->function<int(int, int)>("add"))
      std::printf("%d\n", Add(40, 2));
    else
      std::printf("%s", M->error().c_str());
}
