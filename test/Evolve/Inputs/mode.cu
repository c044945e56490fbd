// A kernel whose scalars decide most of its work. With an argument, it is launched with another mode.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void mix(const unsigned *A, unsigned *C, unsigned N, int Mode) {
  unsigned I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  for (volatile int Q = 0; Q < 1500; Q = Q + 1)
    ;
  unsigned S = A[I];
  for (unsigned R = 0; R < 400; ++R)
    S += Mode * (S / (R + 3) ^ R);
  C[I] = S;
}

int main(int Argc, char **) {
  const int N = 2048;
  static unsigned H[N];
  for (int I = 0; I < N; ++I)
    H[I] = I * 1234567u;
  unsigned *A, *C;
  cudaMalloc(&A, 4 * N);
  cudaMalloc(&C, 4 * N);
  cudaMemcpy(A, H, 4 * N, cudaMemcpyHostToDevice);
  mix<<<N / 128, 128>>>(A, C, N, Argc > 1);
  cudaMemcpy(H, C, 4 * N, cudaMemcpyDeviceToHost);
  unsigned Sum = 0;
  for (unsigned V : H)
    Sum = Sum * 31 + V;
  printf("%u\n", Sum);
}
