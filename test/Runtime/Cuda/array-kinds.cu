// Arrays on a GPU: one that is too wide for gathers, and level 0 of a mipmapped
// array beside the whole.
//
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t | FileCheck %s
// CHECK: 7 4 3
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.rec %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY: levels grid 1: Match
// REPLAY-NEXT: wide grid 1: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void wide(cudaTextureObject_t T, float *Out) {
  Out[0] = tex2D<float>(T, 39999.5f, 0.5f);
}

__global__ void levels(cudaTextureObject_t T, cudaSurfaceObject_t S, float *Out) {
  Out[1] = tex2DLod<float>(T, 0.25f, 0.25f, 0);
  Out[2] = surf2Dread<float>(S, 4, 0);
  surf2Dwrite(5.0f, S, 4, 1);
}

static cudaTextureObject_t make(const cudaResourceDesc &R, bool IsNormalized) {
  cudaTextureDesc D = {};
  D.addressMode[0] = D.addressMode[1] = cudaAddressModeClamp;
  D.normalizedCoords = IsNormalized;
  cudaTextureObject_t T;
  OK(cudaCreateTextureObject(&T, &R, &D, nullptr));
  return T;
}

int main() {
  static float Row[40000];
  cudaChannelFormatDesc F = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  float *Out, Result[3];
  OK(cudaMalloc(&Out, sizeof(Result)));

  cudaArray_t A, Level;
  cudaResourceDesc R = {};
  Row[39999] = 7;
  OK(cudaMallocArray(&A, &F, 40000, 1));
  OK(cudaMemcpy2DToArray(A, 0, 0, Row, sizeof(Row), sizeof(Row), 1, cudaMemcpyHostToDevice));
  R.resType = cudaResourceTypeArray;
  R.res.array.array = A;
  wide<<<1, 1>>>(make(R, false), Out);

  cudaMipmappedArray_t M;
  float Host[4] = {4, 3, 2, 1};
  OK(cudaMallocMipmappedArray(&M, &F, make_cudaExtent(2, 2, 0), 2, cudaArraySurfaceLoadStore));
  OK(cudaGetMipmappedArrayLevel(&Level, M, 0));
  OK(cudaMemcpy2DToArray(Level, 0, 0, Host, 8, 8, 2, cudaMemcpyHostToDevice));
  cudaResourceDesc RM = {};
  RM.resType = cudaResourceTypeMipmappedArray;
  RM.res.mipmap.mipmap = M;
  R.res.array.array = Level;
  cudaSurfaceObject_t S;
  OK(cudaCreateSurfaceObject(&S, &R));
  levels<<<1, 1>>>(make(RM, true), S, Out);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(Result, Out, sizeof(Result), cudaMemcpyDeviceToHost));
  printf("%g %g %g\n", Result[0], Result[1], Result[2]);
}
