#include "scale.h"
#include <cstdio>
#include <cuda_runtime.h>

__global__ void other(float *P) { P[0] = 0; }

int main() {
  float *P;
  cudaMalloc(&P, 64 * sizeof(float));
  cudaMemset(P, 1, 64 * sizeof(float));
  apply<<<2, 32>>>(P, 64, Twice());
  return cudaDeviceSynchronize() != cudaSuccess;
}
