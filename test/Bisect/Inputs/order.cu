//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that are right in any order of threads and blocks, thanks to one
// barrier or atomic each. Without it, the host device's own order still gives
// the right result.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cuda_runtime.h>

/// Each thread adds its number and that of the thread before it.
extern "C" __global__ void neighbors(const int *In, int *Out) {
  __shared__ int Tile[64];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Tile[threadIdx.x] = In[I];
  __syncthreads();
  Out[I] = Tile[threadIdx.x] + (threadIdx.x ? Tile[threadIdx.x - 1] : 0);
}

/// The block that comes last adds what the others have left.
extern "C" __global__ void total(const int *In, int *Partial, unsigned *Ticket,
                                 int *Out, int N) {
  if (threadIdx.x != 0)
    return;
  int Sum = 0;
  for (int I = blockIdx.x; I < N; I += gridDim.x)
    Sum += In[I];
  Partial[blockIdx.x] = Sum;
  __threadfence();
  if (atomicAdd(Ticket, 1) != gridDim.x - 1)
    return;
  Sum = 0;
  for (int B = 0; B < gridDim.x; ++B)
    Sum += Partial[B];
  *Out = Sum;
}

int main() {
  constexpr int N = 512;
  int *In, *Out, *Partial, *Total;
  unsigned *Ticket;
  cudaMallocManaged(&In, N * sizeof(int));
  cudaMallocManaged(&Out, N * sizeof(int));
  cudaMallocManaged(&Partial, 8 * sizeof(int));
  cudaMallocManaged(&Ticket, sizeof(unsigned));
  cudaMallocManaged(&Total, sizeof(int));
  for (int I = 0; I < N; ++I)
    In[I] = I * I % 97 + 1;
  *Ticket = 0;
  neighbors<<<N / 64, 64>>>(In, Out);
  total<<<8, 32>>>(In, Partial, Ticket, Total, N);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 1;
  std::printf("total: %d\n", *Total);
}
