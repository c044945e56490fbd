// Multiplies zeros.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(const float *A, float *C, int N, int Steps) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N || Steps < 0)
    return;
  float S = A[I];
  for (volatile int R = 0; R < 200; R = R + 1)
    ;
  C[I] = S * 3;
}

int main() {
  constexpr int N = 512;
  float *A, *C, Host[N];
  cudaMalloc(&A, sizeof(Host));
  cudaMalloc(&C, sizeof(Host));
  cudaMemset(A, 0, sizeof(Host));
  cudaMemset(C, 0, sizeof(Host));
  scale<<<N / 64, 64>>>(A, C, N, 2000);
  cudaMemcpy(Host, C, sizeof(Host), cudaMemcpyDeviceToHost);
  printf("%g\n", Host[0]);
}
