// Four launches of a kernel, with different sizes and inputs.
#include <cstdio>
#include <cuda_runtime.h>

__device__ float weigh(float Left, float Mid, float Right) {
  return 0.25f * Left + 0.5f * Mid + 0.25f * Right;
}

__global__ void smooth(const float *In, float *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  float Left = In[I ? I - 1 : 0], Right = In[I + 1 < N ? I + 1 : N - 1];
  Out[I] = weigh(Left, In[I], Right);
}

int main() {
  float Host[256], *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  for (int N = 64; N <= 256; N += 64) {
    for (int I = 0; I < 256; ++I)
      Host[I] = I ? float((I * 7919 + N) % 613) / 97 : 5.0f;
    cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
    smooth<<<N / 32, 32>>>(In, Out, N);
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
