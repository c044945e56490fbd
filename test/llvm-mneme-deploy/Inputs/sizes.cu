// A kernel for which the best thread block depends on an argument. The first
// launch prefers small blocks, the second large ones; the application uses
// neither.
#include <cstdio>

__global__ void pick(unsigned *x, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  bool slow = limit > 0 ? int(blockDim.x) > limit : int(blockDim.x) < -limit;
  unsigned v = x[i] >> 20; // 0, which the compiler does not know
  for (int k = 0; k < (slow ? 4000 : 10); ++k)
    v = v * 17 % 61;
  x[i] += v + 1;
}

int main(int argc, char **) { // app [other]
  const int n = 4096;
  unsigned h[n] = {}, *d;
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  pick<<<n / 128, 128>>>(d, n, 64);
  pick<<<n / 128, 128>>>(d, n, -256);
  if (argc > 1)
    pick<<<n / 128, 128>>>(d, n, -100);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  cudaFree(d);
  printf("%u\n", h[5]);
  return 0;
}
