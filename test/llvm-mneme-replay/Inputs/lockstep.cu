// A kernel that relies on lock-step of a warp: the tile is read by other
// threads than those that write it, without a barrier.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>
__global__ void turn(float *__restrict__ Out, const float *__restrict__ In,
                     int Stride) {
  __shared__ float Tile[16 * 33];
  int X = threadIdx.x, Y = threadIdx.y * 8, M = X & 7;
  float *Column = &Tile[Y * 33 + X], *Row = &Tile[(Y + M) * 33 + X - M];
  In += (blockIdx.y * 16 + Y) * Stride + blockIdx.x * 32 + X;
  Out += (blockIdx.y * 16 + Y) * Stride + blockIdx.x * 32 + X;
  for (int I = 0; I < 8; ++I)
    Column[I * 33] = In[I * Stride];
  float D[8];
  for (int I = 0; I < 8; ++I)
    D[I] = Row[I];
  for (int I = 0; I < 8; ++I)
    Row[I] = D[I] + D[7 - I];
  for (int I = 0; I < 8; ++I)
    D[I] = Column[I * 33];
  for (int I = 0; I < 8; ++I)
    Out[I * Stride] = D[I] - D[7 - I];
}
int main() {
  const int N = 256;
  std::vector<float> H(N * N);
  for (int I = 0; I < N * N; ++I)
    H[I] = I % 1013;
  float *In, *Out;
  cudaMalloc(&In, 4 * N * N);
  cudaMalloc(&Out, 4 * N * N);
  cudaMemcpy(In, H.data(), 4 * N * N, cudaMemcpyHostToDevice);
  turn<<<dim3(N / 32, N / 16), dim3(32, 2)>>>(Out, In, N);
  return cudaDeviceSynchronize();
}
