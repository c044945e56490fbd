//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A barrier before a branch whose condition, which differs within a warp, is
// known on one of the edges to the barrier. simplifycfg copies a barrier that
// need not be convergent to that edge.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cuda_runtime.h>

extern "C" __global__ void halves(const int *In, int *Sum, int *Copy) {
  __shared__ int Tile[64];
  int T = threadIdx.x;
  Tile[T] = In[T];
  if (T % 2)
    Copy[T] = In[T];
  __syncthreads();
  if (T % 2)
    Sum[T] = Tile[T - 1] + Tile[T];
}

/// Undefined: two barriers for one warp.
extern "C" __global__ void twice(const int *In, int *Sum) {
  __shared__ int Tile[64];
  int T = threadIdx.x;
  Tile[T] = In[T];
  if (T % 2) {
    __syncthreads();
    Sum[T] = Tile[T - 1];
  } else {
    __syncthreads();
    Sum[T] = 1;
  }
}

/// Undefined: the mask names lanes that never shuffle.
extern "C" __global__ void apart(const int *In, int *Sum) {
  int T = threadIdx.x;
  if (T % 2)
    Sum[T] = __shfl_xor_sync(~0u, In[T], 2);
  __syncthreads();
}

int main() {
  int *In, *Sum, *Copy;
  for (int **P : {&In, &Sum, &Copy})
    cudaMallocManaged(P, 64 * sizeof(int));
  for (int I = 0; I < 64; ++I) {
    In[I] = I * I % 97 + 1;
    Sum[I] = Copy[I] = 0;
  }
  halves<<<1, 64>>>(In, Sum, Copy);
  twice<<<1, 64>>>(In, Sum);
  apart<<<1, 64>>>(In, Sum);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 1;
  std::printf("%d %d\n", Sum[3], Copy[5]);
}
