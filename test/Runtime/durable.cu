// A machine that stops loses nothing of earlier runs: what replaces a kernel's file is on
// the disk before it takes that place, and so is what it names.
//
// A sanitizer wants to be the first library of its process.
// UNSUPPORTED: sanitizer
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cc -shared -fPIC %S/Inputs/log-syncs.c -o %t/log-syncs.so -ldl
// DEFINE: %{record} = env LOG_SYNCS=%t/log LD_PRELOAD=%t/log-syncs.so llvm-mneme-record --device=host -o %t/rec -- %t/app

// Nothing is at stake yet: all is brought to the disk at the end.
// RUN: %{record} 1
// RUN: FileCheck %s --check-prefix=NEW < %t/log
// NEW: rename {{[0-9a-f]+}}.json
// NEW-NEXT: sync {{[0-9a-f]+}}.json
// NEW-NEXT: sync DeviceState.epilogue
// NEW-NEXT: sync DeviceState.prologue
// NEW: sync rec
// NEW-NOT: {{.}}

// RUN: rm %t/log
// RUN: %{record} 2
// RUN: FileCheck %s --check-prefix=MORE < %t/log
// MORE: rename DeviceState.prologue
// MORE-NEXT: sync DeviceState.epilogue
// MORE-NEXT: sync DeviceState.prologue
// MORE: sync rec
// MORE-NEXT: sync .{{[0-9a-f]+}}.json.{{.*}}.tmp
// MORE-NEXT: rename {{[0-9a-f]+}}.json

#include "Inputs/check.h"
#include <cuda_runtime.h>

__global__ void store(int *P) { *P = gridDim.x; }

int main(int, char **Argv) {
  int *D;
  OK(cudaMalloc(&D, 4));
  store<<<atoi(Argv[1]), 1>>>(D);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(D));
}
