//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches kernels of about 3 us, 10 us, 150 us and 1 ms on an H200, once
/// each, to be recorded. Two are memory-bound, two compute-bound.
///
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

/// The template parameter only distinguishes the kernels.
template <int Microseconds>
__global__ void add(float *Y, const float *X, size_t N) {
  size_t I = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (I < N)
    Y[I] = 2.5f * X[I] + Y[I];
}

/// A chain of dependent operations. Its length is an argument, so that no
/// compiler can shorten it.
template <int Microseconds>
__global__ void iterate(float *Y, const float *X, size_t N, unsigned Rounds) {
  size_t I = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (I >= N)
    return;
  float V = X[I];
  for (unsigned R = 0; R < Rounds; ++R)
    V = V * 0.999f + 0.001f;
  Y[I] = V;
}

int main() {
  constexpr unsigned Block = 256;
  constexpr size_t Small = size_t(1) << 16, Large = 3 << 20;
  std::vector<float> Host(Large, 1.0f);
  float *X = nullptr, *Y = nullptr;
  bool Ok = cudaMalloc(reinterpret_cast<void **>(&X), Large * 4) == cudaSuccess &&
            cudaMalloc(reinterpret_cast<void **>(&Y), Large * 4) == cudaSuccess;
  for (float *P : {X, Y})
    Ok = Ok && cudaMemcpy(P, Host.data(), Large * 4, cudaMemcpyHostToDevice) ==
                   cudaSuccess;
  if (Ok) {
    add<3><<<Small / Block, Block>>>(Y, X, Small);
    add<10><<<Large / Block, Block>>>(Y, X, Large);
    iterate<150><<<Small / Block, Block>>>(Y, X, Small, 36000);
    iterate<1000><<<Small / Block, Block>>>(Y, X, Small, 240000);
    Ok = cudaDeviceSynchronize() == cudaSuccess;
  }
  std::printf("durations: %s\n", Ok ? "done" : "no device");
  return Ok ? 0 : 1;
}
