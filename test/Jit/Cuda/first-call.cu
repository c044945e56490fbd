// A launch that is the program's first call of the runtime finds no context. It is specialized, too.
//
// RUN: rm -rf %t && mkdir -p %t %servers/gpu
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %jit_gpu XDG_RUNTIME_DIR=%servers/gpu MNEME_EMULATED_KERNELS=%t/plain.bc MNEME_JIT_CACHE=%t/cache \
// RUN:   MNEME_JIT_REPORT=%t/report MNEME_CUDA_PATH=%cuda_path %t/app
// RUN: %jit_report %t/report | FileCheck %s
// CHECK: served=1 fell_back=0 compiled=1

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 1))) __global__ void expect3(int N) {
  if (N != 3)
    __trap();
}

int main() {
  expect3<<<1, 1>>>(3);
  OK(cudaDeviceSynchronize());
  return 0;
}
