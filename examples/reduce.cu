//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sum, maximum and minimum of a vector: shuffles within a warp, shared memory
/// across the warps of a block, a second launch across blocks.
///
///   reduce [elements]
///
//===----------------------------------------------------------------------===//

#include "Example.h"
#include <cfloat>

struct Sum {
  static __host__ __device__ double identity() { return 0; }
  static __host__ __device__ double apply(double A, double B) { return A + B; }
};

struct Max {
  static __host__ __device__ double identity() { return -DBL_MAX; }
  static __host__ __device__ double apply(double A, double B) {
    return A > B ? A : B;
  }
};

struct Min {
  static __host__ __device__ double identity() { return DBL_MAX; }
  static __host__ __device__ double apply(double A, double B) {
    return A < B ? A : B;
  }
};

template <typename Op> __device__ double reduceWarp(double V) {
  for (int Delta = 16; Delta > 0; Delta /= 2)
    V = Op::apply(V, __shfl_down_sync(0xffffffffu, V, Delta));
  return V;
}

/// One result a block. blockDim.x is a multiple of 32, at most 1024.
template <typename Op>
__global__ void reduceBlocks(const double *In, double *Out, int N) {
  __shared__ double PerWarp[32];
  double V = Op::identity();
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x)
    V = Op::apply(V, In[I]);

  V = reduceWarp<Op>(V);
  int Lane = threadIdx.x % 32, Warp = threadIdx.x / 32;
  if (Lane == 0)
    PerWarp[Warp] = V;
  __syncthreads();

  if (Warp == 0) {
    V = Lane < blockDim.x / 32 ? PerWarp[Lane] : Op::identity();
    V = reduceWarp<Op>(V);
    if (Lane == 0)
      Out[blockIdx.x] = V;
  }
}

template <typename Op>
static double reduce(const example::DeviceBuffer<double> &In) {
  const int Blocks = 64;
  example::DeviceBuffer<double> Partial(Blocks), Result(1);
  reduceBlocks<Op>
      <<<Blocks, 256>>>(In.get(), Partial.get(), static_cast<int>(In.size()));
  CHECK_LAUNCH();
  reduceBlocks<Op><<<1, 64>>>(Partial.get(), Result.get(), Blocks);
  CHECK_LAUNCH();
  return Result.download().front();
}

template <typename Op>
static double reduceOnHost(const std::vector<double> &In) {
  double V = Op::identity();
  for (double X : In)
    V = Op::apply(V, X);
  return V;
}

int main(int Argc, char **Argv) {
  const int N = example::getSize(Argc, Argv, 1, 100003);
  std::vector<double> Data = example::randomVector<double>(N, -1, 2, 1);
  example::DeviceBuffer<double> Dev(Data);

  double S = reduce<Sum>(Dev), Largest = reduce<Max>(Dev),
         Smallest = reduce<Min>(Dev);
  std::printf("sum %.6f, max %.9f, min %.9f\n", S, Largest, Smallest);
  bool Ok = std::fabs(S - reduceOnHost<Sum>(Data)) < 1e-9 * N &&
            Largest == reduceOnHost<Max>(Data) &&
            Smallest == reduceOnHost<Min>(Data);
  return example::finish("reduce", Ok);
}
