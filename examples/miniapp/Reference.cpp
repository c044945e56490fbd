//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The same time steps on the host, without any kernel.
///
//===----------------------------------------------------------------------===//

#include "Solver.h"

using namespace miniapp;

static void reflect(const Grid &G, std::vector<Conserved> &State) {
  auto Mirror = [](Conserved Q, double Conserved::*Component) {
    Q.*Component = -(Q.*Component);
    return Q;
  };
  for (int Y = 0; Y < G.N; ++Y)
    for (int I = 0; I < Ghosts; ++I) {
      State[G.index(-1 - I, Y)] =
          Mirror(State[G.index(I, Y)], &Conserved::MomX);
      State[G.index(G.N + I, Y)] =
          Mirror(State[G.index(G.N - 1 - I, Y)], &Conserved::MomX);
    }
  for (int X = -Ghosts; X < G.N + Ghosts; ++X)
    for (int I = 0; I < Ghosts; ++I) {
      State[G.index(X, -1 - I)] =
          Mirror(State[G.index(X, I)], &Conserved::MomY);
      State[G.index(X, G.N + I)] =
          Mirror(State[G.index(X, G.N - 1 - I)], &Conserved::MomY);
    }
}

/// The flux through the face between the cells at \p I - \p Stride and \p I.
template <bool Vertical>
static Conserved faceFlux(const std::vector<Primitive> &W, int I, int Stride) {
  auto Slope = [&](int C) {
    return limitedSlope(W[C - Stride], W[C], W[C + Stride]);
  };
  Primitive L = extrapolate(W[I - Stride], Slope(I - Stride), 0.5);
  Primitive R = extrapolate(W[I], Slope(I), -0.5);
  if (Vertical)
    return transpose(rusanov(transpose(L), transpose(R)));
  return rusanov(L, R);
}

double miniapp::runReference(const Grid &G, int Steps, double Courant,
                             std::vector<Conserved> &State) {
  State.assign(G.count(), Conserved{0, 0, 0, 0});
  for (int Y = 0; Y < G.N; ++Y)
    for (int X = 0; X < G.N; ++X)
      State[G.index(X, Y)] = toConserved(
          initialState((X + 0.5) * G.cellSize(), (Y + 0.5) * G.cellSize()));

  double Time = 0;
  std::vector<Primitive> W(G.count());
  for (int S = 0; S < Steps; ++S) {
    reflect(G, State);
    for (int I = 0; I < G.count(); ++I)
      W[I] = toPrimitive(State[I]);
    double Fastest = 0;
    for (int Y = 0; Y < G.N; ++Y)
      for (int X = 0; X < G.N; ++X)
        Fastest = std::fmax(Fastest, waveSpeed(W[G.index(X, Y)]));
    double DeltaT = Courant * G.cellSize() / Fastest;
    double Factor = DeltaT / G.cellSize();
    for (int Y = 0; Y < G.N; ++Y)
      for (int X = 0; X < G.N; ++X) {
        int I = G.index(X, Y), P = G.pitch();
        addFluxes(State[I], faceFlux<false>(W, I, 1),
                  faceFlux<false>(W, I + 1, 1), Factor);
        addFluxes(State[I], faceFlux<true>(W, I, P),
                  faceFlux<true>(W, I + P, P), Factor);
      }
    Time += DeltaT;
  }
  return Time;
}
