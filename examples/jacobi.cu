//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Jacobi iteration for the Poisson equation on the unit square, updating the
/// solution in place: what a launch reads is what the launch before it wrote.
///
///   jacobi [interior points a side] [iterations]
///
//===----------------------------------------------------------------------===//

#include "Example.h"

/// R = F + laplacian(U), with a border of zeros around U.
__global__ void residual(const double *__restrict__ U,
                         const double *__restrict__ F, double *__restrict__ R,
                         int N) {
  int X = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int Y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (X > N || Y > N)
    return;
  int Pitch = N + 2;
  int I = Y * Pitch + X;
  double InvH2 = double(N + 1) * (N + 1);
  R[I] = F[I] + InvH2 * (U[I - 1] + U[I + 1] + U[I - Pitch] + U[I + Pitch] -
                         4.0 * U[I]);
}

/// U += omega * h^2 / 4 * R, in place.
__global__ void relax(double *U, const double *R, int N, double Omega) {
  int X = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int Y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (X > N || Y > N)
    return;
  int I = Y * (N + 2) + X;
  U[I] += Omega * 0.25 / (double(N + 1) * (N + 1)) * R[I];
}

static double sumOfSquares(const std::vector<double> &V) {
  double Sum = 0;
  for (double X : V)
    Sum += X * X;
  return Sum;
}

int main(int Argc, char **Argv) {
  const int N = example::getSize(Argc, Argv, 1, 126);
  const int Iterations = example::getSize(Argc, Argv, 2, 40);
  const double Omega = 0.9;
  const int Pitch = N + 2;
  const size_t Count = size_t(Pitch) * Pitch;

  // The solution is sin(pi x) sin(3 pi y).
  const double Pi = 3.14159265358979323846;
  std::vector<double> F(Count, 0.0), U(Count, 0.0), R(Count, 0.0);
  for (int Y = 1; Y <= N; ++Y)
    for (int X = 1; X <= N; ++X)
      F[Y * Pitch + X] = 10 * Pi * Pi * std::sin(Pi * X / (N + 1)) *
                         std::sin(3 * Pi * Y / (N + 1));

  example::DeviceBuffer<double> DevF(F), DevU(U), DevR(R);
  dim3 Block(32, 8);
  dim3 Grid((N + Block.x - 1) / Block.x, (N + Block.y - 1) / Block.y);
  for (int It = 0; It < Iterations; ++It) {
    residual<<<Grid, Block>>>(DevU.get(), DevF.get(), DevR.get(), N);
    CHECK_LAUNCH();
    relax<<<Grid, Block>>>(DevU.get(), DevR.get(), N, Omega);
    CHECK_LAUNCH();
  }
  CHECK(cudaDeviceSynchronize());

  double InvH2 = double(N + 1) * (N + 1);
  for (int It = 0; It < Iterations; ++It) {
    for (int Y = 1; Y <= N; ++Y)
      for (int X = 1; X <= N; ++X) {
        int I = Y * Pitch + X;
        R[I] = F[I] + InvH2 * (U[I - 1] + U[I + 1] + U[I - Pitch] +
                               U[I + Pitch] - 4.0 * U[I]);
      }
    for (int Y = 1; Y <= N; ++Y)
      for (int X = 1; X <= N; ++X)
        U[Y * Pitch + X] += Omega * 0.25 / InvH2 * R[Y * Pitch + X];
  }

  double Error = example::maxError(DevU.download(), U);
  double Norm = std::sqrt(sumOfSquares(DevR.download()) / sumOfSquares(F));
  std::printf("relative residual %.6f after %d iterations\n", Norm, Iterations);
  return example::finish("jacobi", Error < 1e-12 && Norm < 1.0);
}
