// A kernel that is launched cooperatively, and then as others are.
#include <cuda_runtime.h>

__global__ void twice(const float *In, float *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I] = In[I] * 2;
}

int main() {
  static float Host[512];
  int N = 512;
  float *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  for (int I = 0; I < N; ++I)
    Host[I] = I;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  void *Args[] = {&In, &Out, &N};
  cudaLaunchCooperativeKernel((void *)twice, dim3(8), dim3(64), Args, 0, 0);
  twice<<<8, 64>>>(In, Out, N);
  return cudaDeviceSynchronize() != cudaSuccess;
}
