// A variable that only another kernel writes, and after the recorded launch.
//   app [more]
#include <cstdio>
#include <cuda_runtime.h>

static __device__ float Factor[4] = {1, 1, 1, 1};
static __device__ float Never[4] = {1, 2, 3, 4};

__global__ void scale(float *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I] = Out[I] * Factor[I % 4] + Never[I % 4];
}

__global__ void set(float To) { Factor[threadIdx.x] = To; }

int main(int Argc, char **) {
  float H[1024], *D, Sum = 0;
  cudaMalloc(&D, sizeof(H));
  for (int I = 0; I < 1024; ++I)
    H[I] = I % 16;
  cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice);
  scale<<<4, 256>>>(D, 1024);
  if (Argc > 1) {
    set<<<1, 4>>>(3);
    scale<<<4, 256>>>(D, 1024);
  }
  cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost);
  for (float X : H)
    Sum += X;
  printf("%g\n", Sum);
}
