// A kernel, and a variable that only another kernel uses.
#include <cuda_runtime.h>

__constant__ int Factor = 1;

__global__ void other(int *Out) { *Out = Factor; }

__global__ void twice(int *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I] = 2 * I;
}

int main() {
  int *D;
  cudaMalloc(&D, 1024);
  other<<<1, 1>>>(D);
  twice<<<2, 128>>>(D, 256);
  cudaDeviceSynchronize();
}
