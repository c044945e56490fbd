//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Vector addition: the smallest complete program.
///
///   vecadd [elements]
///
//===----------------------------------------------------------------------===//

#include "Example.h"

__global__ void vecAdd(const float *A, const float *B, float *C, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    C[I] = A[I] + B[I];
}

int main(int Argc, char **Argv) {
  const int N = example::getSize(Argc, Argv, 1, 1 << 17);
  std::vector<float> A = example::randomVector<float>(N, -1, 1, 1);
  std::vector<float> B = example::randomVector<float>(N, -1, 1, 2);

  example::DeviceBuffer<float> DevA(A), DevB(B), DevC(N);
  const int Threads = 256;
  vecAdd<<<(N + Threads - 1) / Threads, Threads>>>(DevA.get(), DevB.get(),
                                                   DevC.get(), N);
  CHECK_LAUNCH();
  CHECK(cudaDeviceSynchronize());

  std::vector<float> C = DevC.download();
  bool Ok = true;
  for (int I = 0; I < N; ++I)
    Ok &= C[I] == A[I] + B[I];
  return example::finish("vecadd", Ok);
}
