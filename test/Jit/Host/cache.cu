// Whatever the code of a kernel depends on is in its key: each of these changes alone is a miss, and the second time a hit. The
// program checks the kernel's result.
//
// RUN: rm -rf %t && mkdir %t %servers/kernels
// DEFINE: %{env} =
// DEFINE: %{app} =
// DEFINE: %{run} = env XDG_RUNTIME_DIR=%servers/kernels MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %{env} \
// DEFINE:   llvm-mneme-record --no-record --device=host -- %t/%{app} && %jit_report %t/report | FileCheck %s --check-prefix
// DEFINE: %{new} = %{run}=NEW && %{run}=OLD
// NEW: served=1 fell_back=0 compiled=1 from_cache=0 shared=0
// OLD: served=1 fell_back=0 compiled=0 from_cache=1 shared=0
//
// RUN: %cuda_cc %{small_cuda} -O2 %s -o %t/app
// REDEFINE: %{app} = app 1 32 1
// RUN: %{new}
//
// The launch.
// REDEFINE: %{app} = app 2 32 1
// RUN: %{new}
// REDEFINE: %{app} = app 1 64 1
// RUN: %{new}
// The grid is no constant, unless it is asked for.
// REDEFINE: %{app} = app 1 32 2
// RUN: %{run}=OLD
// REDEFINE: %{env} = MNEME_JIT_SPECIALIZE=args,block,grid
// RUN: %{new}
// REDEFINE: %{app} = app 1 32 1
// RUN: %{new}
//
// How it is compiled.
// REDEFINE: %{env} = MNEME_JIT_SPECIALIZE=args
// RUN: %{new}
// REDEFINE: %{env} = 'MNEME_JIT_PASSES=default<O1>'
// RUN: %{new}
// RUN: echo '{"codegen_opt": 1}' > %t/config.json
// REDEFINE: %{env} = MNEME_JIT_CONFIG=%t/config.json
// RUN: %{new}
// RUN: echo '{"codegen_opt": 2}' > %t/config.json
// RUN: %{new}
// RUN: echo '{"_Z6kernelijPj": {"Pipeline": "default<O1>"}}' > %t/tuned.json
// REDEFINE: %{env} = PROTEUS_TUNED_KERNELS=%t/tuned.json
// RUN: %{new}
// RUN: echo '{"_Z6kernelijPj": {"Pipeline": "default<O2>"}}' > %t/tuned.json
// RUN: %{new}
//
// The code, that of a function that it calls, and that of one in another file.
// REDEFINE: %{env} =
// REDEFINE: %{app} = kernel 1 32 1
// RUN: %cuda_cc %{small_cuda} -O2 %s -o %t/kernel -DKERNEL=5
// RUN: %{new}
// REDEFINE: %{app} = callee 1 32 1
// RUN: %cuda_cc %{small_cuda} -O2 %s -o %t/callee -DCALLEE=5
// RUN: %{new}
// DEFINE: %{rdc} = %cuda_cc %{small_cuda} -O2 -fgpu-rdc -Wno-unused-command-line-argument
// RUN: %{rdc} -c %s -o %t/main.o -DRDC -DOTHER && %{rdc} -c %s -o %t/other.o -DRDC
// RUN: %{rdc} --offload-link %t/main.o %t/other.o -o %t/linked
// REDEFINE: %{app} = linked 1 32 1
// RUN: %{new}
// RUN: %{rdc} -c %s -o %t/main.o -DRDC -DOTHER -DCALLEE=5 && %{rdc} -c %s -o %t/other.o -DRDC -DCALLEE=5
// RUN: %{rdc} --offload-link %t/main.o %t/other.o -o %t/linked
// RUN: %{new}
//
// Nothing has replaced the first.
// REDEFINE: %{app} = app 1 32 1
// RUN: %{run}=OLD

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

#ifndef KERNEL
#define KERNEL 3
#endif
#ifndef CALLEE
#define CALLEE 4
#endif

#ifdef OTHER
__device__ unsigned callee(unsigned N);
#else
__device__ unsigned callee(unsigned N) { return N * CALLEE; }
#endif

#if !defined(RDC) || defined(OTHER)
__attribute__((annotate("jit", 1))) __global__ void kernel(int N, unsigned M,
                                                           unsigned *P) {
  *P = callee(N) + KERNEL * blockDim.x + 1000 * gridDim.x + M;
}

int main(int Argc, char **Argv) {
  unsigned N = atoi(Argv[1]), Block = atoi(Argv[2]), Grid = atoi(Argv[3]);
  unsigned *P, Value;
  OK(cudaMalloc(&P, sizeof(Value)));
  kernel<<<Grid, Block>>>(N, 7, P);
  OK(cudaMemcpy(&Value, P, sizeof(Value), cudaMemcpyDeviceToHost));
  unsigned Expected = N * CALLEE + KERNEL * Block + 1000 * Grid + 7;
  if (Value != Expected)
    printf("%u instead of %u\n", Value, Expected);
  return Value != Expected;
}
#endif
