// One launch, with mode 5 of 7.
#include <cuda_runtime.h>

__global__ void act(const int *In, int *Out, int N, int Mode) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  for (volatile int R = 0; R < 200; R = R + 1)
    ;
  int V = In[I];
  switch (Mode) {
  case 1: V = V > 0 ? V : 0; break;
  case 2: V = V * V; break;
  case 3: V = abs(V); break;
  case 4: V = V + 1; break;
  case 5: V = V - 1; break;
  case 6: V = -V; break;
  }
  Out[I] = V;
}

int main() {
  static int Host[512];
  int *In, *Out;
  cudaMalloc(&In, sizeof(Host));
  cudaMalloc(&Out, sizeof(Host));
  for (int I = 0; I < 512; ++I)
    Host[I] = I * 7919 % 613;
  cudaMemcpy(In, Host, sizeof(Host), cudaMemcpyHostToDevice);
  act<<<8, 64>>>(In, Out, 500, 5);
  return cudaDeviceSynchronize() != cudaSuccess;
}
