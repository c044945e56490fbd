// Objects with the same code have separate variables. A verified launch leaves the
// application's variables as its own kernel does, and compares them.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -DLIBRARY -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc_static -O2 -DLIBRARY -shared -fPIC -fvisibility=hidden -Wl,--exclude-libs,ALL \
// RUN:   %s -o %t/libone.so %emulated_static_libs
// RUN: cp %t/libone.so %t/libtwo.so
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{entry} = same
// DEFINE: %{package} = mneme-package %t/app.mneme %t/libone.so kernel=_Z4stepPi variant=%t/tuned.cubin entry=%{entry} \
// DEFINE:   guard=variable name=counter bytes=4 slot=0 guard=variable name=factor bytes=4
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=-
// DEFINE: %{libraries} = %t/libone.so %t/libtwo.so %t/libone.so
//
// RUN: %{package}
// RUN: %{run} %t/app %{libraries} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// CHECK: counter 2, factor 1
// CHECK-NEXT: counter 2, factor 2
// CHECK-NEXT: counter 4, factor 3
// CHECK: 6 served by tuned kernels, 0 fell back
//
// RUN: %{run} MNEME_TUNED_VERIFY=2 %t/app %{libraries} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=SAME
// SAME: counter 2, factor 1
// SAME-NEXT: counter 2, factor 2
// SAME-NEXT: counter 4, factor 3
// SAME: 4 served by tuned kernels, 0 fell back
// SAME: 2 verified
//
// REDEFINE: %{entry} = wrong
// RUN: %{package}
// RUN: %{run} MNEME_TUNED_VERIFY=2 %t/app %{libraries} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=WRONG
// WRONG: counter 2, factor 1
// WRONG-NEXT: counter 2, factor 2
// WRONG-NEXT: counter 4, factor 3
// WRONG: differs from the application's own kernel, and is disabled: variable 'counter', offset 0 of 4 bytes: 0x00000002 instead of 0x00000001

#ifdef TUNED
extern "C" {
__constant__ int *__mneme_variables[1];
__constant__ int factor;
__global__ void same(int *P) {
  P[threadIdx.x] = factor;
  atomicAdd(__mneme_variables[0], 1);
}
__global__ void wrong(int *P) {
  P[threadIdx.x] = factor;
  atomicAdd(__mneme_variables[0], 2);
}
}
#elif defined(LIBRARY)
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

__device__ int counter;
__constant__ int factor;

__global__ void step(int *P) {
  P[threadIdx.x] = factor;
  atomicAdd(&counter, 1);
}

extern "C" __attribute__((visibility("default"))) void run(int Factor) {
  int *D, Found, Count;
  OK(cudaMalloc(&D, sizeof(int)));
  OK(cudaMemcpyToSymbol(factor, &Factor, sizeof(int)));
  for (int I = 0; I != 2; ++I)
    step<<<1, 1>>>(D);
  OK(cudaMemcpy(&Found, D, sizeof(int), cudaMemcpyDeviceToHost));
  OK(cudaMemcpyFromSymbol(&Count, counter, sizeof(int)));
  printf("counter %d, factor %d\n", Count, Found);
  OK(cudaFree(D));
}
#else
#include "../../Runtime/Inputs/check.h"
#include <dlfcn.h>

int main(int Argc, char **Argv) {
  for (int I = 1; I != Argc; ++I) {
    void *Library = dlopen(Argv[I], RTLD_NOW | RTLD_LOCAL);
    CHECK(Library);
    reinterpret_cast<void (*)(int)>(dlsym(Library, "run"))(I);
  }
}
#endif
