//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel of several functions that stay apart: what passes run on, and
// faults are planted in. Each function's result ends up in memory.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cuda_runtime.h>

#define APART extern "C" __device__ __attribute__((noinline))

struct Particle {
  double X, V;
  unsigned State;
};

/// Of a spring that gets stiffer, by its series.
APART double force(double X, const double *Stiffness, int Terms) {
  double Sum = 0, Power = X;
  for (int I = 0; I < Terms; ++I) {
    Sum = Sum - Stiffness[I] * Power;
    Power *= X * X;
  }
  return Sum;
}

/// Reflected by walls at -0.75 and 0.75.
APART double wrap(double X) {
  if (X > 0.75)
    return 1.5 - X;
  if (X < -0.75)
    return -1.5 - X;
  return X;
}

APART unsigned mix(unsigned State) {
  for (int I = 0; I < 3; ++I) {
    State ^= State << 13;
    State ^= State >> 17;
    State ^= State << 5;
  }
  return State;
}

APART double kick(unsigned State, double Size) {
  return (State % 1024 / 1024.0 - 0.5) * Size;
}

extern "C" __global__ void advance(Particle *P, const double *Stiffness,
                                   double *Energy, int N, int Steps, double H) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  Particle Q = P[I];
  for (int S = 0; S < Steps; ++S) {
    Q.V += 0.5 * H * force(Q.X, Stiffness, 4);
    Q.X = wrap(Q.X + H * Q.V);
    Q.V += 0.5 * H * force(Q.X, Stiffness, 4);
    Q.State = mix(Q.State);
    Q.V += kick(Q.State, H);
  }
  P[I] = Q;
  Energy[I] = 0.5 * Q.V * Q.V - 0.5 * Q.X * force(Q.X, Stiffness, 1);
}

int main() {
  constexpr int N = 64;
  Particle *P;
  double *Stiffness, *Energy;
  cudaMallocManaged(&P, N * sizeof(Particle));
  cudaMallocManaged(&Stiffness, 4 * sizeof(double));
  cudaMallocManaged(&Energy, N * sizeof(double));
  for (int I = 0; I < N; ++I)
    P[I] = {I / 32.0 - 1, 0.25, 2463534242u + I};
  for (int I = 0; I < 4; ++I)
    Stiffness[I] = 1.0 / (I + 1);
  advance<<<2, 32>>>(P, Stiffness, Energy, N, 8, 0.01);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return 1;
  std::printf("energy of the first: %.6f\n", Energy[0]);
}
