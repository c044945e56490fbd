// A kernel of the program that is launched through the driver, by the function that the runtime
// has for it: recorded as by <<<>>>.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t -L%cuda_path/lib64/stubs -lcuda
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 15 11 6
// CHECK: 3 launches seen, 3 recorded, 0 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 3: Match

#include <cuda.h>
#include <cuda_runtime.h>

#define FUNCTION CUfunction
#define LAUNCH(F, Blocks, Args, Extra) cuLaunchKernel(F, Blocks, 1, 1, 1, 1, 1, 0, nullptr, Args, Extra)
#define END 0
#include "../Inputs/functions-of-symbols.h"
