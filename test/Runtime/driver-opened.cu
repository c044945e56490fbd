// A program that is not linked to the CUDA driver opens it, and finds its functions by name.

// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cxx -x c++ -std=c++17 -I%cuda_path/include %s -o %t/app -ldl
// RUN: llvm-mneme-record --device=host --any-executable -o %t/rec -- %t/app %t/app.bc 2>&1 | FileCheck %s
// CHECK: result 42
// CHECK: 1 launch seen, 1 recorded
// RUN: llvm-mneme-replay %t/rec --device=host | FileCheck %s --check-prefix=REPLAY
// REPLAY: "verdict": "Match"

#ifdef __CUDA__
extern "C" __global__ void set(int *P, int N) { *P = N; }
#else
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <dlfcn.h>

static void *Driver;

template <typename Fn> static Fn *find(const char *Name, Fn *) {
  void *F = nullptr;
  CUdriverProcAddressQueryResult Status;
  auto *Get = reinterpret_cast<decltype(&cuGetProcAddress)>(dlsym(Driver, "cuGetProcAddress_v2"));
  if (!Get || Get(Name, &F, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &Status))
    printf("no %s\n", Name), exit(1);
  return reinterpret_cast<Fn *>(F);
}
#define CALL(Name, ...)                                                        \
  if (int E = find(#Name, (decltype(&Name))nullptr)(__VA_ARGS__))              \
  printf("%s: %d\n", #Name, E), exit(1)

int main(int, char **Argv) {
  Driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!Driver)
    return printf("no driver\n"), 1;
  CUmodule M;
  CUfunction F;
  CUdeviceptr P;
  int N = 42, Result = 0;
  void *Args[] = {&P, &N};
  CALL(cuInit, 0);
  CALL(cuModuleLoad, &M, Argv[1]);
  CALL(cuModuleGetFunction, &F, M, "set");
  CALL(cuMemAlloc, &P, sizeof(N));
  CALL(cuLaunchKernel, F, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr);
  CALL(cuMemcpyDtoH, &Result, P, sizeof(N));
  printf("result %d\n", Result);
}
#endif
