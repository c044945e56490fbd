//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The gas: boundary, slopes, fluxes, update, time step.
///
//===----------------------------------------------------------------------===//

#include "Solver.h"

using namespace miniapp;

static constexpr int SpeedBlocks = 16;
static constexpr int SpeedThreads = 128;

static dim3 blockShape() { return dim3(32, 4); }

/// Blocks for \p Width x \p Height cells.
static dim3 gridShape(int Width, int Height) {
  dim3 B = blockShape();
  return dim3((Width + B.x - 1) / B.x, (Height + B.y - 1) / B.y);
}

__global__ void initialize(Grid G, Conserved *State) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X < G.N && Y < G.N)
    State[G.index(X, Y)] = toConserved(
        initialState((X + 0.5) * G.cellSize(), (Y + 0.5) * G.cellSize()));
}

/// Reflecting walls left and right. One thread a row.
__global__ void reflectX(Grid G, Conserved *State) {
  int Y = blockIdx.x * blockDim.x + threadIdx.x;
  if (Y >= G.N)
    return;
  for (int I = 0; I < Ghosts; ++I) {
    Conserved Left = State[G.index(I, Y)];
    Conserved Right = State[G.index(G.N - 1 - I, Y)];
    Left.MomX = -Left.MomX;
    Right.MomX = -Right.MomX;
    State[G.index(-1 - I, Y)] = Left;
    State[G.index(G.N + I, Y)] = Right;
  }
}

/// Reflecting walls below and above. One thread a column, ghosts included.
__global__ void reflectY(Grid G, Conserved *State) {
  int X = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) - Ghosts;
  if (X >= G.N + Ghosts)
    return;
  for (int I = 0; I < Ghosts; ++I) {
    Conserved Below = State[G.index(X, I)];
    Conserved Above = State[G.index(X, G.N - 1 - I)];
    Below.MomY = -Below.MomY;
    Above.MomY = -Above.MomY;
    State[G.index(X, -1 - I)] = Below;
    State[G.index(X, G.N + I)] = Above;
  }
}

/// All cells, ghosts included.
__global__ void computePrimitives(Grid G, const Conserved *__restrict__ State,
                                  Primitive *__restrict__ Prim) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X < G.pitch() && Y < G.pitch())
    Prim[Y * G.pitch() + X] = toPrimitive(State[Y * G.pitch() + X]);
}

/// The fastest wave among the cells of each block of threads.
__global__ void fastestWave(Grid G, const Primitive *__restrict__ Prim,
                            double *__restrict__ BlockSpeed) {
  __shared__ double Speed[SpeedThreads];
  double S = 0;
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < G.N * G.N;
       I += gridDim.x * blockDim.x)
    S = fmax(S, waveSpeed(Prim[G.index(I % G.N, I / G.N)]));
  Speed[threadIdx.x] = S;
  for (unsigned Half = SpeedThreads / 2; Half > 0; Half /= 2) {
    __syncthreads();
    if (threadIdx.x < Half)
      Speed[threadIdx.x] = fmax(Speed[threadIdx.x], Speed[threadIdx.x + Half]);
  }
  if (threadIdx.x == 0)
    BlockSpeed[blockIdx.x] = Speed[0];
}

/// One thread.
__global__ void chooseTimeStep(Grid G, const double *BlockSpeed, int NumBlocks,
                               double Courant, double *DeltaT) {
  double Fastest = 0;
  for (int I = 0; I < NumBlocks; ++I)
    Fastest = fmax(Fastest, BlockSpeed[I]);
  *DeltaT = Courant * G.cellSize() / Fastest;
}

/// Slopes of the domain's cells and of one layer of ghosts.
__global__ void computeSlopes(Grid G, const Primitive *__restrict__ Prim,
                              Primitive *__restrict__ SlopeX,
                              Primitive *__restrict__ SlopeY) {
  int X = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) - 1;
  int Y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) - 1;
  if (X > G.N || Y > G.N)
    return;
  int I = G.index(X, Y);
  SlopeX[I] = limitedSlope(Prim[I - 1], Prim[I], Prim[I + 1]);
  SlopeY[I] = limitedSlope(Prim[I - G.pitch()], Prim[I], Prim[I + G.pitch()]);
}

