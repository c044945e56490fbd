// Kernels in libraries that dlopen brings in, drops, and brings in again, perhaps
// where another one was.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O1 -shared -fPIC -DVALUE=3 %s -o %t/a.so
// RUN: %cuda_cc -O1 -shared -fPIC -DVALUE=4 %s -o %t/b.so
// RUN: %cuda_cc -O1 %s -o %t/app -ldl
// RUN: llvm-mneme-record --device=host --any-executable --no-record -- %t/app %t/a.so %t/b.so %t/a.so %t/b.so %t/b.so | FileCheck %s
// CHECK: 3 104 3 104 104
// RUN: llvm-mneme-record --device=host --any-executable -o %t/rec -- %t/app %t/a.so %t/b.so %t/a.so %t/b.so > %t/out 2> %t/err
// RUN: FileCheck %s --check-prefix=RECORD < %t/out
// RECORD: 3 104 3 104
// RUN: FileCheck %s --check-prefix=COUNT < %t/err
// COUNT: mneme: 4 launches seen, 2 recorded, 2 skipped
// RUN: llvm-mneme-record check %t/rec | FileCheck %s --check-prefix=WHOLE
// WHOLE: 2 kernels, 2 instances, 0 problems

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <dlfcn.h>

#ifdef VALUE
__device__ int Result = VALUE == 4 ? 100 : 0;
static __global__ void kernel() { Result += VALUE; }
extern "C" int run() {
  int R;
  kernel<<<1, 1>>>();
  OK(cudaMemcpyFromSymbol(&R, Result, sizeof(R)));
  int Start = VALUE == 4 ? 100 : 0;
  OK(cudaMemcpyToSymbol(Result, &Start, sizeof(Start)));
  return R;
}
#else
int main(int Argc, char **Argv) {
  int *Use;
  OK(cudaMalloc(&Use, 4));
  for (int I = 1; I < Argc; ++I) {
    void *Library = dlopen(Argv[I], RTLD_NOW);
    if (!Library)
      printf("%s\n", dlerror());
    printf("%d ", ((int (*)())dlsym(Library, "run"))());
    dlclose(Library);
  }
  printf("\n");
}
#endif
