// Launches whose scalar arguments differ.
#include <cstdio>

__global__ void step(float *x, int n, float dt, long long t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += dt * t;
}

int main() {
  const int n = 64;
  float h[n];
  float *d;
  cudaMalloc(&d, sizeof(h));
  cudaMemset(d, 0, sizeof(h));
  for (int t = 1; t != 5; ++t)
    step<<<1, n>>>(d, n, 0.5f, t);
  for (int t = 0; t != 2; ++t)
    step<<<2, n / 2>>>(d, n, 0.5f + t, 7);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%g\n", h[1]);
}
