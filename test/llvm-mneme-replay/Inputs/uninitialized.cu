// Kernels that read what they have not written: local variables, a variable that
// keeps no memory, static and dynamic shared memory; and one that does not.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void local(int *P, int N) {
  volatile int Array[8];
  for (int I = 0; I < N; ++I)
    Array[I] = I;
  P[threadIdx.x] = Array[threadIdx.x];
}

__global__ void scalar(float *P, int N) {
  float Sum;
  for (int I = 0; I < N; ++I)
    Sum = Sum + I;
  P[threadIdx.x] = Sum;
}

__global__ void tile(int *P, int N) {
  __shared__ int Tile[8];
  if (threadIdx.x < N)
    Tile[threadIdx.x] = 1;
  __syncthreads();
  P[threadIdx.x] = Tile[7 - threadIdx.x];
}

__global__ void dynamic(int *P, int N) {
  extern __shared__ int Dynamic[];
  if (threadIdx.x < N)
    Dynamic[threadIdx.x] = 1;
  __syncthreads();
  P[threadIdx.x] = Dynamic[7 - threadIdx.x];
}

__global__ void whole(int *P, int N) {
  __shared__ int Tile[8];
  volatile int Array[8];
  for (int I = 0; I < 8; ++I)
    Array[I] = I * N;
  Tile[threadIdx.x] = Array[7 - threadIdx.x];
  __syncthreads();
  P[threadIdx.x] = Tile[threadIdx.x ^ 1];
}

int main() {
  void *P;
  cudaMalloc(&P, 32);
  local<<<1, 8>>>((int *)P, 4);
  scalar<<<1, 8>>>((float *)P, 4);
  tile<<<1, 8>>>((int *)P, 4);
  dynamic<<<1, 8, 32>>>((int *)P, 4);
  whole<<<1, 8>>>((int *)P, 4);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
