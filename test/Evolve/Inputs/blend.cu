// Two scalars.
#include <cuda_runtime.h>

__global__ void blend(const float *In, float *Out, float A, float B) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  float W = A;
  float S = In[I];
  for (int K = 0; K < 32; ++K)
    S = 0.5f * S + W * In[(I + K) % 1024];
  Out[I] = S + B * In[I];
}

int main() {
  static float Host[1024];
  float *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  for (int I = 0; I < 1024; ++I)
    Host[I] = float(I * 7919 % 613) / 97;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  blend<<<16, 64>>>(In, Out, 2.0f, 3.0f);
  return cudaDeviceSynchronize() != cudaSuccess;
}
