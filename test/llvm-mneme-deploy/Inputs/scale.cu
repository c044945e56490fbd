// A kernel that depends on the global index only. It is much faster if the
// modulus is a known power of two.
#include <cstdio>

#ifdef USES_VARIABLE
USES_VARIABLE unsigned offset;
#else
#define offset 0
#endif

#ifdef WRITES_VARIABLE
__global__ void write() { offset = 1; }
#endif

__global__ void scale(unsigned *x, unsigned modulus, unsigned rounds, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned v = x[i];
#ifdef USES_THREAD
  // For blocks of a power of two, and these only, the same as (i & 1).
  v += threadIdx.x & 1;
#endif
  for (unsigned k = 0; k < rounds; ++k)
    v = (v * 17 + k) % modulus;
  x[i] = v + offset;
}

int main(int argc, char **) { // app [again [same]]
  const int n = 4096;
  unsigned h[n], *d;
  for (int i = 0; i < n; ++i)
    h[i] = i;
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  scale<<<n / 128, 128>>>(d, 64, 200, n);
  if (argc > 1)
    scale<<<n / 256, 256>>>(d, argc > 2 ? 64 : 32, 200, n);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  cudaFree(d);
  printf("%u\n", h[5]);
  return 0;
}
