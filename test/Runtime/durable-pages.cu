// A file of pages that recordings may rely on is replaced by one that is on the disk.
//
// A sanitizer wants to be the first library of its process.
// UNSUPPORTED: sanitizer
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cc -shared -fPIC %S/Inputs/log-syncs.c -o %t/log-syncs.so -ldl
// DEFINE: %{record} = env LOG_SYNCS=%t/log LD_PRELOAD=%t/log-syncs.so llvm-mneme-record --device=host -o %t/rec -- %t/app

// What cannot be read is stored again, under the same name.
// RUN: %{record} 1
// RUN: %python -c "import glob, os, sys; [os.truncate(p, 9) for p in glob.glob(sys.argv[1])]" '%t/rec/Pages.*'
// RUN: rm %t/log
// RUN: %{record} 2
// RUN: FileCheck %s < %t/log
// RUN: llvm-mneme-record check %t/rec
// CHECK: sync Pages.[[ID:[0-9a-f.]+]]mneme
// CHECK-NEXT: rename Pages.[[ID]]mneme

#include "Inputs/check.h"
#include <cuda_runtime.h>

__global__ void store(int *P) { *P = 7; }

int main(int, char **Argv) {
  int *D;
  OK(cudaMalloc(&D, 1 << 20));
  OK(cudaMemset(D, 1, 1 << 20));
  store<<<atoi(Argv[1]), 1>>>(D);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(D));
}
