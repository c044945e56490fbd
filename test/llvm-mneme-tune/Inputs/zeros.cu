// Doubles numbers: in small blocks those of a buffer of zeros, which stays as it is; in large blocks those of another.
#include <cstdio>

__global__ void twice(float *p, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    p[i] = p[i] + p[i];
}

int main() {
  const int n = 1 << 16;
  static float h[n];
  float *zeros, *p;
  cudaMalloc(&zeros, n * sizeof(float));
  cudaMemset(zeros, 0, n * sizeof(float));
  cudaMalloc(&p, n * sizeof(float));
  for (int i = 0; i != n; ++i)
    h[i] = float(i % 100);
  cudaMemcpy(p, h, sizeof(h), cudaMemcpyHostToDevice);
  twice<<<4, 1>>>(zeros, n);
  twice<<<512, 128>>>(p, n);
  cudaMemcpy(h, p, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%g\n", h[99]);
}
