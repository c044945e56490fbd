//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gravitational N-body problem, all pairs, leapfrog in time; positions pass
/// through shared memory a tile at a time.
///
///   nbody [bodies] [steps]
///
//===----------------------------------------------------------------------===//

#include "Example.h"

constexpr float Softening2 = 1e-2f;
constexpr int TileSize = 128;

__device__ float3 attraction(float4 A, float4 B, float3 Sum) {
  float3 R = make_float3(B.x - A.x, B.y - A.y, B.z - A.z);
  float D2 = R.x * R.x + R.y * R.y + R.z * R.z + Softening2;
  float Inv = rsqrtf(D2);
  float S = B.w * Inv * Inv * Inv;
  return make_float3(Sum.x + R.x * S, Sum.y + R.y * S, Sum.z + R.z * S);
}

/// Half a step of velocity from the forces of all bodies (w = mass).
__global__ void kick(const float4 *__restrict__ Position, float3 *Velocity,
                     int N, float DeltaT) {
  __shared__ float4 Others[TileSize];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  float4 Self = I < N ? Position[I] : make_float4(0, 0, 0, 0);
  float3 Force = make_float3(0, 0, 0);
  for (int First = 0; First < N; First += TileSize) {
    int J = First + threadIdx.x;
    Others[threadIdx.x] = J < N ? Position[J] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int K = 0; K < TileSize; ++K)
      Force = attraction(Self, Others[K], Force);
    __syncthreads();
  }
  if (I >= N)
    return;
  float3 V = Velocity[I];
  Velocity[I] = make_float3(V.x + DeltaT * Force.x, V.y + DeltaT * Force.y,
                            V.z + DeltaT * Force.z);
}

__global__ void drift(float4 *Position, const float3 *Velocity, int N,
                      float DeltaT) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  float4 P = Position[I];
  float3 V = Velocity[I];
  Position[I] = make_float4(P.x + DeltaT * V.x, P.y + DeltaT * V.y,
                            P.z + DeltaT * V.z, P.w);
}

struct Body {
  double X[3], V[3], Mass;
};

static void kickOnHost(std::vector<Body> &Bodies, double DeltaT) {
  for (Body &A : Bodies) {
    double Force[3] = {0, 0, 0};
    for (const Body &B : Bodies) {
      double R[3], D2 = Softening2;
      for (int D = 0; D < 3; ++D) {
        R[D] = B.X[D] - A.X[D];
        D2 += R[D] * R[D];
      }
      double S = B.Mass / (D2 * std::sqrt(D2));
      for (int D = 0; D < 3; ++D)
        Force[D] += R[D] * S;
    }
    for (int D = 0; D < 3; ++D)
      A.V[D] += DeltaT * Force[D];
  }
}

int main(int Argc, char **Argv) {
  const int N = example::getSize(Argc, Argv, 1, 1000);
  const int Steps = example::getSize(Argc, Argv, 2, 3);
  const float DeltaT = 0.01f;

  example::Random R(1);
  std::vector<float4> Position(N);
  std::vector<float3> Velocity(N);
  std::vector<Body> Bodies(N);
  for (int I = 0; I < N; ++I) {
    float X[3], V[3];
    for (int D = 0; D < 3; ++D) {
      X[D] = static_cast<float>(2 * R.uniform() - 1);
      V[D] = static_cast<float>(0.2 * R.uniform() - 0.1);
    }
    float Mass = 1.0f / N;
    Position[I] = make_float4(X[0], X[1], X[2], Mass);
    Velocity[I] = make_float3(V[0], V[1], V[2]);
    Bodies[I] = {{X[0], X[1], X[2]}, {V[0], V[1], V[2]}, Mass};
  }

  example::DeviceBuffer<float4> DevPosition(Position);
  example::DeviceBuffer<float3> DevVelocity(Velocity);
  const int Blocks = (N + TileSize - 1) / TileSize;
  for (int S = 0; S < Steps; ++S) {
    kick<<<Blocks, TileSize>>>(DevPosition.get(), DevVelocity.get(), N,
                               0.5f * DeltaT);
    CHECK_LAUNCH();
    drift<<<Blocks, TileSize>>>(DevPosition.get(), DevVelocity.get(), N,
                                DeltaT);
    CHECK_LAUNCH();
    kick<<<Blocks, TileSize>>>(DevPosition.get(), DevVelocity.get(), N,
                               0.5f * DeltaT);
    CHECK_LAUNCH();

    kickOnHost(Bodies, 0.5 * DeltaT);
    for (Body &B : Bodies)
      for (int D = 0; D < 3; ++D)
        B.X[D] += DeltaT * B.V[D];
    kickOnHost(Bodies, 0.5 * DeltaT);
  }
  CHECK(cudaDeviceSynchronize());

  std::vector<double> Got, Want;
  double Momentum[3] = {0, 0, 0}, Before[3] = {0, 0, 0};
  std::vector<float4> FinalPosition = DevPosition.download();
  std::vector<float3> FinalVelocity = DevVelocity.download();
  for (int I = 0; I < N; ++I) {
    const float4 P = FinalPosition[I];
    const float3 V = FinalVelocity[I];
    const double Values[6] = {P.x, P.y, P.z, V.x, V.y, V.z};
    Got.insert(Got.end(), Values, Values + 6);
    Want.insert(Want.end(), Bodies[I].X, Bodies[I].X + 3);
    Want.insert(Want.end(), Bodies[I].V, Bodies[I].V + 3);
    for (int D = 0; D < 3; ++D) {
      Momentum[D] += Values[3 + D] * P.w;
      Before[D] += (&Velocity[I].x)[D] * double(P.w);
    }
  }
  bool Ok = example::maxError(Got, Want) < 1e-4;
  for (int D = 0; D < 3; ++D)
    Ok &= std::fabs(Momentum[D] - Before[D]) < 1e-6;
  return example::finish("nbody", Ok);
}
