//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What recording costs an application, measured in the application. Run by
/// benchmarks/run.py under llvm-mneme-record with different options.
///
///   launches call NUM           seconds a launch, over NUM launches of one
///                               thread, for the program that launches
///   launches snapshot MIB KIND  seconds of three launches over MIB of device
///                               memory, filled with zeros, text or noise
///
/// Prints one line of JSON.
///
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

/// Hardly anything, so that what is left is the launch.
__global__ void touch(unsigned *P) { ++*P; }

/// Changes one word in each page of 4 KiB.
__global__ void touchPages(unsigned *P, size_t Pages) {
  size_t I = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (I < Pages)
    ++P[I * 1024];
}

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Launches may fail (no device): then only the call is measured. A GPU is
/// waited for outside of the measured time, before it has so much to do that a
/// launch has to wait for it.
static int timeCalls(long Num) {
  constexpr long Burst = 256;
  unsigned *P = nullptr;
  bool HaveDevice =
      cudaMalloc(reinterpret_cast<void **>(&P), 4096) == cudaSuccess;
  touch<<<1, 1>>>(P); // Compiled or refused here.
  cudaDeviceSynchronize();
  std::vector<double> Seconds;
  for (long Left = Num; Left > 0; Left -= Burst) {
    double Start = now();
    for (long I = 0; I < Burst; ++I)
      touch<<<1, 1>>>(P);
    Seconds.push_back(now() - Start);
    cudaDeviceSynchronize();
  }
  // What interrupts the program is none of its costs.
  std::nth_element(Seconds.begin(), Seconds.begin() + Seconds.size() / 2,
                   Seconds.end());
  std::printf("{\"device\": %s, \"seconds_per_launch\": %.4g}\n",
              HaveDevice ? "true" : "false",
              Seconds[Seconds.size() / 2] / Burst);
  return EXIT_SUCCESS;
}

static int timeSnapshots(size_t MiB, const char *Kind) {
  const size_t Bytes = MiB << 20, Pages = Bytes / 4096;
  std::vector<uint32_t> Host(Bytes / 4, 0);
  if (!std::strcmp(Kind, "noise")) {
    uint64_t State = 1;
    for (uint32_t &W : Host) {
      State = State * 6364136223846793005u + 1442695040888963407u;
      W = static_cast<uint32_t>(State >> 32);
    }
  } else if (!std::strcmp(Kind, "text")) {
    for (size_t I = 0; I < Host.size(); ++I)
      Host[I] = static_cast<uint32_t>(I / 16);
  } else if (std::strcmp(Kind, "zeros")) {
    std::fprintf(stderr, "launches: unknown kind '%s'\n", Kind);
    return EXIT_FAILURE;
  }

  unsigned *P = nullptr;
  if (cudaMalloc(reinterpret_cast<void **>(&P), Bytes) != cudaSuccess ||
      cudaMemcpy(P, Host.data(), Bytes, cudaMemcpyHostToDevice) !=
          cudaSuccess) {
    std::fprintf(stderr, "launches: no device memory\n");
    return EXIT_FAILURE;
  }
  // Recorded with --skip=1: the first is compiled, the second recorded, the
  // third plain.
  double Seconds[3];
  for (double &S : Seconds) {
    double Start = now();
    touchPages<<<(Pages + 255) / 256, 256>>>(P, Pages);
    if (cudaDeviceSynchronize() != cudaSuccess)
      return EXIT_FAILURE;
    S = now() - Start;
  }
  std::printf("{\"first\": %.6g, \"second\": %.6g, \"third\": %.6g}\n",
              Seconds[0], Seconds[1], Seconds[2]);
  return EXIT_SUCCESS;
}

int main(int Argc, char **Argv) {
  long Number = Argc > 2 ? std::atol(Argv[2]) : 0;
  if (Argc == 3 && !std::strcmp(Argv[1], "call") && Number > 0)
    return timeCalls(Number);
  if (Argc == 4 && !std::strcmp(Argv[1], "snapshot") && Number > 0)
    return timeSnapshots(Number, Argv[3]);
  std::fprintf(stderr, "usage: launches call NUM | snapshot MIB "
                       "zeros|text|noise\n");
  return EXIT_FAILURE;
}
