// A histogram and the sum of each block, which need atomic operations and barriers.
#include <cuda_runtime.h>

__global__ void histogram(const int *Keys, const float *V, int *Bins, float *Sums, int N) {
  __shared__ float Part[128];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    atomicAdd(&Bins[Keys[I]], 1);
  Part[threadIdx.x] = I < N ? V[I] : 0;
  __syncthreads();
  for (int S = blockDim.x / 2; S > 0; S /= 2) {
    if (threadIdx.x < S)
      Part[threadIdx.x] += Part[threadIdx.x + S];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    Sums[blockIdx.x] = Part[0];
}

int main() {
  static int K[8192];
  static float V[8192];
  int *Keys, *Bins;
  float *Values, *Sums;
  cudaMalloc(&Keys, sizeof(K));
  cudaMalloc(&Values, sizeof(V));
  cudaMalloc(&Bins, 64 * sizeof(int));
  cudaMalloc(&Sums, 64 * sizeof(float));
  for (int N = 1024; N <= 8192; N *= 2) {
    for (int I = 0; I < N; ++I) {
      K[I] = (I * 7919 + N) % 61;
      V[I] = (I * 31 % 101) / 7.f;
    }
    cudaMemcpy(Keys, K, sizeof(K), cudaMemcpyHostToDevice);
    cudaMemcpy(Values, V, sizeof(V), cudaMemcpyHostToDevice);
    cudaMemset(Bins, 0, 64 * sizeof(int));
    histogram<<<N / 128, 128>>>(Keys, Values, Bins, Sums, N);
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
