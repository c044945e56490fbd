//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A blast wave in a closed box, with tracers: a dozen kernels in three
/// translation units and a loop over time. Checks conservation and every cell
/// against the host's own solution.
///
///   miniapp [cells a side] [steps] [tracers]
///
//===----------------------------------------------------------------------===//

#include "Solver.h"

using namespace miniapp;

static double relativeChange(double A, double B) {
  return std::fabs(A - B) / std::fabs(B);
}

int main(int Argc, char **Argv) {
  const Grid G = {example::getSize(Argc, Argv, 1, 64)};
  const int Steps = example::getSize(Argc, Argv, 2, 20);
  const int NumTracers = example::getSize(Argc, Argv, 3, 5000);
  const double Courant = 0.3;

  Gas Fluid(G);
  Tracers Dust(NumTracers, G);
  Diagnostics Probe;
  const Totals Before = Probe.compute(Fluid);
  double Time = 0;
  for (int S = 1; S <= Steps; ++S) {
    Time += Fluid.step(Courant);
    Dust.move(Fluid);
    if (S % 10 == 0 || S == Steps)
      std::printf("step %3d  time %.5f  steepest gradient %.3f\n", S, Time,
                  Probe.steepestGradient(Fluid));
  }
  const Totals After = Probe.compute(Fluid);
  std::vector<unsigned> Counts = Dust.countPerCell();
  CHECK(cudaDeviceSynchronize());

  // Nothing leaves the box.
  double MassChange = relativeChange(After.Mass, Before.Mass);
  double EnergyChange = relativeChange(After.Energy, Before.Energy);
  bool Ok = MassChange < 1e-12 && EnergyChange < 1e-12;
  unsigned long long Counted = 0;
  for (unsigned C : Counts)
    Counted += C;
  Ok &= Counted == static_cast<unsigned long long>(NumTracers);

  std::vector<Conserved> Want, Got = Fluid.download();
  double WantTime = runReference(G, Steps, Courant, Want);
  double Worst = 0;
  for (int Y = 0; Y < G.N; ++Y)
    for (int X = 0; X < G.N; ++X) {
      const Conserved &A = Got[G.index(X, Y)], &B = Want[G.index(X, Y)];
      Ok &= A.Rho > 0 && toPrimitive(A).P > 0;
      Worst = std::fmax(Worst, std::fabs(A.Rho - B.Rho));
      Worst = std::fmax(Worst, std::fabs(A.E - B.E));
    }
  Ok &= Worst < 1e-9 && relativeChange(Time, WantTime) < 1e-9;
  std::printf("mass and energy kept to 1e-12: %s\n",
              MassChange < 1e-12 && EnergyChange < 1e-12 ? "yes" : "no");
  return example::finish("miniapp", Ok);
}
