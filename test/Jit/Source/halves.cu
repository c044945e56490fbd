// The code for the GPU and that for the CPU are compiled at the same time, and the latter contains the former: also if it is large, and
// if only one of them compiles.
//
// REQUIRES: cuda-toolkit, ptxas, device-host
// RUN: %cuda_cc_plain -std=c++17 -I%mneme_src/include %s -o %t -lcudart
// RUN: env MNEME_JIT_CACHE=none %source_run %t | FileCheck %s
// CHECK: large 0: 7
// CHECK: module.cpp:4:2: error: only the CPU
// CHECK-NOT: error
// CHECK: module.cpp:7:2: error: only the GPU
// CHECK-NOT: error
// CHECK: error: ptxas: 
// CHECK-NOT: error
// CHECK: end

#include <cstdio>
#include <mneme/jit_module.h>
#include <string>

using mneme::jit_target;

static const std::string Code = R"(__device__ unsigned char Table[300000] = {7};
extern "C" __global__ void read(int *X) { *X = Table[0]; }
#if !defined(__CUDA_ARCH__) && defined(ONLY_CPU)
#error only the CPU
#endif
#if defined(__CUDA_ARCH__) && defined(ONLY_GPU)
#error only the GPU
#endif
#if defined(__CUDA_ARCH__) && defined(INVALID)
__global__ void invalid() { asm volatile("no_such_instruction;"); }
#endif
)";

int main() {
  int *X;
  cudaMallocManaged(&X, sizeof(int));
  mneme::jit_module Large(jit_target::cuda, Code.c_str());
  int Error = Large.kernel<void(int *)>("read").launch(1, 1, 0, nullptr, X);
  cudaDeviceSynchronize();
  std::printf("large %d: %d\n%s", Error, *X, Large.error().c_str());
  for (const char *Option : {"-DONLY_CPU", "-DONLY_GPU", "-DINVALID"}) {
    mneme::jit_module Wrong(jit_target::cuda, Code.c_str(), {Option});
    Wrong.compile();
    std::printf("%s", Wrong.error().c_str());
  }
  std::printf("end\n");
}
