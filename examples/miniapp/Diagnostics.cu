//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conserved totals and the steepest density gradient, by reductions that use
/// shuffles and atomics.
///
//===----------------------------------------------------------------------===//

#include "Solver.h"
#include "mneme/annotate.h"

using namespace miniapp;

/// Adds mass and energy of the domain to *Sums. Blocks add in any order, so the
/// last digits vary between runs.
__global__ void sumTotals(Grid G, const Conserved *__restrict__ State,
                          Totals *Sums) {
  double Mass = 0, Energy = 0;
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < G.N * G.N;
       I += gridDim.x * blockDim.x) {
    const Conserved &Q = State[G.index(I % G.N, I / G.N)];
    Mass += Q.Rho;
    Energy += Q.E;
  }
  for (int Mask = 16; Mask > 0; Mask /= 2) {
    Mass += __shfl_xor_sync(0xffffffffu, Mass, Mask);
    Energy += __shfl_xor_sync(0xffffffffu, Energy, Mask);
  }
  if (threadIdx.x % 32 == 0) {
    double Volume = G.cellSize() * G.cellSize();
    atomicAdd(&Sums->Mass, Mass * Volume);
    atomicAdd(&Sums->Energy, Energy * Volume);
  }
}

/// Bits of non-negative numbers compare as the numbers do.
__global__ void steepestDensity(Grid G, const Primitive *__restrict__ Prim,
                                unsigned long long *Steepest) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  double Slope = 0;
  if (X < G.N && Y < G.N) {
    int I = G.index(X, Y);
    double DX = Prim[I + 1].Rho - Prim[I - 1].Rho;
    double DY = Prim[I + G.pitch()].Rho - Prim[I - G.pitch()].Rho;
    Slope = sqrt(DX * DX + DY * DY) / (2 * G.cellSize());
  }
  // Most threads need no atomic: ask the warp who has something to say.
  double Largest = Slope;
  for (int Mask = 16; Mask > 0; Mask /= 2)
    Largest = fmax(Largest, __shfl_xor_sync(0xffffffffu, Largest, Mask));
  unsigned Lanes = __ballot_sync(0xffffffffu, Slope == Largest);
  int Lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
  if (Lane == __ffs(Lanes) - 1)
    atomicMax(Steepest,
              static_cast<unsigned long long>(__double_as_longlong(Slope)));
}

Diagnostics::Diagnostics() : Sums(1), Steepest(1) {
  mneme::annotate(&Sums.get()->Mass, sizeof(Totals) / sizeof(double),
                  mneme::relative(1e-12), "totals");
}

Totals Diagnostics::compute(const Gas &Fluid) {
  CHECK(cudaMemset(Sums.get(), 0, sizeof(Totals)));
  sumTotals<<<8, 128>>>(Fluid.grid(), Fluid.state(), Sums.get());
  CHECK_LAUNCH();
  return Sums.download().front();
}

double Diagnostics::steepestGradient(const Gas &Fluid) {
  CHECK(cudaMemset(Steepest.get(), 0, sizeof(unsigned long long)));
  const int N = Fluid.grid().N;
  dim3 Block(16, 8);
  dim3 Blocks((N + Block.x - 1) / Block.x, (N + Block.y - 1) / Block.y);
  steepestDensity<<<Blocks, Block>>>(Fluid.grid(), Fluid.primitives(),
                                     Steepest.get());
  CHECK_LAUNCH();
  unsigned long long Bits = Steepest.download().front();
  double Result;
  static_assert(sizeof(Result) == sizeof(Bits), "bits of a double");
  std::memcpy(&Result, &Bits, sizeof(Result));
  return Result;
}
