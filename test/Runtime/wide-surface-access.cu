// A clamped surface access that is wider than the array is an error of the launch.
//
// REQUIRES: cuda-toolkit
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t 2>&1 | FileCheck %s
// CHECK: trap in kernel '{{.*}}read

#include "Inputs/check.h"
#include <cuda_runtime.h>

__global__ void read(cudaSurfaceObject_t S, float4 *Out) {
  *Out = surf1Dread<float4>(S, 0, cudaBoundaryModeClamp);
}

int main() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>();
  cudaResourceDesc R = {};
  cudaSurfaceObject_t S;
  float4 *Out;
  OK(cudaMalloc(&Out, sizeof(*Out)));
  R.resType = cudaResourceTypeArray;
  OK(cudaMallocArray(&R.res.array.array, &F, 2, 0, cudaArraySurfaceLoadStore));
  OK(cudaCreateSurfaceObject(&S, &R));
  read<<<1, 1>>>(S, Out);
  CHECK(cudaDeviceSynchronize());
}
