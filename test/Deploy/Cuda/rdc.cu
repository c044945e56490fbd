// With -fgpu-rdc, kernels are found by the hash of all units of the link: with
// another unit, the code of a kernel may be another.
//
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{ir} = %cuda_cc_plain -O2 -fgpu-rdc --cuda-device-only -emit-llvm -c %s
// RUN: %{ir} -o %t/main.bc && %{ir} -DOTHER=3 -o %t/other.bc
// RUN: llvm-link %t/main.bc %t/other.bc -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 -fgpu-rdc -c %s -o %t/main.o
// RUN: %cuda_cc -O2 -fgpu-rdc -DOTHER=3 -c %s -o %t/other.o
// RUN: %cuda_cc -O2 -fgpu-rdc -DOTHER=4 -c %s -o %t/changed.o
// RUN: %cuda_cc -O2 --offload-link %t/main.o %t/other.o -o %t/app
// RUN: %cuda_cc -O2 --offload-link %t/main.o %t/changed.o -o %t/changed
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z5callsPi variant=%t/tuned.cubin entry=tuned
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=-
// RUN: %{run} %t/app > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// CHECK: 100
// CHECK: 1 served by tuned kernels, 0 fell back
// RUN: %{run} %t/changed > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=CHANGED
// CHANGED: 3
// CHANGED: 0 served by tuned kernels, 0 fell back, 0 too early, 1 of kernels without a tuned one

#ifdef TUNED
extern "C" __global__ void tuned(int *P) { *P = 100; }
#elif defined(OTHER)
__device__ int other() { return OTHER; }
#else
#include <cstdio>
__device__ int other();
__global__ void calls(int *P) { *P = other(); }
int main() {
  int *D, H = 0;
  cudaMalloc(&D, 4);
  calls<<<1, 1>>>(D);
  cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", H);
}
#endif
