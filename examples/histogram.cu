//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Histogram: atomics on dynamic shared memory in a block, then on global
/// memory.
///
///   histogram [elements] [bins]
///
//===----------------------------------------------------------------------===//

#include "Example.h"

/// Adds to \p Bins. Dynamic shared memory: one counter a bin.
__global__ void histogram(const uint32_t *Keys, int N, unsigned *Bins,
                          int NumBins) {
  extern __shared__ unsigned Local[];
  for (int I = threadIdx.x; I < NumBins; I += blockDim.x)
    Local[I] = 0;
  __syncthreads();

  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x)
    atomicAdd(&Local[Keys[I] % NumBins], 1u);
  __syncthreads();

  for (int I = threadIdx.x; I < NumBins; I += blockDim.x)
    if (Local[I] != 0)
      atomicAdd(&Bins[I], Local[I]);
}

/// Exclusive prefix sum of at most 1024 bins by one block: where each bin
/// starts.
__global__ void scanBins(const unsigned *Bins, unsigned *Starts, int NumBins) {
  __shared__ unsigned Buffer[2][1024];
  int T = threadIdx.x;
  int From = 0;
  Buffer[From][T] = T < NumBins ? Bins[T] : 0;
  __syncthreads();
  for (int Step = 1; Step < blockDim.x; Step *= 2) {
    unsigned V = Buffer[From][T];
    if (T >= Step)
      V += Buffer[From][T - Step];
    Buffer[1 - From][T] = V;
    From = 1 - From;
    __syncthreads();
  }
  if (T < NumBins)
    Starts[T] = Buffer[From][T] - Bins[T];
}

int main(int Argc, char **Argv) {
  const int N = example::getSize(Argc, Argv, 1, 1 << 17);
  const int NumBins = example::getSize(Argc, Argv, 2, 200);
  if (NumBins > 1024) {
    std::fprintf(stderr, "%s: at most 1024 bins\n", Argv[0]);
    return EXIT_FAILURE;
  }
  example::Random R(1);
  std::vector<uint32_t> Keys(N);
  for (uint32_t &K : Keys) // Squared, so that bins differ.
    K = static_cast<uint32_t>(R.uniform() * R.uniform() * NumBins);

  example::DeviceBuffer<uint32_t> DevKeys(Keys);
  example::DeviceBuffer<unsigned> DevBins(NumBins), DevStarts(NumBins);
  CHECK(cudaMemset(DevBins.get(), 0, NumBins * sizeof(unsigned)));
  histogram<<<32, 128, NumBins * sizeof(unsigned)>>>(DevKeys.get(), N,
                                                     DevBins.get(), NumBins);
  CHECK_LAUNCH();
  scanBins<<<1, 1024>>>(DevBins.get(), DevStarts.get(), NumBins);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());

  std::vector<unsigned> Bins(NumBins, 0), Starts(NumBins, 0);
  for (uint32_t K : Keys)
    ++Bins[K % NumBins];
  for (int I = 1; I < NumBins; ++I)
    Starts[I] = Starts[I - 1] + Bins[I - 1];
  std::printf("bin 0 holds %u of %d keys\n", Bins[0], N);
  return example::finish("histogram", DevBins.download() == Bins &&
                                          DevStarts.download() == Starts);
}
