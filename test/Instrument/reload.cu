// Libraries that come and go: what dlopen brings is recorded; after dlclose and another
// dlopen, perhaps at the same place, its variables begin anew. Two libraries with the
// very same code have variables of their own.
//
// REQUIRES: cuda-toolkit, device-host, emulated-cuda-programs
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 -fPIC -shared -fvisibility=hidden -DLIBRARY %s -o %t/libone.so
// RUN: cp %t/libone.so %t/libtwo.so
// RUN: %cuda_cc -O2 %s -o %t/app -ldl
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c -DLIBRARY %s -o %t/library.bc
// RUN: llvm-mneme-record --any-executable --device=host -o %t/host -- %t/app %t 2>&1 | FileCheck %s
// RUN: %python %S/../Runtime/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/host | FileCheck %s --check-prefix=REPLAY
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t llvm-mneme-record --any-executable --device=cuda -o %t/cuda -- %t/app %t 2>&1 | FileCheck %s
// RUN: %python %S/../Runtime/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/cuda | FileCheck %s --check-prefix=REPLAY

// CHECK: one 11 12, two 11, one again 11
// CHECK: 4 launches seen, 4 recorded, 0 skipped
// REPLAY-COUNT-4: count grid {{[1-4]}}: Match

#include "../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

#ifdef LIBRARY
__device__ int Calls = 10;
extern "C" __global__ void count(int *P) {
  if (!blockIdx.x)
    *P = ++Calls;
}
extern "C" __attribute__((visibility("default"))) int run(int Grid) {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  count<<<Grid, 1>>>(D);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  OK(cudaFree(D));
  return H;
}
#else
#include <dlfcn.h>
#include <string>

static int (*load(const std::string &Path, void *&Handle))(int) {
  Handle = dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(Handle);
  return reinterpret_cast<int (*)(int)>(dlsym(Handle, "run"));
}

int main(int, char **Argv) {
  std::string Dir = Argv[1];
  void *One, *Two;
  auto Run = load(Dir + "/libone.so", One);
  int First = Run(1), Second = Run(2);
  auto RunTwo = load(Dir + "/libtwo.so", Two);
  int Other = RunTwo(3);
  dlclose(One);
  CHECK(!dlopen((Dir + "/libone.so").c_str(), RTLD_NOW | RTLD_NOLOAD));
  Run = load(Dir + "/libone.so", One);
  int Again = Run(4);
  printf("one %d %d, two %d, one again %d\n", First, Second, Other, Again);
}
#endif
