#include <cstdio>
#include <cuda_runtime.h>

#ifndef STEP
#define STEP 1
#endif

// mneme-knob STEP = 1..4:*2
// mneme-launch block.x = 32 * STEP, grid.x = ceildiv(64, block.x)
// mneme-require STEP <= 2
__global__ void fill(float *P, int N) {
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x)
    P[I] = 2.0f * I;
}

int main() {
  float *P;
  cudaMalloc(&P, 64 * sizeof(float));
  fill<<<2, 32>>>(P, 64);
  return cudaDeviceSynchronize() != cudaSuccess;
}
