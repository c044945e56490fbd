//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The numerics of the mini-app: compressible Euler equations of an ideal gas
/// in two dimensions, second order in space (limited slopes of the primitive
/// variables, Rusanov fluxes). The same functions run in the kernels and in the
/// reference.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_EXAMPLES_MINIAPP_EULER_H
#define MNEME_EXAMPLES_MINIAPP_EULER_H

#include <cmath>
#include <cuda_runtime.h>

namespace miniapp {

constexpr double Gamma = 1.4;
constexpr int Ghosts = 2; ///< Layers of cells around the domain.

/// Density, momentum and total energy, all per volume.
struct Conserved {
  double Rho, MomX, MomY, E;
};

struct Primitive {
  double Rho, U, V, P;
};

/// N x N cells of a box of side 1, ghost cells around them.
struct Grid {
  int N;
  __host__ __device__ int pitch() const { return N + 2 * Ghosts; }
  __host__ __device__ int count() const { return pitch() * pitch(); }
  /// Cells of the domain have X and Y in [0, N).
  __host__ __device__ int index(int X, int Y) const {
    return (Y + Ghosts) * pitch() + X + Ghosts;
  }
  __host__ __device__ double cellSize() const { return 1.0 / N; }
};

__host__ __device__ inline Primitive toPrimitive(const Conserved &Q) {
  double U = Q.MomX / Q.Rho, V = Q.MomY / Q.Rho;
  return {Q.Rho, U, V, (Gamma - 1) * (Q.E - 0.5 * (Q.MomX * U + Q.MomY * V))};
}

__host__ __device__ inline Conserved toConserved(const Primitive &W) {
  return {W.Rho, W.Rho * W.U, W.Rho * W.V,
          W.P / (Gamma - 1) + 0.5 * W.Rho * (W.U * W.U + W.V * W.V)};
}

__host__ __device__ inline double soundSpeed(const Primitive &W) {
  return sqrt(Gamma * W.P / W.Rho);
}

__host__ __device__ inline double waveSpeed(const Primitive &W) {
  return fmax(fabs(W.U), fabs(W.V)) + soundSpeed(W);
}

/// The smaller of two slopes of the same sign, else 0.
__host__ __device__ inline double minmod(double A, double B) {
  if (A * B <= 0)
    return 0;
  return fabs(A) < fabs(B) ? A : B;
}

__host__ __device__ inline Primitive
limitedSlope(const Primitive &L, const Primitive &C, const Primitive &R) {
  return {minmod(C.Rho - L.Rho, R.Rho - C.Rho), minmod(C.U - L.U, R.U - C.U),
          minmod(C.V - L.V, R.V - C.V), minmod(C.P - L.P, R.P - C.P)};
}

/// W + Factor * S.
__host__ __device__ inline Primitive
extrapolate(const Primitive &W, const Primitive &S, double Factor) {
  return {W.Rho + Factor * S.Rho, W.U + Factor * S.U, W.V + Factor * S.V,
          W.P + Factor * S.P};
}

/// Exchanges the two directions.
__host__ __device__ inline Primitive transpose(const Primitive &W) {
  return {W.Rho, W.V, W.U, W.P};
}
__host__ __device__ inline Conserved transpose(const Conserved &Q) {
  return {Q.Rho, Q.MomY, Q.MomX, Q.E};
}

/// The Rusanov flux in x from \p L to \p R.
__host__ __device__ inline Conserved rusanov(const Primitive &L,
                                             const Primitive &R) {
  Conserved A = toConserved(L), B = toConserved(R);
  double S = fmax(fabs(L.U) + soundSpeed(L), fabs(R.U) + soundSpeed(R));
  return {0.5 * (A.MomX + B.MomX - S * (B.Rho - A.Rho)),
          0.5 *
              (A.MomX * L.U + L.P + B.MomX * R.U + R.P - S * (B.MomX - A.MomX)),
          0.5 * (A.MomY * L.U + B.MomY * R.U - S * (B.MomY - A.MomY)),
          0.5 * ((A.E + L.P) * L.U + (B.E + R.P) * R.U - S * (B.E - A.E))};
}

/// Q -= Factor * (R - L).
__host__ __device__ inline void addFluxes(Conserved &Q, const Conserved &L,
                                          const Conserved &R, double Factor) {
  Q.Rho -= Factor * (R.Rho - L.Rho);
  Q.MomX -= Factor * (R.MomX - L.MomX);
  Q.MomY -= Factor * (R.MomY - L.MomY);
  Q.E -= Factor * (R.E - L.E);
}

/// A blast: hot gas in a circle, in a lighter gas above.
__host__ __device__ inline Primitive initialState(double X, double Y) {
  double DX = X - 0.4, DY = Y - 0.45;
  bool Inside = DX * DX + DY * DY < 0.15 * 0.15;
  return {Y < 0.7 ? 1.0 : 0.5, 0.0, 0.0, Inside ? 10.0 : 1.0};
}

} // namespace miniapp

#endif // MNEME_EXAMPLES_MINIAPP_EULER_H
