// A launch that takes 0.6 s.
#include <cuda_runtime.h>

__global__ void slow(int *P) {
  long long Begin = clock64(), Wait = 600000000;
  while (clock64() - Begin < Wait)
    ;
  *P += 1;
}

int main() {
  int *P;
  cudaMalloc(&P, 4);
  cudaMemset(P, 0, 4);
  slow<<<1, 1>>>(P);
  return cudaDeviceSynchronize();
}
