// The maximum of the threads of each warp that are in range.
#include <cuda_runtime.h>

__global__ void most(const int *In, int *Out, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned Mask = __ballot_sync(0xffffffffu, I < N);
  if (I >= N)
    return;
  int Lane = threadIdx.x % 32, V = In[I];
  for (int Step = 16; Step > 0; Step /= 2) {
    int From = Lane + Step;
    V = max(V, __shfl_sync(Mask, V, From < 32 && Mask >> From & 1 ? From : Lane));
  }
  if (Lane == 0)
    Out[I / 32] = V;
}

int main() {
  static int Host[512];
  int *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, 16 * sizeof(int));
  for (int I = 0; I < 512; ++I)
    Host[I] = I * 7919 % 613;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  most<<<8, 64>>>(In, Out, 500);
  return cudaDeviceSynchronize() != cudaSuccess;
}
