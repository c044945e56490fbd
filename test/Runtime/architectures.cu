// Of several architectures in a program the newest one runs, whatever their order.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O1 --offload-arch=sm_80 %s -o %t
// RUN: rm -rf %t.rec && llvm-mneme-record --device=host -o %t.rec -- %t | FileCheck %s
// RUN: llvm-mneme-record list-kernels %t | FileCheck %s --check-prefix=LIST
// LIST-DAG: sm_80
// LIST-DAG: sm_90
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// SHOW: target: sm_90

#include "Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Arch;
__global__ void ask() {
#ifdef __CUDA_ARCH__
  Arch = __CUDA_ARCH__;
#endif
}

int main() {
  int A = 0, Major = 0;
  ask<<<1, 1>>>();
  OK(cudaMemcpyFromSymbol(&A, Arch, sizeof(A)));
  OK(cudaDeviceGetAttribute(&Major, cudaDevAttrComputeCapabilityMajor, 0));
  // CHECK: kernel 900, device 9
  printf("kernel %d, device %d\n", A, Major);
}
