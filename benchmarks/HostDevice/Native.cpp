//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The baseline of the host device, compiled with -O3 -march=native. No
/// fast-math, no pragmas, no threads.
///
//===----------------------------------------------------------------------===//

#include "Native.h"
#include <cmath>

void native::saxpy(float A, const float *X, float *Y, int N) {
  for (int I = 0; I < N; ++I)
    Y[I] = A * X[I] + Y[I];
}

void native::stencil(const float *In, float *Out, int Width, int Height) {
  for (int Y = 1; Y < Height - 1; ++Y)
    for (int X = 1; X < Width - 1; ++X) {
      int I = Y * Width + X;
      Out[I] = 0.5f * In[I] +
               0.125f * (In[I - 1] + In[I + 1] + In[I - Width] + In[I + Width]);
    }
}

void native::nbody(const float *Body, float *Acceleration, int N) {
  for (int I = 0; I < N; ++I) {
    const float *Self = Body + 4 * I;
    float AX = 0, AY = 0, AZ = 0;
    for (int J = 0; J < N; ++J) {
      const float *Other = Body + 4 * J;
      float DX = Other[0] - Self[0], DY = Other[1] - Self[1],
            DZ = Other[2] - Self[2];
      float D2 = DX * DX + DY * DY + DZ * DZ + 1e-3f;
      float Inv = 1.0f / std::sqrt(D2);
      float S = Other[3] * Inv * Inv * Inv;
      AX += S * DX;
      AY += S * DY;
      AZ += S * DZ;
    }
    float *A = Acceleration + 4 * I;
    A[0] = AX;
    A[1] = AY;
    A[2] = AZ;
    A[3] = 0;
  }
}

void native::math(const float *In, float *Out, int N) {
  for (int I = 0; I < N; ++I) {
    float X = In[I];
    double D = X;
    float A = std::exp(-X) + std::sin(X * 10) + std::pow(X + 1, 1.7f);
    double B = std::exp(-D) + std::sin(D * 10) + std::pow(D + 1, 1.7);
    Out[I] = A + static_cast<float>(B);
  }
}

// A loop order that vectorizes: over ten times as fast as the textbook order.
void native::matmul(const float *A, const float *B, float *C, int N) {
  for (int I = 0; I < N; ++I) {
    for (int J = 0; J < N; ++J)
      C[I * N + J] = 0;
    for (int K = 0; K < N; ++K)
      for (int J = 0; J < N; ++J)
        C[I * N + J] += A[I * N + K] * B[K * N + J];
  }
}

void native::transpose(const float *In, float *Out, int Width, int Height) {
  const int Tile = 16;
  for (int Y0 = 0; Y0 < Height; Y0 += Tile)
    for (int X0 = 0; X0 < Width; X0 += Tile)
      for (int Y = Y0; Y < Y0 + Tile && Y < Height; ++Y)
        for (int X = X0; X < X0 + Tile && X < Width; ++X)
          Out[X * Height + Y] = In[Y * Width + X];
}

void native::reduce(const float *In, float *Out, int N) {
  for (int Block = 0; Block < N / 256; ++Block) {
    float Part[256];
    for (int I = 0; I < 256; ++I)
      Part[I] = In[Block * 256 + I];
    for (int Half = 128; Half > 0; Half /= 2)
      for (int I = 0; I < Half; ++I)
        Part[I] += Part[I + Half];
    Out[Block] = Part[0];
  }
}
