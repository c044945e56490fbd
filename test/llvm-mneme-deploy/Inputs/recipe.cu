// Two kernels that -O3 makes faster than -O0. HARMLESS is an edit that
// optimizations remove, CHANGED one that changes the results. READS_N,
// READS_GRID and READS_THREAD are edits without effect for the launch of this
// program.
#include <cstdio>

__global__ void kept(unsigned *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = x[i];
  for (int k = 0; k < 64; ++k)
    v = v * 17 + (v >> 3);
  x[i] = v;
}

__global__ void edited(unsigned *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = x[i];
#ifdef HARMLESS
  unsigned w = v;
  v = w + 0;
#endif
  for (int k = 0; k < 64; ++k)
    v = v * 13 + (v >> 5);
#ifdef CHANGED
  ++v;
#endif
#ifdef READS_N
  if (n != 4096)
    v = 0;
#endif
#ifdef READS_GRID
  if (gridDim.x == 1000)
    v = 0;
#endif
#ifdef READS_THREAD
  if (threadIdx.x >= blockDim.x)
    v = 0;
#endif
  x[i] = v;
}

int main() {
  const int n = 4096;
  unsigned h[n], *d;
  for (int i = 0; i < n; ++i)
    h[i] = i;
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  kept<<<n / 128, 128>>>(d, n);
  edited<<<n / 128, 128>>>(d, n);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  cudaFree(d);
  printf("%u\n", h[5]);
  return 0;
}
