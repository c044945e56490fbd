// A kernel that reads nothing.
#include <cuda_runtime.h>

__global__ void ramp(float *Out) { Out[threadIdx.x] = threadIdx.x; }

int main() {
  float *Out;
  cudaMalloc(&Out, 64 * sizeof(float));
  ramp<<<1, 64>>>(Out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
