// mneme::annotate() is kept with the recording of every kernel that runs between
// the call and the end of the memory.
//
// REQUIRES: cuda-toolkit, device-host
// UNSUPPORTED: sanitizer
// RUN: %cuda_cc -std=c++17 -O2 -I%mneme_src/include %s -o %t
// RUN: rm -rf %t.rec %t.plain.rec && llvm-mneme-record --device=host -o %t.rec -- %t 2> %t.err
// RUN: FileCheck %s --check-prefix=WARN < %t.err
// RUN: llvm-mneme-record check %t.rec
// Tags are stored as they are.
// RUN: grep -l sums %t.rec/DeviceState.prologue.* | count 1
// RUN: grep -l 'as doubles' %t.rec/DeviceState.prologue.* | count 1
// RUN: not grep sums $(grep -l 'as doubles' %t.rec/DeviceState.prologue.*)
// RUN: grep -l freed %t.rec/DeviceState.prologue.* | count 1
// RUN: not grep outside %t.rec/DeviceState.prologue.*
// Alone it runs as if nothing had been annotated.
// RUN: env LD_PRELOAD= %t --no-device

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/annotate.h>

__global__ void first(float *P) { P[0] = 1; }
__global__ void second(float *P) { P[0] = 2; }

int main(int Argc, char **) {
  float *A, *B = nullptr;
  if (Argc > 1) {
    mneme::annotate(B, 10, mneme::relative(1e-5));
    return 0;
  }
  OK(cudaMalloc(&A, 4000));
  OK(cudaMalloc(&B, 4000));
  mneme::annotate(A, 1000, mneme::relative(1e-5, MNEME_L2), "sums");
  mneme_annotate(B + 10, 40, MNEME_BYTES, MNEME_EXACT, 0, MNEME_PER_ELEMENT, "freed");
  // WARN: mneme: warning: annotation 'outside': {{.*}} is not within one allocation of device memory
  mneme::annotate(A, 1001, mneme::exact(), "outside");
  first<<<1, 1>>>(A);
  OK(cudaFree(B));
  mneme::annotate((double *)A, 500, mneme::ulp(4), "as doubles");
  second<<<1, 1>>>(A);
  OK(cudaDeviceSynchronize());
}
