// Kernels of LLVM IR and MLIR that is compiled at run time: parameters of all kinds, and errors.
//
// REQUIRES: cuda-toolkit, ptxas, device-host, mlir-tools
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o %t/app -lcudart
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %source_run %t/app | FileCheck %s
// CHECK: ir 0: 1.5 2 3 4 5
// CHECK: error: the module has no kernels: give them the calling convention ptx_kernel
// CHECK: mlir 0: 42
// CHECK: error: expected exactly one gpu.module, got 2
// CHECK: module.mlir:2:{{[0-9]+}}: error: {{.*}}nonsense
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=FIRST
// FIRST-DAG: library with kernels LLVM IR compiled: 1
// FIRST-DAG: library with kernels MLIR compiled: 1
// RUN: env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %source_run %t/app | FileCheck %s
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=SECOND
// SECOND-DAG: library with kernels LLVM IR cache: 1
// SECOND-DAG: library with kernels MLIR cache: 1

#include <cstdio>
#include <mneme/jit_module.h>

using namespace mneme;

struct Pair {
  int First;
  long Second;
};

int main() {
  jit_module IR(jit_target::cuda, R"(
%pair = type { i32, i64 }
define ptx_kernel void @all(ptr %out, float %a, i8 %b, i16 %c, ptr byval(%pair) align 8 %d) {
  store float %a, ptr %out
  %fb = sitofp i8 %b to float
  %pb = getelementptr float, ptr %out, i64 1
  store float %fb, ptr %pb
  %fc = sitofp i16 %c to float
  %pc = getelementptr float, ptr %out, i64 2
  store float %fc, ptr %pc
  %first = load i32, ptr %d
  %ff = sitofp i32 %first to float
  %pf = getelementptr float, ptr %out, i64 3
  store float %ff, ptr %pf
  %ps = getelementptr %pair, ptr %d, i32 0, i32 1
  %second = load i64, ptr %ps
  %fs = sitofp i64 %second to float
  %po = getelementptr float, ptr %out, i64 4
  store float %fs, ptr %po
  ret void
})",
                {}, jit_language::llvm_ir);
  float *X;
  cudaMallocManaged(&X, 5 * sizeof(float));
  auto All = IR.kernel<void(float *, float, char, short, Pair)>("all");
  if (!All)
    return std::printf("%s", IR.error().c_str());
  int Error = All.launch(1, 1, 0, nullptr, X, 1.5f, 2, 3, Pair{4, 5});
  cudaDeviceSynchronize();
  std::printf("ir %d: %g %g %g %g %g\n", Error, X[0], X[1], X[2], X[3], X[4]);
  jit_module None(jit_target::cuda, "define void @f() { ret void }", {}, jit_language::llvm_ir);
  None.compile();
  std::printf("%s", None.error().c_str());

  const std::string Kernel = R"(
  gpu.func @write(%out: !llvm.ptr) kernel {
    %c = arith.constant 42.0 : f32
    llvm.store %c, %out : f32, !llvm.ptr
    gpu.return
  }
)";
  jit_module MLIR(jit_target::cuda, "module attributes {gpu.container_module} { gpu.module @a {" + Kernel + "} }", {},
                  jit_language::mlir);
  auto Write = MLIR.kernel<void(float *)>("write");
  if (!Write)
    return std::printf("%s", MLIR.error().c_str());
  Error = Write.launch(1, 1, 0, nullptr, X);
  cudaDeviceSynchronize();
  std::printf("mlir %d: %g\n", Error, X[0]);
  jit_module Twice(jit_target::cuda, "gpu.module @a {" + Kernel + "} gpu.module @b {" + Kernel + "}", {},
                   jit_language::mlir);
  Twice.compile();
  std::printf("%s", Twice.error().c_str());
  jit_module Bad(jit_target::cuda, "module {\n  nonsense.op\n}", {}, jit_language::mlir);
  Bad.compile();
  std::printf("%s", Bad.error().c_str());
}
