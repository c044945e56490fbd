//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures the cost of recording within the application. benchmarks/run.py
/// runs it under llvm-mneme-record with different options.
///
///   launches call NUM           seconds per launch for the launching program,
///                               over NUM launches of one thread
///   launches driver NUM IMAGE   the same for a kernel of a cubin, through the
///                               driver
///   launches snapshot MIB KIND  seconds of three launches over MIB of device
///                               memory, filled with zeros, text or noise
///   launches work MIB NUM       an application that only makes NUM launches,
///                               each of which changes every word of MIB of
///                               device memory
///   launches copy MIB           bytes per second of a copy of MIB of device
///                               memory to page-locked memory
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
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// Does almost nothing, so that the time is that of the launch.
__global__ void touch(unsigned *P) { ++*P; }

/// Changes all words to noise.
__global__ void churn(unsigned *P, size_t Words) {
  size_t Stride = gridDim.x * size_t(blockDim.x);
  for (size_t I = blockIdx.x * size_t(blockDim.x) + threadIdx.x; I < Words;
       I += Stride)
    P[I] = (P[I] + unsigned(I)) * 1664525u + 1013904223u;
}

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

/// Launches may fail if there is no device; then only the call is measured.
/// Synchronization takes place outside of the measured time, before the GPU's
/// queue is so full that a launch blocks.
template <typename Fn>
static int timeCalls(long Num, bool HaveDevice, Fn Launch) {
  constexpr long Burst = 256;
  Launch(); // Compiled or rejected here.
  cudaDeviceSynchronize();
  std::vector<double> Seconds;
  for (long Left = Num; Left > 0; Left -= Burst) {
    double Start = now();
    for (long I = 0; I < Burst; ++I)
      Launch();
    Seconds.push_back(now() - Start);
    cudaDeviceSynchronize();
  }
  // The median excludes interruptions of the program.
  std::nth_element(Seconds.begin(), Seconds.begin() + Seconds.size() / 2,
                   Seconds.end());
  std::printf("{\"device\": %s, \"seconds_per_launch\": %.4g}\n",
              HaveDevice ? "true" : "false",
              Seconds[Seconds.size() / 2] / Burst);
  return EXIT_SUCCESS;
}

static int timeRuntimeCalls(long Num) {
  unsigned *P = nullptr;
  bool HaveDevice =
      cudaMalloc(reinterpret_cast<void **>(&P), 4096) == cudaSuccess;
  return timeCalls(Num, HaveDevice, [&] { touch<<<1, 1>>>(P); });
}

/// Finds the driver's functions as programs do that do not link it.
static int timeDriverCalls(long Num, const char *Path) {
  std::ifstream File(Path, std::ios::binary);
  std::string Image((std::istreambuf_iterator<char>(File)), {});
  void *Driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto Find = [&](auto *Function, const char *Name) {
    return reinterpret_cast<decltype(Function)>(
        Driver ? dlsym(Driver, Name) : nullptr);
  };
  auto *Load = Find(cuModuleLoadData, "cuModuleLoadData");
  auto *GetFunction = Find(cuModuleGetFunction, "cuModuleGetFunction");
  auto *Launch = Find(cuLaunchKernel, "cuLaunchKernel");
  CUmodule Module;
  CUfunction Function;
  unsigned *P;
  if (cudaMalloc(reinterpret_cast<void **>(&P), 4096) || !Load ||
      !GetFunction || !Launch || Load(&Module, Image.data()) ||
      GetFunction(&Function, Module, "_Z5touchPj")) {
    std::fprintf(stderr, "launches: '%s' cannot be loaded\n", Path);
    return EXIT_FAILURE;
  }
  void *Args[] = {&P};
  return timeCalls(Num, true, [&] {
    Launch(Function, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr);
  });
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
  // Recorded with --skip=1: the first launch is compiled, the second recorded,
  // the third neither.
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

static int work(size_t MiB, long Num) {
  const size_t Bytes = MiB << 20;
  unsigned *P = nullptr;
  if (cudaMalloc(reinterpret_cast<void **>(&P), Bytes) != cudaSuccess ||
      cudaMemset(P, 0, Bytes) != cudaSuccess) {
    std::fprintf(stderr, "launches: no device memory\n");
    return EXIT_FAILURE;
  }
  double Start = now();
  for (long I = 0; I < Num; ++I)
    churn<<<1024, 256>>>(P, Bytes / sizeof(unsigned));
  if (cudaDeviceSynchronize() != cudaSuccess)
    return EXIT_FAILURE;
  std::printf("{\"seconds\": %.6g}\n", now() - Start);
  return EXIT_SUCCESS;
}

static int timeCopy(size_t MiB) {
  const size_t Bytes = MiB << 20;
  void *Device = nullptr, *Host = nullptr;
  if (cudaMalloc(&Device, Bytes) != cudaSuccess ||
      cudaMallocHost(&Host, Bytes) != cudaSuccess) {
    std::fprintf(stderr, "launches: no memory\n");
    return EXIT_FAILURE;
  }
  double Best = 0;
  for (int I = 0; I < 5; ++I) {
    double Start = now();
    if (cudaMemcpy(Host, Device, Bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
      return EXIT_FAILURE;
    Best = std::max(Best, Bytes / (now() - Start));
  }
  std::printf("{\"bytes_per_second\": %.6g}\n", Best);
  return EXIT_SUCCESS;
}

int main(int Argc, char **Argv) {
  long Number = Argc > 2 ? std::atol(Argv[2]) : 0;
  if (Argc == 3 && !std::strcmp(Argv[1], "call") && Number > 0)
    return timeRuntimeCalls(Number);
  if (Argc == 4 && !std::strcmp(Argv[1], "driver") && Number > 0)
    return timeDriverCalls(Number, Argv[3]);
  if (Argc == 4 && !std::strcmp(Argv[1], "snapshot") && Number > 0)
    return timeSnapshots(Number, Argv[3]);
  if (Argc == 4 && !std::strcmp(Argv[1], "work") && Number > 0 &&
      std::atol(Argv[3]) > 0)
    return work(Number, std::atol(Argv[3]));
  if (Argc == 3 && !std::strcmp(Argv[1], "copy") && Number > 0)
    return timeCopy(Number);
  std::fprintf(stderr, "usage: launches call NUM | driver NUM IMAGE | snapshot "
                       "MIB zeros|text|noise | work MIB NUM | copy MIB\n");
  return EXIT_FAILURE;
}
