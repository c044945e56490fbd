// After cudaDeviceReset, the handles of textures from before mean nothing.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 2 launches seen, 1 recorded, 1 skipped
// CHECK: 1 skipped: an argument is the handle of an unknown texture or surface object

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void lookUp(cudaTextureObject_t T, float *Out) {
  Out[0] = tex2D<float>(T, 0.5f, 0.5f);
}

static void launch(cudaTextureObject_t T, int Threads) {
  float *Out;
  OK(cudaMalloc(&Out, 4));
  lookUp<<<1, Threads>>>(T, Out);
  OK(cudaDeviceSynchronize());
}

int main() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaResourceDesc R = {};
  cudaTextureDesc D = {};
  cudaTextureObject_t T;
  R.resType = cudaResourceTypeArray;
  OK(cudaMallocArray(&R.res.array.array, &F, 4, 4));
  OK(cudaCreateTextureObject(&T, &R, &D, nullptr));
  launch(T, 1);
  OK(cudaDeviceReset());
  // The emulated driver keeps the object.
  launch(T, 2);
}
