// Launches by destructors of static objects, after main has returned: they happen,
// are recorded, and are counted. So do those by destructors of libraries, but what
// comes after the summary is neither recorded nor counted.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O1 -shared -fPIC -DLIBRARY %s -o %t/liblate.so
// RUN: %cuda_cc -O1 %s -o %t/app -L%t -llate -Wl,-rpath,%t
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app > %t/out 2> %t/err
// RUN: FileCheck %s < %t/out
// CHECK: main 6
// CHECK-DAG: static 7 cudaSuccess
// CHECK-DAG: library 8 cudaSuccess
// RUN: llvm-mneme-record check %t/rec >> %t/err
// RUN: FileCheck %s --check-prefix=COUNT < %t/err
// COUNT: mneme: [[N:[0-9]+]] launches seen, [[N]] recorded, 0 skipped
// COUNT: 2 kernels, [[N]] instances, 0 problems

#include "Inputs/check.h"
#include <cuda_runtime.h>

namespace {
__global__ void store(int *P, int V) { *P = V; }

/// Stores on a grid of its own, so that each launch is recorded.
int use(int V) {
  int *P, H = 0;
  OK(cudaMalloc(&P, 4));
  store<<<V, 1>>>(P, V);
  OK(cudaMemcpy(&H, P, 4, cudaMemcpyDeviceToHost));
  OK(cudaFree(P));
  return H;
}

struct Late {
  const char *Name;
  int Value;
  ~Late() {
    int H = use(Value);
    printf("%s %d %s\n", Name, H, cudaGetErrorName(cudaGetLastError()));
    fflush(stdout);
  }
};
} // namespace

#ifdef LIBRARY
static Late InLibrary = {"library", 8};
int first() { return use(1); }
#else
int first();
static Late InProgram = {"static", 7};
int main() { printf("main %d\n", first() + use(5)); }
#endif
