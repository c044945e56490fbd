// A grid-stride loop.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(float *Data, int N) {
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x)
    Data[I] = 2 * Data[I] + 1;
}

int main() {
  constexpr int N = 4096;
  float *Data;
  cudaMalloc(&Data, N * sizeof(float));
  cudaMemset(Data, 1, N * sizeof(float));
  scale<<<16, 128>>>(Data, N);
  return cudaDeviceSynchronize() != cudaSuccess;
}
