//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose pointers are the same.
//
//===----------------------------------------------------------------------===//

#include <cuda_runtime.h>

extern "C" __global__ void addTwice(int *A, int *B) {
  int I = threadIdx.x;
  A[I] += 1;
  B[I] += 2;
  A[I] += 4;
}

int main() {
  int *A;
  cudaMallocManaged(&A, 32 * sizeof(int));
  addTwice<<<1, 32>>>(A, A);
  return cudaDeviceSynchronize() != cudaSuccess;
}
