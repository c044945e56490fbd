//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matrix product C = alpha * A * B + beta * C with tiles in shared memory;
/// sizes need not be multiples of the tile.
///
///   matmul [rows of A] [columns of B] [columns of A]
///
//===----------------------------------------------------------------------===//

#include "Example.h"
#include "mneme/annotate.h"

constexpr int Tile = 16;

__global__ void matmul(const float *__restrict__ A, const float *__restrict__ B,
                       float *__restrict__ C, int M, int N, int K, float Alpha,
                       float Beta) {
  __shared__ float TileA[Tile][Tile], TileB[Tile][Tile];
  int Row = blockIdx.y * Tile + threadIdx.y;
  int Col = blockIdx.x * Tile + threadIdx.x;
  float Sum = 0;
  for (int K0 = 0; K0 < K; K0 += Tile) {
    int ColA = K0 + threadIdx.x, RowB = K0 + threadIdx.y;
    TileA[threadIdx.y][threadIdx.x] =
        Row < M && ColA < K ? A[Row * K + ColA] : 0;
    TileB[threadIdx.y][threadIdx.x] =
        RowB < K && Col < N ? B[RowB * N + Col] : 0;
    __syncthreads();
#pragma unroll
    for (int I = 0; I < Tile; ++I)
      Sum += TileA[threadIdx.y][I] * TileB[I][threadIdx.x];
    __syncthreads();
  }
  if (Row < M && Col < N)
    C[Row * N + Col] = Alpha * Sum + Beta * C[Row * N + Col];
}

int main(int Argc, char **Argv) {
  const int M = example::getSize(Argc, Argv, 1, 150);
  const int N = example::getSize(Argc, Argv, 2, 200);
  const int K = example::getSize(Argc, Argv, 3, 170);
  const float Alpha = 0.5f, Beta = 2.0f;
  std::vector<float> A = example::randomVector<float>(size_t(M) * K, -1, 1, 1);
  std::vector<float> B = example::randomVector<float>(size_t(K) * N, -1, 1, 2);
  std::vector<float> C = example::randomVector<float>(size_t(M) * N, -1, 1, 3);

  example::DeviceBuffer<float> DevA(A), DevB(B), DevC(C);
  // Devices may fuse multiplications and additions, or not; sums near zero then
  // differ in many digits.
  mneme::annotate(DevC.get(), C.size(), mneme::relative(1e-5, MNEME_LINF),
                  "product");
  dim3 Grid((N + Tile - 1) / Tile, (M + Tile - 1) / Tile), Block(Tile, Tile);
  matmul<<<Grid, Block>>>(DevA.get(), DevB.get(), DevC.get(), M, N, K, Alpha,
                          Beta);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());

  std::vector<double> Want(C.size());
  for (int I = 0; I < M; ++I)
    for (int J = 0; J < N; ++J) {
      double Sum = 0;
      for (int L = 0; L < K; ++L)
        Sum += double(A[I * K + L]) * B[L * N + J];
      Want[I * N + J] = Alpha * Sum + Beta * C[I * N + J];
    }
  std::vector<float> Got = DevC.download();
  double Error =
      example::maxError(std::vector<double>(Got.begin(), Got.end()), Want);
  return example::finish("matmul", Error < 1e-5);
}
