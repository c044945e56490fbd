#include <cstdio>

__global__ void endless(volatile int *Go) {
  while (*Go)
    ;
}

int main() {
  int *Go;
  cudaMalloc(&Go, sizeof(int));
  cudaMemset(Go, 1, sizeof(int));
  endless<<<1, 1>>>(Go);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
