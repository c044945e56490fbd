#include <cstdio>

extern __device__ int Offset;
__device__ int twice(int X);

__global__ void compute(int *X) { X[threadIdx.x] = twice(threadIdx.x) + Offset; }

int main() {
  const int N = 64;
  int Host[N], *Dev;
  if (cudaMalloc(&Dev, sizeof(Host)) != cudaSuccess)
    return 1;
  compute<<<1, N>>>(Dev);
  cudaMemcpy(Host, Dev, sizeof(Host), cudaMemcpyDeviceToHost);
  for (int I = 0; I < N; ++I)
    if (Host[I] != 2 * I + 5)
      return 1;
  std::puts("computed");
  return 0;
}
