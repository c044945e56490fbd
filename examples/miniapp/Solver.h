//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the translation units of the mini-app offer each other.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_EXAMPLES_MINIAPP_SOLVER_H
#define MNEME_EXAMPLES_MINIAPP_SOLVER_H

#include "../Example.h"
#include "Euler.h"

namespace miniapp {

/// A tracer that moves with the gas.
struct Particle {
  double X, Y;
};

struct Totals {
  double Mass, Energy;
};

/// The gas on the device.
class Gas {
public:
  explicit Gas(Grid G);

  /// Advances by one step, as long as stability permits. \returns its length.
  double step(double Courant);

  const Grid &grid() const { return G; }
  const Primitive *primitives() const { return Prim.get(); }
  std::vector<Conserved> download() const { return State.download(); }
  const Conserved *state() const { return State.get(); }
  const double *deltaT() const { return DeltaT.get(); }

private:
  Grid G;
  example::DeviceBuffer<Conserved> State, FluxX, FluxY;
  example::DeviceBuffer<Primitive> Prim, SlopeX, SlopeY;
  example::DeviceBuffer<double> BlockSpeed, DeltaT;
};

/// Tracers on the device.
class Tracers {
public:
  Tracers(int Count, const Grid &G);

  /// Moves them with the gas over the step it made last.
  void move(const Gas &Fluid);
  /// How many there are in each cell.
  std::vector<unsigned> countPerCell();
  std::vector<Particle> download() const { return Particles.download(); }

private:
  Grid G;
  example::DeviceBuffer<Particle> Particles;
  example::DeviceBuffer<unsigned> Counts;
};

/// Mass and energy of the whole domain.
class Diagnostics {
public:
  Diagnostics();
  Totals compute(const Gas &Fluid);
  /// The largest gradient of density of the step before.
  double steepestGradient(const Gas &Fluid);

private:
  example::DeviceBuffer<Totals> Sums;
  example::DeviceBuffer<unsigned long long> Steepest;
};

/// Host only: the same steps, cell by cell. \returns the time reached.
double runReference(const Grid &G, int Steps, double Courant,
                    std::vector<Conserved> &State);

} // namespace miniapp

#endif // MNEME_EXAMPLES_MINIAPP_SOLVER_H
