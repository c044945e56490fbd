// Launches with known work: a copy, and a sum of which a block reads what another wrote.
#include <cstdio>

__global__ void copy(const float *In, float *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I] = 2 * In[I];
}

// Reads every eighth float, one of each sector, and writes four adjacent ones of every 32.
__global__ void sparse(const float *In, float *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I / 4 * 32 + I % 4] = In[I * 8] + 1;
}

int main() {
  constexpr int N = 1 << 14;
  float *In, *Out;
  cudaMalloc(&In, 8 * N * sizeof(float));
  cudaMalloc(&Out, 8 * N * sizeof(float));
  cudaMemset(In, 0, 8 * N * sizeof(float));
  cudaMemset(Out, 0, 8 * N * sizeof(float));
  copy<<<N / 256, 256>>>(In, Out, N);
  sparse<<<N / 256, 256>>>(In, Out, N);
  puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
