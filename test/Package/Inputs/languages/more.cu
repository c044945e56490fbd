#include <cub/version.cuh>
template <typename T> __global__ void count(T *Sum) { atomicAdd(Sum, T(1)); }

bool more() {
  int Sum = 0, *Dev;
  if (cudaMalloc(&Dev, sizeof(Sum)) != cudaSuccess)
    return false;
  cudaMemcpy(Dev, &Sum, sizeof(Sum), cudaMemcpyHostToDevice);
  count<<<2, 64>>>(Dev);
  cudaMemcpy(&Sum, Dev, sizeof(Sum), cudaMemcpyDeviceToHost);
  cudaFree(Dev);
  return Sum == 128;
}
