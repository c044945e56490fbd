//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose PTX is short: what ptxas makes of it is searched instruction
// by instruction.
//
//===----------------------------------------------------------------------===//

#include <cuda_runtime.h>

#define APART extern "C" __device__ __attribute__((noinline))

APART double kick(unsigned State) { return State % 1024 / 1024.0 - 0.5; }

extern "C" __global__ void kickOne(const unsigned *State, double *Kick) {
  *Kick = kick(*State);
}

int main() {
  unsigned *State;
  double *Kick;
  cudaMallocManaged(&State, sizeof(unsigned));
  cudaMallocManaged(&Kick, sizeof(double));
  *State = 2463534242u;
  *Kick = 0;
  kickOne<<<1, 1>>>(State, Kick);
  return cudaDeviceSynchronize() != cudaSuccess;
}
