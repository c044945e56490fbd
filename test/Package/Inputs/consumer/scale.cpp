#include <cstdio>
#include <mneme/annotate.h>

__global__ void scale(float *X, float A, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    X[I] *= A;
}

int main() {
  const int N = 1000;
  float Host[N], *Dev;
  for (int I = 0; I < N; ++I)
    Host[I] = I;
  if (cudaMalloc(&Dev, sizeof(Host)) != cudaSuccess)
    return 1;
  cudaMemcpy(Dev, Host, sizeof(Host), cudaMemcpyHostToDevice);
  scale<<<(N + 255) / 256, 256>>>(Dev, 3.0f, N);
  cudaMemcpy(Host, Dev, sizeof(Host), cudaMemcpyDeviceToHost);
  for (int I = 0; I < N; ++I)
    if (Host[I] != 3.0f * I)
      return 1;
  std::puts("scaled");
  return 0;
}
