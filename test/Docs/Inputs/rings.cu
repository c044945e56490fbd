//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Heat in rings, one half of each iron, the other one copper. IndVarSimplify
/// of LLVM 14 to 19 miscompiles the kernel (docs/HowTo/ReportReleasedLLVM.rst).
///
//===----------------------------------------------------------------------===//

#include "Example.h"

/// Cells -Half to -1 are iron, 0 to Half - 1 copper.
constexpr int Half = 64;
constexpr double Iron = 80, Copper = 400,
                 Joint = 2 * Iron * Copper / (Iron + Copper);

/// Each thread computes the heat that flows into the cells of one ring from
/// their left neighbors.
__global__ void heatFlux(const double *Temperature, double *Flux, int Rings) {
  int Ring = blockIdx.x * blockDim.x + threadIdx.x;
  if (Ring >= Rings)
    return;
  const double *T = Temperature + Ring * 2 * Half + Half;
  double *F = Flux + Ring * 2 * Half + Half;
  int Left = Half - 1;
  for (int X = -Half; X < Half; ++X) {
    double Difference = T[Left] - T[X];
    if (X >= 0) {
      if (Left >= 0)
        F[X] = Copper * Difference;
      else
        F[X] = Joint * Difference;
    } else {
      F[X] = (Left >= 0 ? Joint : Iron) * Difference;
    }
    Left = X;
  }
}

int main(int Argc, char **Argv) {
  const int Rings = example::getSize(Argc, Argv, 1, 32);
  std::vector<double> T =
      example::randomVector<double>(Rings * 2 * Half, 280, 320, 1);
  example::DeviceBuffer<double> DevT(T), DevF(T.size());
  heatFlux<<<(Rings + 31) / 32, 32>>>(DevT.get(), DevF.get(), Rings);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());

  std::vector<double> F(T.size());
  for (int I = 0; I < int(T.size()); ++I) {
    int X = I % (2 * Half);
    double K = X == 0 || X == Half ? Joint : X < Half ? Iron : Copper;
    F[I] = K * (T[X == 0 ? I + 2 * Half - 1 : I - 1] - T[I]);
  }
  return example::finish("rings", example::maxError(DevF.download(), F) < 1e-9);
}
