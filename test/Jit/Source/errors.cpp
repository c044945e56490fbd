// Errors of sources: messages of the compiler as data, and what else can go wrong. The program goes on.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %source_cxx %s -o %t/app
// RUN: %t/app | FileCheck %s
// CHECK: [error] module.cpp:3:10: use of undeclared identifier 'Y'
// CHECK: as text: module.cpp:3:10: error: use of undeclared identifier 'Y'
// CHECK: [warning] module.cpp:1:{{[0-9]+}}: {{.*}}; 1 function
// CHECK: [error] :0:0: no function 'g' in the module: declare it extern "C", or use instance()
// CHECK: [error] instance.cpp:1:{{[0-9]+}}: use of undeclared identifier 'missing'
// CHECK: call 0
// CHECK: [error] {{.*}}unknown argument{{.*}}'-fno-such-option'
// CHECK: [error] :0:0: the code cannot be loaded: {{.*}}undefined symbol: nowhere
// CHECK: [error] :0:0: no device for kernels: run the program on a GPU, or with llvm-mneme-record --no-record --device=host --any-executable
//
// A source that is wrong is compiled again when asked for again, and nothing of it is in the cache.
// RUN: env MNEME_JIT_CACHE=%t/cache %t/app wrong | FileCheck %s --check-prefix=AGAIN
// AGAIN-COUNT-2: use of undeclared identifier 'Y'
// RUN: not ls %t/cache/*.code
//
// RUN: %jit_cxx %s -o %t/plain
// RUN: %t/plain | FileCheck %s --check-prefix=RUNTIME
// RUNTIME: [error] :0:0: no JIT runtime in the process: link libmneme_jit.so, or preload it
//
// RUN: env MNEME_JIT_SERVER=/bin/false %t/app | FileCheck %s --check-prefix=SERVER
// SERVER: [error] :0:0: no compile server: {{.+}}
// RUN: env MNEME_JIT_MODE=cached MNEME_JIT_CACHE=%t/none %t/app | FileCheck %s --check-prefix=CACHED
// CACHED: [error] :0:0: not in the cache

#include <cstdio>
#include <mneme/jit_module.h>

using mneme::jit_target;

static void show(const mneme::jit_module &M) {
  for (const mneme::jit_message &E : M.messages())
    std::printf("[%s] %s:%u:%u: %s; ", E.severity.c_str(), E.file.c_str(), E.line, E.column, E.text.c_str());
}

int main(int argc, char **) {
  const char *Wrong = "\nextern \"C\" int f(int X) {\n  return Y;\n}";
  mneme::jit_module M(jit_target::host, Wrong);
  M.compile();
  show(M);
  std::printf("\nas text: %s", M.error().c_str());
  if (argc > 1) {
    mneme::jit_module Again(jit_target::host, Wrong);
    return Again.compile();
  }

  mneme::jit_module W(jit_target::host, "extern \"C\" int f() { int Unused; return 1; }", {"-Wall"});
  auto F = W.function<int()>("f");
  show(W);
  std::printf("%d function\n", int(bool(F)));
  W.function<int()>("g");
  show(W);

  mneme::jit_module T(jit_target::host, "");
  double Zero = T.instantiate("missing", "1").call<double>(1);
  show(T);
  std::printf("\ncall %g\n", Zero);

  mneme::jit_module O(jit_target::host, "", {"-fno-such-option"});
  O.compile();
  show(O);
  mneme::jit_module U(jit_target::host, "extern \"C\" int nowhere(); extern \"C\" int f() { return nowhere(); }");
  U.compile();
  show(U);
  mneme::jit_module K(jit_target::cuda, "");
  K.compile();
  show(K);
}
