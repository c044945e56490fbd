// Sizes that depend on each other.
#include <cuda_runtime.h>

__global__ void rows(const float *In, float *Out, int Size, int Rows, int Columns) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= Size || Rows * Columns != Size)
    return;
  float S = 0;
  for (int K = 0; K < Columns; ++K)
    S += In[I / Columns * Columns + K];
  Out[I] = S + In[I];
}

int main() {
  static float Host[1024];
  float *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  for (int I = 0; I < 1024; ++I)
    Host[I] = float(I * 7919 % 613) / 97;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  rows<<<16, 64>>>(In, Out, 1024, 32, 32);
  return cudaDeviceSynchronize() != cudaSuccess;
}
