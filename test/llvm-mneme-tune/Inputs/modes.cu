// The first launch of one kernel is faster with large blocks, the others are slower with them. Another kernel always is faster.
#include <cstdio>

__global__ void work(float *x, const int *mode, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = x[i] + 1;
  if (*mode)
    for (int j = 0; j < int(blockDim.x) * 50; ++j)
      s = s * 1.5f - s * 0.5f;
  x[i] = s;
}

__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = x[i] * 3 + 1;
}

int main() {
  const int n = 4096;
  static float h[n];
  float *d;
  int *mode;
  cudaMalloc(&d, sizeof(h));
  cudaMalloc(&mode, sizeof(int));
  cudaMemset(d, 0, sizeof(h));
  cudaMemset(mode, 0, sizeof(int));
  for (int r = 0; r < 4; ++r) {
    work<<<n, 1>>>(d, mode, n);
    scale<<<n, 1>>>(d, n);
    cudaMemset(mode, 1, sizeof(int));
  }
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%g\n", h[n / 2]);
}
