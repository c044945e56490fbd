// A kernel with the largest block.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(const float *In, float *Out) {
  Out[threadIdx.x] = 2 * In[threadIdx.x];
}

int main() {
  static float Host[1024];
  float *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  for (int I = 0; I < 1024; ++I)
    Host[I] = float(I % 13) / 4;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  twice<<<1, 1024>>>(In, Out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
