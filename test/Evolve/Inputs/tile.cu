// A transposition whose tile has the size of the recorded block: larger blocks write outside of shared memory.
#include <cuda_runtime.h>

__global__ void transpose(const float *In, float *Out, int N) {
  __shared__ float Tile[16][16];
  int X = blockIdx.x * 16 + threadIdx.x, Y = blockIdx.y * 16 + threadIdx.y;
  if (blockDim.x != 16 || blockDim.y != 16)
    __trap();
  Tile[threadIdx.y][threadIdx.x] = In[Y * N + X];
  __syncthreads();
  Out[(blockIdx.x * 16 + threadIdx.y) * N + blockIdx.y * 16 + threadIdx.x] = Tile[threadIdx.x][threadIdx.y];
}

int main() {
  constexpr int N = 64;
  static float Host[N * N];
  float *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  for (int I = 0; I < N * N; ++I)
    Host[I] = I;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  transpose<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(In, Out, N);
  return cudaDeviceSynchronize() != cudaSuccess;
}
