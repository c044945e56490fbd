// Six launches: sizes and inputs differ, but not the scalars A and Mode, the weights, the bias and the order of the indices.
// Prints the results of the first four, as bits.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__device__ float step(float S, float V, float A) { return S * 0.5f + sinf(V * A); }

__global__ void work(const float *In, const int *Idx, const float *W, const float *Bias, float *Out, int N, float A, int Mode) {
  __shared__ float Tile[64];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Tile[threadIdx.x] = I < N ? In[Idx[I]] : 0;
  __syncthreads();
  if (I >= N)
    return;
  float L = Tile[threadIdx.x ? threadIdx.x - 1 : 0];
  float S = 0;
  for (int K = 0; K < 64; ++K)
    S = step(S, In[(I + K) % N], A) * W[K];
  S += Bias[I];
  if (Mode == 1)
    S = -S;
  if (In[I] < 0)
    S = 0;
  Out[I] = S + L;
}

int main() {
  static float Host[1024], Weights[64], Zero[1024];
  static int Index[1024];
  float *In, *Out, *W, *Bias;
  int *Idx;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  cudaMalloc(&Idx, sizeof(Index));
  cudaMalloc(&W, sizeof(Weights));
  cudaMalloc(&Bias, sizeof(Zero));
  for (float &F : Weights)
    F = 0.75f;
  for (int I = 0; I < 1024; ++I)
    Index[I] = I;
  cudaMemcpy(W, Weights, sizeof(Weights), cudaMemcpyHostToDevice);
  cudaMemcpy(Bias, Zero, sizeof(Zero), cudaMemcpyHostToDevice);
  cudaMemcpy(Idx, Index, sizeof(Index), cudaMemcpyHostToDevice);
  for (int N = 128; N <= 768; N += 128) {
    for (int I = 0; I < 1024; ++I)
      Host[I] = 1 + float((I * 7919 + N) % 613) / 97;
    cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
    work<<<N / 64, 64>>>(In, Idx, W, Bias, Out, N, 2.0f, 0);
    static unsigned Bits[1024];
    cudaMemcpy(Bits, Out, N * sizeof(float), cudaMemcpyDeviceToHost);
    for (int I = 0; I < N && N <= 512; ++I)
      printf("%u\n", Bits[I]);
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
