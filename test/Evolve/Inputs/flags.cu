// Reports bad input, of which the recorded launch has none.
#include <cuda_runtime.h>

__global__ void root(const float *In, float *Out, int *Bad, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  float V = In[I];
  if (V < 0) {
    *Bad = 1;
    V = 0;
  }
  Out[I] = sqrtf(V);
}

int main() {
  static float Host[512];
  float *In, *Out;
  int *Bad;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  cudaMalloc(&Bad, sizeof(int));
  cudaMemset(Bad, 0, sizeof(int));
  for (int I = 0; I < 512; ++I)
    Host[I] = 1 + float(I * 7919 % 613) / 97;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  root<<<8, 64>>>(In, Out, Bad, 500);
  return cudaDeviceSynchronize() != cudaSuccess;
}