/// The flux through the left face of each cell; X reaches N.
__global__ void computeFluxX(Grid G, const Primitive *__restrict__ Prim,
                             const Primitive *__restrict__ Slope,
                             Conserved *__restrict__ Flux) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X > G.N || Y >= G.N)
    return;
  int I = G.index(X, Y);
  Flux[I] = rusanov(extrapolate(Prim[I - 1], Slope[I - 1], 0.5),
                    extrapolate(Prim[I], Slope[I], -0.5));
}

/// The flux through the lower face of each cell; Y reaches N.
__global__ void computeFluxY(Grid G, const Primitive *__restrict__ Prim,
                             const Primitive *__restrict__ Slope,
                             Conserved *__restrict__ Flux) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X >= G.N || Y > G.N)
    return;
  int I = G.index(X, Y), J = I - G.pitch();
  Flux[I] = transpose(rusanov(transpose(extrapolate(Prim[J], Slope[J], 0.5)),
                              transpose(extrapolate(Prim[I], Slope[I], -0.5))));
}

/// In place: each cell gains what flows through its four faces.
__global__ void update(Grid G, const Conserved *__restrict__ FluxX,
                       const Conserved *__restrict__ FluxY,
                       const double *__restrict__ DeltaT, Conserved *State) {
  int X = blockIdx.x * blockDim.x + threadIdx.x;
  int Y = blockIdx.y * blockDim.y + threadIdx.y;
  if (X >= G.N || Y >= G.N)
    return;
  int I = G.index(X, Y);
  double Factor = *DeltaT / G.cellSize();
  Conserved Q = State[I];
  addFluxes(Q, FluxX[I], FluxX[I + 1], Factor);
  addFluxes(Q, FluxY[I], FluxY[I + G.pitch()], Factor);
  State[I] = Q;
}

Gas::Gas(Grid G)
    : G(G), State(G.count()), FluxX(G.count()), FluxY(G.count()),
      Prim(G.count()), SlopeX(G.count()), SlopeY(G.count()),
      BlockSpeed(SpeedBlocks), DeltaT(1) {
  CHECK(cudaMemset(State.get(), 0, G.count() * sizeof(Conserved)));
  initialize<<<gridShape(G.N, G.N), blockShape()>>>(G, State.get());
  CHECK_LAUNCH();
}

double Gas::step(double Courant) {
  const int Line = 64;
  reflectX<<<(G.N + Line - 1) / Line, Line>>>(G, State.get());
  CHECK_LAUNCH();
  reflectY<<<(G.pitch() + Line - 1) / Line, Line>>>(G, State.get());
  CHECK_LAUNCH();
  computePrimitives<<<gridShape(G.pitch(), G.pitch()), blockShape()>>>(
      G, State.get(), Prim.get());
  CHECK_LAUNCH();
  fastestWave<<<SpeedBlocks, SpeedThreads>>>(G, Prim.get(), BlockSpeed.get());
  CHECK_LAUNCH();
  chooseTimeStep<<<1, 1>>>(G, BlockSpeed.get(), SpeedBlocks, Courant,
                           DeltaT.get());
  CHECK_LAUNCH();
  computeSlopes<<<gridShape(G.N + 2, G.N + 2), blockShape()>>>(
      G, Prim.get(), SlopeX.get(), SlopeY.get());
  CHECK_LAUNCH();
  computeFluxX<<<gridShape(G.N + 1, G.N), blockShape()>>>(
      G, Prim.get(), SlopeX.get(), FluxX.get());
  CHECK_LAUNCH();
  computeFluxY<<<gridShape(G.N, G.N + 1), blockShape()>>>(
      G, Prim.get(), SlopeY.get(), FluxY.get());
  CHECK_LAUNCH();
  update<<<gridShape(G.N, G.N), blockShape()>>>(G, FluxX.get(), FluxY.get(),
                                                DeltaT.get(), State.get());
  CHECK_LAUNCH();
  return DeltaT.download().front();
}
