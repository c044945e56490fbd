// A kernel that writes one variable of the application and reads three others.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int counter;
__device__ int table[64];
__constant__ int factor;
static __device__ int constant = 5; // Nothing writes it.

#ifdef ONLY_IN_DEVICE_CODE
static __device__ int hidden;
#define counter hidden
#endif
#ifdef HAS_ADDRESS
static __constant__ int *const counters[] = {&counter};
#define counter *counters[n & 0]
#endif

__global__ void step(int *x, int n) {
  dim3 block = blockDim; // As in cooperative groups. No variable.
  int i = blockIdx.x * block.x + threadIdx.x;
  if (i >= n)
    return;
  x[i] = x[i] * factor + table[i % 64] + constant;
  atomicAdd(&counter, 1);
}
#undef counter

int main() {
  const int n = 256;
  int x[n], t[64], count, *d;
  for (int i = 0; i < n; ++i)
    x[i] = i;
  for (int i = 0; i < 64; ++i)
    t[i] = 100 * i;
  cudaMalloc(&d, sizeof(x));
  cudaMemcpy(d, x, sizeof(x), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(table, t, sizeof(t));
  for (int f = 2; f < 5; ++f) {
    cudaMemcpyToSymbol(factor, &f, sizeof(f));
    step<<<n / 128, 128>>>(d, n);
    cudaMemcpyFromSymbol(&count, counter, sizeof(count));
    cudaMemcpy(x, d, sizeof(x), cudaMemcpyDeviceToHost);
    printf("%d: %d %d\n", count, x[7], x[255]);
  }
}
