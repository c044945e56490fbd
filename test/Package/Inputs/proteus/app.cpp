// A program for Proteus, with all of its headers.
#include <proteus/JitInterface.h>
#include <proteus/CppJitModule.h>
#include <proteus/Frontend/Builtins.h>
#include <proteus/Init.h>
#include <proteus/JitFrontend.h>
#include <proteus/KernelMetadata.h>
#include <proteus/LLVMIRJitModule.h>
#include <proteus/MLIRJitModule.h>

__attribute__((annotate("jit", 1), noinline)) static int annotated(int N) { return N + 1; }

int main() {
  proteus::init();
  std::cout << "annotated " << annotated(41) << "\n";
  proteus::CppJitModule Cpp("host", R"(extern "C" int next(int N) { return N + 1; })");
  std::cout << "text " << Cpp.getFunction<int(int)>("next").run(6) << "\n";
  proteus::JitModule Built("host");
  auto &F = Built.addFunction<int(int)>("twice");
  F.beginFunction();
  F.ret(F.getArg<0>() * 2);
  F.endFunction();
  std::cout << "built " << F(8) << "\n";
  proteus::finalize();
}
