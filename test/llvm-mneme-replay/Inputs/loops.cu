// One kernel with a nest of loops, and a function that it calls.
#include <cstdio>

__device__ __noinline__ float twice(float X) { return X + X; }

__global__ void loops(float *Out, int N) {
  float Sum = 0;
  for (int I = 0; I < N; ++I)
    for (int J = 0; J < I; ++J)
      Sum += Out[J] * N;
  __syncthreads();
  Out[threadIdx.x] = twice(Sum);
}

int main() {
  float Host[32], *Out;
  for (int I = 0; I < 32; ++I)
    Host[I] = I * 0.5f;
  cudaMalloc(&Out, sizeof(Host));
  cudaMemcpy(Out, Host, sizeof(Host), cudaMemcpyHostToDevice);
  loops<<<1, 32>>>(Out, 7);
  cudaMemcpy(Host, Out, sizeof(Host), cudaMemcpyDeviceToHost);
  printf("%g\n", Host[3]);
}
