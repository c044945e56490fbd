//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tracers: seeded on the device, moved with the gas, counted per cell.
///
//===----------------------------------------------------------------------===//

#include "Solver.h"

using namespace miniapp;

static constexpr int Threads = 128;

__device__ static double2 velocityAt(const Grid &G, const Primitive *Prim,
                                     double X, double Y) {
  // Bilinear between the four cell centres around the point.
  double GX = X * G.N - 0.5, GY = Y * G.N - 0.5;
  int IX = static_cast<int>(floor(GX)), IY = static_cast<int>(floor(GY));
  double FX = GX - IX, FY = GY - IY;
  const Primitive *Row0 = &Prim[G.index(IX, IY)];
  const Primitive *Row1 = &Prim[G.index(IX, IY + 1)];
  return make_double2((1 - FY) * ((1 - FX) * Row0[0].U + FX * Row0[1].U) +
                          FY * ((1 - FX) * Row1[0].U + FX * Row1[1].U),
                      (1 - FY) * ((1 - FX) * Row0[0].V + FX * Row0[1].V) +
                          FY * ((1 - FX) * Row1[0].V + FX * Row1[1].V));
}

__device__ static double clampToBox(double X) {
  return fmin(fmax(X, 0.0), 1.0 - 0x1p-53);
}

__global__ void seedTracers(Particle *Particles, int Count) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= Count)
    return;
  example::Random R(I);
  Particles[I].X = R.uniform();
  Particles[I].Y = R.uniform();
}

/// Midpoint rule, in place.
__global__ void moveTracers(Grid G, const Primitive *__restrict__ Prim,
                            const double *__restrict__ DeltaT,
                            Particle *Particles, int Count) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= Count)
    return;
  Particle P = Particles[I];
  double2 V = velocityAt(G, Prim, P.X, P.Y);
  double X = clampToBox(P.X + 0.5 * *DeltaT * V.x);
  double Y = clampToBox(P.Y + 0.5 * *DeltaT * V.y);
  V = velocityAt(G, Prim, X, Y);
  Particles[I].X = clampToBox(P.X + *DeltaT * V.x);
  Particles[I].Y = clampToBox(P.Y + *DeltaT * V.y);
}

/// Counts: N x N cells, zero before.
__global__ void countTracers(Grid G, const Particle *__restrict__ Particles,
                             int Count, unsigned *Counts) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= Count)
    return;
  int X = static_cast<int>(Particles[I].X * G.N);
  int Y = static_cast<int>(Particles[I].Y * G.N);
  atomicAdd(&Counts[Y * G.N + X], 1u);
}

Tracers::Tracers(int Count, const Grid &G)
    : G(G), Particles(Count), Counts(G.N * G.N) {
  seedTracers<<<(Count + Threads - 1) / Threads, Threads>>>(Particles.get(),
                                                            Count);
  CHECK_LAUNCH();
}

void Tracers::move(const Gas &Fluid) {
  int Count = static_cast<int>(Particles.size());
  moveTracers<<<(Count + Threads - 1) / Threads, Threads>>>(
      G, Fluid.primitives(), Fluid.deltaT(), Particles.get(), Count);
  CHECK_LAUNCH();
}

std::vector<unsigned> Tracers::countPerCell() {
  int Count = static_cast<int>(Particles.size());
  CHECK(cudaMemset(Counts.get(), 0, Counts.size() * sizeof(unsigned)));
  countTracers<<<(Count + Threads - 1) / Threads, Threads>>>(
      G, Particles.get(), Count, Counts.get());
  CHECK_LAUNCH();
  return Counts.download();
}
