// A kernel that finds its buffers in memory, and one that reads a texture.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void batched(float *const *Rows, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Rows[1][I] += Rows[0][I] * 2;
}

__global__ void sampled(float *Out, cudaTextureObject_t T, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I] = tex1Dfetch<float>(T, I) * 2;
}

int main() {
  constexpr int N = 256;
  float H[N], *Rows[2], **Table;
  for (int I = 0; I < N; ++I)
    H[I] = I;
  for (float *&R : Rows) {
    cudaMalloc(&R, sizeof(H));
    cudaMemcpy(R, H, sizeof(H), cudaMemcpyHostToDevice);
  }
  cudaMalloc(&Table, sizeof(Rows));
  cudaMemcpy(Table, Rows, sizeof(Rows), cudaMemcpyHostToDevice);
  batched<<<1, N>>>(Table, N);
  cudaResourceDesc D = {};
  D.resType = cudaResourceTypeLinear;
  D.res.linear.devPtr = Rows[0];
  D.res.linear.sizeInBytes = sizeof(H);
  D.res.linear.desc = cudaCreateChannelDesc<float>();
  cudaTextureDesc Sampler = {};
  cudaTextureObject_t T;
  if (cudaCreateTextureObject(&T, &D, &Sampler, nullptr))
    return 1;
  sampled<<<1, N>>>(Rows[1], T, N);
  cudaMemcpy(H, Rows[1], sizeof(H), cudaMemcpyDeviceToHost);
  printf("%g\n", H[N - 1]);
}
