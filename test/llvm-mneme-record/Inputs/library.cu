// A library with a kernel, for programs that load it themselves.
#include <cuda_runtime.h>

__global__ void scale(float *P, int N, float F) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    P[I] *= F;
}

extern "C" int run(float *H, int N, float F) {
  float *P;
  cudaMalloc(&P, N * sizeof(float));
  cudaMemcpy(P, H, N * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<(N + 63) / 64, 64>>>(P, N, F);
  cudaMemcpy(H, P, N * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(P);
  return cudaGetLastError();
}
