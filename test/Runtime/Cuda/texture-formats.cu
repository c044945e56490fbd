// A texture of a format that recordings do not have is no linear memory of another
// one.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 1 launch seen, 0 recorded, 1 skipped
// CHECK: 1 skipped: a texture has a format that cannot be recorded

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void lookUp(cudaTextureObject_t T, float *Out) {
  Out[0] = tex1Dfetch<float>(T, 0);
}

int main() {
  float *Out;
  cudaResourceDesc R = {};
  cudaTextureDesc D = {};
  cudaTextureObject_t T;
  OK(cudaMalloc(&Out, 4096));
  R.resType = cudaResourceTypeLinear;
  R.res.linear.devPtr = Out;
  R.res.linear.desc = cudaCreateChannelDesc(8, 8, 0, 0, cudaChannelFormatKindUnsignedNormalized8X2);
  R.res.linear.sizeInBytes = 1024;
  OK(cudaCreateTextureObject(&T, &R, &D, nullptr));
  lookUp<<<1, 1>>>(T, Out);
  OK(cudaDeviceSynchronize());
}
