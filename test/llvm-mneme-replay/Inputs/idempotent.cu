// Kernels whose second launch changes nothing: one only writes its output, one
// reads it, too, one writes a part of it, one hands results from block to block.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(float *Out, const float *In, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I] = 2 * In[I];
}

__global__ void atMost(float *Out, const float *In, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N && Out[I] > In[I])
    Out[I] = In[I];
}

struct Pair {
  int Kept, Set;
};
__global__ void set(Pair *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Out[I].Set = I;
}

// The second block waits for what the first one leaves.
__global__ void chain(volatile int *Out) {
  if (threadIdx.x)
    return;
  while (blockIdx.x && Out[2 * blockIdx.x - 1] != 1)
    ;
  Out[2 * blockIdx.x] = blockIdx.x ? Out[2 * blockIdx.x - 2] + 1 : 7;
  __threadfence();
  Out[2 * blockIdx.x + 1] = 1;
}

int main() {
  constexpr int N = 1000;
  float *Out, *In;
  cudaMalloc(&Out, 8 * N);
  cudaMalloc(&In, 4 * N);
  float Values[N];
  for (int I = 0; I < N; ++I)
    Values[I] = I % 7 - 3;
  cudaMemcpy(In, Values, 4 * N, cudaMemcpyHostToDevice);
  for (int I = 0; I < 2; ++I)
    twice<<<4, 256>>>(Out, In, N);
  for (int I = 0; I < 2; ++I)
    atMost<<<4, 256>>>(Out, In, N);
  cudaMemset(Out, 0, 8 * N);
  for (int I = 0; I < 2; ++I)
    set<<<4, 256>>>(reinterpret_cast<Pair *>(Out), N);
  cudaMemset(Out, 0, 8 * N);
  for (int I = 0; I < 2; ++I)
    chain<<<2, 32>>>(reinterpret_cast<int *>(Out));
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
