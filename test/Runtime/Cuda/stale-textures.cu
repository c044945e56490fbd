// A recording of the host device has all objects of the application. A replay on a
// GPU makes those that the launch gets: the elements of the others may be gone.
//
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t | FileCheck %s
// CHECK: 3
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.rec %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY: surface grid 1: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void surface(cudaSurfaceObject_t S, float *Out) {
  float V = surf2Dread<float>(S, 4, 1) + 1;
  surf2Dwrite(V, S, 4, 1);
  Out[0] = V;
}

int main() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  float *Out, Host[32], V;
  for (float &H : Host)
    H = 2;
  OK(cudaMalloc(&Out, 4096));
  // No handle is all ones.
  OK(cudaMemset(Out, 0xff, 4096));

  cudaMipmappedArray_t M;
  OK(cudaMallocMipmappedArray(&M, &F, make_cudaExtent(8, 4, 0), 4));
  cudaArray_t Level, A;
  OK(cudaGetMipmappedArrayLevel(&Level, M, 0));
  cudaResourceDesc R = {};
  R.resType = cudaResourceTypeMipmappedArray;
  R.res.mipmap.mipmap = M;
  cudaTextureDesc T = {};
  cudaTextureObject_t Stale;
  OK(cudaCreateTextureObject(&Stale, &R, &T, nullptr));
  OK(cudaFreeMipmappedArray(M));

  OK(cudaMallocArray(&A, &F, 8, 4, cudaArraySurfaceLoadStore));
  OK(cudaMemcpy2DToArray(A, 0, 0, Host, 32, 32, 4, cudaMemcpyHostToDevice));
  R.resType = cudaResourceTypeArray;
  R.res.array.array = A;
  cudaSurfaceObject_t S;
  OK(cudaCreateSurfaceObject(&S, &R));
  surface<<<1, 1>>>(S, Out);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(&V, Out, 4, cudaMemcpyDeviceToHost));
  printf("%g\n", V);
}
