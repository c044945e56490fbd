// Adds buffers of equal elements, slowly; nothing depends on the third one while Mask is 0.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(const unsigned *A, const unsigned *B, const unsigned *C, unsigned *Out, unsigned Mask, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  for (volatile int R = 0; R < 300; R = R + 1)
    ;
  Out[I] = A[I] + B[I] + (C[I] & Mask);
}

int main() {
  constexpr int N = 1 << 16;
  unsigned *In[3], *Out;
  for (int K = 0; K < 3; ++K) {
    cudaMalloc(&In[K], N * sizeof(unsigned));
    cudaMemset(In[K], K + 1, N * sizeof(unsigned));
  }
  cudaMalloc(&Out, N * sizeof(unsigned));
  cudaMemset(Out, 0, N * sizeof(unsigned));
  add<<<N / 64, 64>>>(In[0], In[1], In[2], Out, 0, N);
  puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
