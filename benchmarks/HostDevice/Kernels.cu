//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels of mneme-bench-host, in the usual form for a GPU. Native.cpp has
/// the same work in plain C++.
///
//===----------------------------------------------------------------------===//

extern "C" __global__ void saxpy(float A, const float *X, float *Y, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Y[I] = A * X[I] + Y[I];
}

/// A five-point stencil; the borders are not changed.
extern "C" __global__ void stencil(const float *In, float *Out, int Width,
                                   int Height) {
  int X = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int Y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (X >= Width - 1 || Y >= Height - 1)
    return;
  int I = Y * Width + X;
  Out[I] = 0.5f * In[I] +
           0.125f * (In[I - 1] + In[I + 1] + In[I - Width] + In[I + Width]);
}

/// Computes accelerations from positions and masses, over all pairs.
extern "C" __global__ void nbody(const float4 *Body, float4 *Acceleration,
                                 int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  float4 Self = Body[I];
  float AX = 0, AY = 0, AZ = 0;
  for (int J = 0; J < N; ++J) {
    float4 Other = Body[J];
    float DX = Other.x - Self.x, DY = Other.y - Self.y, DZ = Other.z - Self.z;
    float D2 = DX * DX + DY * DY + DZ * DZ + 1e-3f;
    float Inv = 1.0f / sqrtf(D2);
    float S = Other.w * Inv * Inv * Inv;
    AX += S * DX;
    AY += S * DY;
    AZ += S * DZ;
  }
  Acceleration[I] = make_float4(AX, AY, AZ, 0);
}

extern "C" __global__ void math(const float *In, float *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  float X = In[I];
  double D = X;
  float A = expf(-X) + sinf(X * 10) + powf(X + 1, 1.7f);
  double B = exp(-D) + sin(D * 10) + pow(D + 1, 1.7);
  Out[I] = A + static_cast<float>(B);
}

/// C = A * B for N x N; N is a multiple of the tile.
template <int Tile>
__device__ static void multiply(const float *A, const float *B, float *C,
                                int N) {
  __shared__ float TileA[Tile][Tile], TileB[Tile][Tile];
  int Row = blockIdx.y * Tile + threadIdx.y;
  int Col = blockIdx.x * Tile + threadIdx.x;
  float Sum = 0;
  for (int K = 0; K < N; K += Tile) {
    TileA[threadIdx.y][threadIdx.x] = A[Row * N + K + threadIdx.x];
    TileB[threadIdx.y][threadIdx.x] = B[(K + threadIdx.y) * N + Col];
    __syncthreads();
    for (int I = 0; I < Tile; ++I)
      Sum += TileA[threadIdx.y][I] * TileB[I][threadIdx.x];
    __syncthreads();
  }
  C[Row * N + Col] = Sum;
}

extern "C" __global__ void matmul16(const float *A, const float *B, float *C,
                                    int N) {
  multiply<16>(A, B, C, N);
}

extern "C" __global__ void matmul32(const float *A, const float *B, float *C,
                                    int N) {
  multiply<32>(A, B, C, N);
}

extern "C" __global__ void transpose(const float *In, float *Out, int Width,
                                     int Height) {
  __shared__ float Tile[16][17];
  int X = blockIdx.x * 16 + threadIdx.x, Y = blockIdx.y * 16 + threadIdx.y;
  if (X < Width && Y < Height)
    Tile[threadIdx.y][threadIdx.x] = In[Y * Width + X];
  __syncthreads();
  X = blockIdx.y * 16 + threadIdx.x;
  Y = blockIdx.x * 16 + threadIdx.y;
  if (X < Height && Y < Width)
    Out[Y * Height + X] = Tile[threadIdx.x][threadIdx.y];
}

/// Sums 256 numbers in each block, as a tree in shared memory.
extern "C" __global__ void reduce(const float *In, float *Out) {
  __shared__ float Part[256];
  unsigned T = threadIdx.x;
  Part[T] = In[blockIdx.x * 256 + T];
  __syncthreads();
  for (unsigned Half = 128; Half > 0; Half /= 2) {
    if (T < Half)
      Part[T] += Part[T + Half];
    __syncthreads();
  }
  if (T == 0)
    Out[blockIdx.x] = Part[0];
}
