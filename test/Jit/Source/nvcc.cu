// nvcc as the compiler of kernels and of instances, and its errors. They can only be launched on a GPU.
//
// REQUIRES: cuda-toolkit, device-host, nvcc
// RUN: %cuda_cc_plain -std=c++17 -I%mneme_src/include %s -o %t -lcudart
// DEFINE: %{run} = env MNEME_JIT_CACHE=%t.cache MNEME_JIT_REPORT=%t.report llvm-mneme-record --no-record --device=host --any-executable -- %t
// RUN: rm -rf %t.cache && %{run} | FileCheck %s
// RUN: %{run} | FileCheck %s
// RUN: env CPLUS_INCLUDE_PATH=%S/Inputs:%S MNEME_JIT_CACHE=%t.cache llvm-mneme-record --no-record --device=host --any-executable -- %t | FileCheck %s
// RUN: %python %S/Inputs/sources.py %t.report | FileCheck %s --check-prefix=AGAIN
// CHECK: kernel 1
// CHECK: instance 1
// CHECK: error: {{.*}}identifier "y" is undefined
// AGAIN: library with kernels C++ cache: 2
// AGAIN-NOT: compiled

#include <cstdio>
#include <mneme/jit_module.h>

using namespace mneme;

int main() {
  jit_module M(jit_target::cuda, R"(
#ifndef __NVCC__
#error another compiler
#endif
extern "C" __global__ void scale(float *X, float A) { X[threadIdx.x] *= A; }
template <int N> __global__ void add(float *X) { *X += N; })",
               {}, jit_language::cpp, jit_compiler::nvcc);
  bool HasKernel(M.kernel<void(float *, float)>("scale"));
  std::printf("kernel %d\n", HasKernel);
  std::printf("instance %d\n%s", M.instantiate("add", "3").prepare_launch<float *>() != nullptr, M.error().c_str());
  jit_module Bad(jit_target::cuda, "int x = y;", {}, jit_language::cpp, jit_compiler::nvcc);
  Bad.compile();
  std::printf("%s", Bad.error().c_str());
}
