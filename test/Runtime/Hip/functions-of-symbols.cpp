// A kernel of the program that is launched by the function that HIP has for it: recorded as by <<<>>>.
//
// RUN: %hip_ir -I%S/Inputs -O2 --offload-arch=gfx90a -emit-llvm -c %s -o %t.bc
// RUN: %hip_cc -O2 --offload-arch=gfx90a -I%S/Inputs %s -o %t %hip_libs
// RUN: rm -rf %t.rec
// RUN: %emulated_amd MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=hip -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 15 11 6
// CHECK: 3 launches seen, 3 recorded, 0 skipped
// RUN: %python %S/../Cuda/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 3: Match

#include <cuda_runtime.h>

extern "C" {
#define cudaGetFuncBySymbol hipGetFuncBySymbol
hipError_t hipGetFuncBySymbol(void **, const void *);
hipError_t hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, unsigned, hipStream_t,
                                 void **, void **);
}

#define FUNCTION void *
#define LAUNCH(F, Blocks, Args, Extra) hipModuleLaunchKernel(F, Blocks, 1, 1, 1, 1, 1, 0, nullptr, Args, Extra)
#define END 3
#include "../Inputs/functions-of-symbols.h"
