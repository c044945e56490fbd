// A static library of device functions: only the device linker takes its members. The
// host's linker brings their payloads, unless a member has anything for the host that
// would change the program.
//
// REQUIRES: cuda-toolkit, device-host
// DEFINE: %{linker} = bfd
// DEFINE: %{cc} = %cuda_cc -O2 -fgpu-rdc -I%S/../Runtime/Inputs -Wno-unused-command-line-argument
// DEFINE: %{link} = %{cc} --offload-link -fuse-ld=%{linker} %t/main.o -o %t/app -L%t -ldevice
// DEFINE: %{record} = rm -rf %t/rec && llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// RUN: rm -rf %t && split-file %s %t
// RUN: %{cc} -c %t/main.cu -o %t/main.o
// RUN: %{cc} -c %t/functions.cu -o %t/functions.o
// RUN: %{cc} -c %t/more.cu -o %t/more.o
// RUN: %{cc} -c %t/unneeded.cu -o %t/unneeded.o
// RUN: llvm-ar rcs %t/libdevice.a %t/unneeded.o %t/functions.o %t/more.o
// RUN: %{link} && %{record}
// RUN: llvm-nm %t/app | FileCheck %s --check-prefix=NM --implicit-check-not=unneeded
// REDEFINE: %{linker} = lld
// RUN: %{link} -s && %{record}

// In a shared library; not every linker looks there.
// REDEFINE: %{linker} = bfd
// RUN: %{cc} -fPIC -c %t/main.cu -DLIBRARY -o %t/main.o && %{cc} -fPIC -c %t/functions.cu -o %t/functions.o && %{cc} -fPIC -c %t/more.cu -o %t/more.o
// RUN: rm %t/libdevice.a && llvm-ar rcs %t/libdevice.a %t/functions.o %t/more.o
// RUN: %{cc} --offload-link -shared -fuse-ld=%{linker} -Wl,-z,defs %t/main.o -o %t/libshared.so -L%t -ldevice
// RUN: llvm-nm -D %t/libshared.so | FileCheck %s --check-prefix=DYNAMIC --implicit-check-not=__mneme_device_
// RUN: %cuda_cc -fuse-ld=lld -x c++ %t/caller.cpp -o %t/app -L%t -lshared -Wl,-rpath,%t
// RUN: %{record}
// DYNAMIC: run

// CHECK: 122
// CHECK: 1 launch seen, 1 recorded, 0 skipped
// NM: __mneme_device_{{.*}}helper

// With a host function that the program does not call, the member stays out.
// RUN: %{cc} -DHOST -c %t/functions.cu -o %t/functions.o
// RUN: rm %t/libdevice.a && llvm-ar rcs %t/libdevice.a %t/functions.o %t/more.o
// RUN: %{cc} -c %t/main.cu -o %t/main.o
// RUN: %{link}
// RUN: llvm-nm %t/app | FileCheck %s --check-prefix=HOST --implicit-check-not=hostOnly --implicit-check-not=elsewhere
// HOST: {{ main$}}
// RUN: llvm-mneme-record list-kernels --static-hash %t/app | FileCheck %s --check-prefix=MISSING
// MISSING: static: none, function '_Z6helperf' belongs to another translation unit

//--- main.cu
#include "check.h"
__device__ float helper(float X);
__global__ void kernel(float *P) { *P = helper(*P); }
#ifdef LIBRARY
extern "C" int run() {
#else
int main() {
#endif
  float *D, H = 1;
  OK(cudaMalloc(&D, 4));
  OK(cudaMemcpy(D, &H, 4, cudaMemcpyHostToDevice));
  kernel<<<1, 1>>>(D);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  printf("%g\n", H);
  return 0;
}
//--- functions.cu
extern __device__ int Table[4];
__device__ float deeper(float X);
__device__ float helper(float X) { return deeper(X) + Table[1]; }
#ifdef HOST
int elsewhere();
int hostOnly() { return elsewhere(); }
#endif
//--- more.cu
inline int unusedByAll() { return 1; }
__device__ int Table[4] = {1, 20, 3, 4};
__device__ float deeper(float X) { return X + 101; }
//--- caller.cpp
extern "C" int run();
int main() { return run(); }
//--- unneeded.cu
__device__ float unneeded(float X) { return X; }
