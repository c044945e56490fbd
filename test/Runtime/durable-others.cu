// What another recorder has changed is never replaced by what is not on the disk.
//
// A sanitizer wants to be the first library of its process.
// UNSUPPORTED: sanitizer
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cc -shared -fPIC %S/Inputs/log-syncs.c -o %t/log-syncs.so -ldl
// DEFINE: %{record} = env LOG_SYNCS=%t/log LD_PRELOAD=%t/log-syncs.so llvm-mneme-record --device=host -o %t/rec -- %t/app

// The second of two launches comes after another recorder has counted the first.
// RUN: %{record} "env -u LD_PRELOAD llvm-mneme-record --quiet --device=host -o %t/rec -- %t/app"
// RUN: FileCheck %s < %t/log
// CHECK: rename DeviceState.prologue
// CHECK: rename DeviceState.prologue
// CHECK: sync .{{[0-9a-f]+}}.json.{{.*}}.tmp
// CHECK-NEXT: rename {{[0-9a-f]+}}.json

#include "Inputs/check.h"
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void store(int *P) { *P = 7; }

int main(int Argc, char **Argv) {
  int *D;
  OK(cudaMalloc(&D, 4));
  store<<<1, 1>>>(D);
  OK(cudaDeviceSynchronize());
  if (Argc > 1) {
    if (system(Argv[1]))
      return 1;
    store<<<2, 1>>>(D);
    OK(cudaDeviceSynchronize());
  }
  OK(cudaFree(D));
}
