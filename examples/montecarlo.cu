//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Monte Carlo with a generator of our own on the device: pi by rejection, and
/// the price of a European call option. Every thread keeps its generator's
/// state in device memory between launches.
///
///   montecarlo [threads] [samples a thread and launch]
///
//===----------------------------------------------------------------------===//

#include "Example.h"
#include "mneme/annotate.h"

/// xoshiro128+ (Blackman and Vigna), seeded by splitmix64.
struct Xoshiro {
  uint32_t S[4];

  __host__ __device__ void seed(uint64_t Seed) {
    example::Random R(Seed);
    uint64_t A = R.next(), B = R.next();
    S[0] = static_cast<uint32_t>(A);
    S[1] = static_cast<uint32_t>(A >> 32);
    S[2] = static_cast<uint32_t>(B);
    S[3] = static_cast<uint32_t>(B >> 32);
  }

  __host__ __device__ uint32_t next() {
    uint32_t Result = S[0] + S[3];
    uint32_t T = S[1] << 9;
    S[2] ^= S[0];
    S[3] ^= S[1];
    S[1] ^= S[2];
    S[0] ^= S[3];
    S[2] ^= T;
    S[3] = (S[3] << 11) | (S[3] >> 21);
    return Result;
  }

  /// In (0, 1).
  __host__ __device__ float uniform() {
    return (static_cast<float>(next() >> 8) + 0.5f) * 0x1p-24f;
  }
};

struct Option {
  float Spot, Strike, Rate, Volatility, Years;
};

__global__ void seedGenerators(Xoshiro *States, int N, uint64_t Seed) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    States[I].seed(Seed + I);
}

/// Adds the points that fell into the quarter circle to *Inside. Whole numbers
/// only, so the result does not depend on the order of the threads.
__global__ void countInside(Xoshiro *States, int N, int Samples,
                            unsigned long long *Inside) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  Xoshiro R = States[I];
  unsigned long long Count = 0;
  for (int S = 0; S < Samples; ++S) {
    uint64_t X = R.next() >> 8, Y = R.next() >> 8;
    Count += X * X + Y * Y < (uint64_t(1) << 48);
  }
  States[I] = R;
  atomicAdd(Inside, Count);
}

/// Adds the payoffs at maturity to *Sum and their squares to *SumOfSquares.
__global__ void priceCall(Xoshiro *States, int N, int Samples, Option O,
                          double *Sum, double *SumOfSquares) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  Xoshiro R = States[I];
  float Drift = (O.Rate - 0.5f * O.Volatility * O.Volatility) * O.Years;
  float Width = O.Volatility * sqrtf(O.Years);
  double Payoffs = 0, Squares = 0;
  for (int S = 0; S < Samples; ++S) {
    // Two normal deviates at a time (Box and Muller).
    float Radius = sqrtf(-2.0f * logf(R.uniform())), Sin, Cos;
    sincosf(6.2831853f * R.uniform(), &Sin, &Cos);
    float A = fmaxf(O.Spot * expf(Drift + Width * Radius * Sin) - O.Strike, 0);
    float B = fmaxf(O.Spot * expf(Drift + Width * Radius * Cos) - O.Strike, 0);
    Payoffs += A + B;
    Squares += double(A) * A + double(B) * B;
  }
  States[I] = R;
  atomicAdd(Sum, Payoffs);
  atomicAdd(SumOfSquares, Squares);
}

static double blackScholesCall(const Option &O) {
  auto Normal = [](double X) { return 0.5 * std::erfc(-X / std::sqrt(2.0)); };
  double Width = O.Volatility * std::sqrt(O.Years);
  double D1 = (std::log(O.Spot / O.Strike) +
               (O.Rate + 0.5 * O.Volatility * O.Volatility) * O.Years) /
              Width;
  return O.Spot * Normal(D1) -
         O.Strike * std::exp(-O.Rate * O.Years) * Normal(D1 - Width);
}

int main(int Argc, char **Argv) {
  const int N = example::getSize(Argc, Argv, 1, 4096);
  const int Samples = example::getSize(Argc, Argv, 2, 64);
  const uint64_t Seed = 42;
  const int Threads = 128, Blocks = (N + Threads - 1) / Threads;

  example::DeviceBuffer<Xoshiro> States(N);
  example::DeviceBuffer<unsigned long long> Inside(1);
  example::DeviceBuffer<double> Sums(std::vector<double>(2, 0.0));
  CHECK(cudaMemset(Inside.get(), 0, sizeof(unsigned long long)));
  // Threads add in any order, so a replay may differ in the last digits.
  mneme::annotate(Sums.get(), Sums.size(), mneme::relative(1e-10), "payoffs");

  seedGenerators<<<Blocks, Threads>>>(States.get(), N, Seed);
  CHECK_LAUNCH();
  countInside<<<Blocks, Threads>>>(States.get(), N, Samples, Inside.get());
  CHECK_LAUNCH();
  const Option Call = {100, 105, 0.03f, 0.25f, 1.5f};
  priceCall<<<Blocks, Threads>>>(States.get(), N, Samples, Call, Sums.get(),
                                 Sums.get() + 1);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());

  unsigned long long WantInside = 0;
  for (int I = 0; I < N; ++I) {
    Xoshiro R;
    R.seed(Seed + I);
    for (int S = 0; S < Samples; ++S) {
      uint64_t X = R.next() >> 8, Y = R.next() >> 8;
      WantInside += X * X + Y * Y < (uint64_t(1) << 48);
    }
  }
  unsigned long long GotInside = Inside.download().front();
  std::vector<double> Got = Sums.download();
  double Paths = 2.0 * N * Samples;
  double Discount = std::exp(-double(Call.Rate) * Call.Years);
  double Price = Discount * Got[0] / Paths;
  double Mean = Got[0] / Paths;
  double StandardError =
      Discount * std::sqrt((Got[1] / Paths - Mean * Mean) / Paths);
  double Want = blackScholesCall(Call);
  std::printf("pi is about %.4f; the call costs %.3f +- %.3f, exactly %.3f\n",
              4.0 * GotInside / (double(N) * Samples), Price, StandardError,
              Want);
  return example::finish("montecarlo",
                         GotInside == WantInside &&
                             std::fabs(Price - Want) < 5 * StandardError);
}
