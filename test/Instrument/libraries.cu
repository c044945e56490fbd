// Kernels in static libraries, in shared ones, and in ones that come by dlopen. Each
// object attaches by itself.
// REQUIRES: cuda-toolkit, nvptx-registered-target
// DEFINE: %{cc} = %cuda_cc_plain -fpass-plugin=%mneme_pass -Wno-unused-command-line-argument
// RUN: rm -rf %t && split-file %s %t
// RUN: %clangxx -shared -fPIC -I%mneme_src/include %S/Inputs/attach.cpp -o %t/attach.so
// RUN: %{cc} -c %t/kernel.cu -DNAME=fromStatic -o %t/static.o
// RUN: llvm-ar rcs %t/libstatic.a %t/static.o
// RUN: %{cc} -fPIC -shared %t/kernel.cu -DNAME=fromShared -o %t/libshared.so -lcudart
// RUN: %{cc} -fPIC -shared -Wl,-z,defs %t/kernel.cu -DNAME=fromLoaded -o %t/libloaded.so -lcudart
// RUN: %{cc} %t/main.cu -o %t/app -DLOADED='"%t/libloaded.so"' -L%t -lstatic -lshared -lcudart -ldl -Wl,-rpath,%t
// RUN: %t/app | FileCheck %s --check-prefix=PLAIN --implicit-check-not=attach
// RUN: env LD_PRELOAD=%t/attach.so %t/app | FileCheck %s
// RUN: llvm-mneme-record list-kernels %t/libstatic.a | FileCheck %s --check-prefix=STATIC
// RUN: llvm-mneme-record list-kernels %t/libshared.so | FileCheck %s --check-prefix=SHARED
// RUN: llvm-mneme-record list-kernels %t/app | FileCheck %s --check-prefix=STATIC
// A runtime that the application is linked with, rather than preloaded.
// RUN: %{cc} %t/main.cu -o %t/linked -DLOADED='"%t/libloaded.so"' %t/attach.so -L%t -lstatic -lshared -lcudart -ldl -Wl,-rpath,%t
// RUN: %t/linked | FileCheck %s

// PLAIN:      main
// PLAIN-NEXT: fromStatic
// PLAIN-NEXT: fromShared
// PLAIN-NEXT: fromLoaded

// CHECK:      attach
// CHECK-NEXT: index kernel fromSharedKernel for sm_90
// CHECK:      attach
// CHECK-NEXT: index kernel fromStaticKernel for sm_90
// CHECK:      main
// CHECK-NEXT: fromStatic
// CHECK-NEXT: fromShared
// CHECK-NEXT: attach
// CHECK-NEXT: index kernel fromLoadedKernel for sm_90
// CHECK:      fromLoaded

// STATIC:     1 kernel
// STATIC:     symbol: fromStaticKernel
// SHARED:     1 kernel
// SHARED:     symbol: fromSharedKernel

//--- kernel.cu
#include <cstdio>
#define PASTE(A, B) A##B
#define KERNEL(A) PASTE(A, Kernel)
#define TEXT(A) #A
#define STRING(A) TEXT(A)
extern "C" __global__ void KERNEL(NAME)(float *P) { P[0] = 1; }
extern "C" void NAME() {
  KERNEL(NAME)<<<1, 1>>>(nullptr);
  puts(STRING(NAME));
}
//--- main.cu
#include <cstdio>
#include <dlfcn.h>
extern "C" void fromStatic();
extern "C" void fromShared();
int main() {
  puts("main");
  fromStatic();
  fromShared();
  fflush(stdout);
  void *Library = dlopen(LOADED, RTLD_NOW);
  reinterpret_cast<void (*)()>(dlsym(Library, "fromLoaded"))();
}
