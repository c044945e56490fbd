//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// SAXPY whose factor and bounds lie in constant memory and that counts in
/// device variables: state of a kernel that none of its arguments leads to.
///
///   saxpy [elements]
///
//===----------------------------------------------------------------------===//

#include "Example.h"

struct Parameters {
  float Alpha;
  float Limit;
};

__constant__ Parameters Params;
__device__ unsigned NumClamped;
__device__ float Bias = 0.25f;

/// Y = clamp(alpha * X + Y + bias), in place.
__global__ void saxpy(const float *__restrict__ X, float *__restrict__ Y,
                      int N) {
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x) {
    float V = fmaf(Params.Alpha, X[I], Y[I]) + Bias;
    if (fabsf(V) > Params.Limit) {
      atomicAdd(&NumClamped, 1u);
      V = copysignf(Params.Limit, V);
    }
    Y[I] = V;
  }
}

int main(int Argc, char **Argv) {
  const int N = example::getSize(Argc, Argv, 1, 1 << 17);
  const int Repeat = 3;
  const Parameters Host = {1.5f, 2.0f};
  std::vector<float> X = example::randomVector<float>(N, -1, 1, 1);
  std::vector<float> Y = example::randomVector<float>(N, -1, 1, 2);

  CHECK(cudaMemcpyToSymbol(Params, &Host, sizeof(Host)));
  example::DeviceBuffer<float> DevX(X), DevY(Y);
  for (int R = 0; R < Repeat; ++R) {
    saxpy<<<128, 256>>>(DevX.get(), DevY.get(), N);
    CHECK_LAUNCH();
  }
  CHECK(cudaDeviceSynchronize());

  unsigned Clamped = 0, WantClamped = 0;
  CHECK(cudaMemcpyFromSymbol(&Clamped, NumClamped, sizeof(Clamped)));
  for (int R = 0; R < Repeat; ++R)
    for (int I = 0; I < N; ++I) {
      float V = std::fmaf(Host.Alpha, X[I], Y[I]) + 0.25f;
      if (std::fabs(V) > Host.Limit) {
        ++WantClamped;
        V = std::copysign(Host.Limit, V);
      }
      Y[I] = V;
    }

  double Error = example::maxError(DevY.download(), Y);
  std::printf("%u values clamped\n", Clamped);
  return example::finish("saxpy", Error == 0 && Clamped == WantClamped);
}
