// Damaged tables of kernels and of runtime functions are an error that names the file. Without it, the program would run on the
// CUDA runtime that it is linked with, and no launch would be seen.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_static -O2 -no-pie %s -o %t/app %cuda_static_libs
// RUN: %python %S/Inputs/damage-tables.py %t/app %t llvm-mneme-record --any-executable --check-code=0 --device=host -o %t/rec -- | FileCheck %s
// CHECK: {{[0-9]+}} programs
//
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/renamed 2>&1 | FileCheck %s --check-prefix=ERR
// ERR: mneme: error: '{{.*}}renamed' is damaged: its table of kernels or of runtime functions is invalid, so none of its launches are seen: build it again

#include <cstdio>
#include <cuda_runtime.h>

__device__ int Add = 3;
__global__ void store(int *P) { P[threadIdx.x] = threadIdx.x + Add; }

int main() {
  int *P, H[64] = {}, Sum = 0;
  cudaMalloc(&P, sizeof(H));
  store<<<1, 64>>>(P);
  cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost);
  for (int V : H)
    Sum += V;
  printf("sum %d\n", Sum);
}
