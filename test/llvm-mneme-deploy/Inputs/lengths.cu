// One thread per block, launched for two lengths: blocks of 32 threads are much faster.
#include <cstdio>

__global__ void scale(float *x, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * by + 1;
}

int main() {
  const int n = 8200;
  static float h[n];
  float *d, sum = 0;
  cudaMalloc(&d, sizeof(h));
  for (int length : {n / 2, n}) {
    for (int i = 0; i < n; ++i)
      h[i] = i % 7;
    cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
    scale<<<length, 1>>>(d, length, 3);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    for (float v : h)
      sum += v;
  }
  cudaFree(d);
  printf("%g\n", sum);
  return 0;
}
