// Adds two buffers.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(const int *A, const int *B, int *C, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    C[I] = A[I] + 2 * B[I];
}

int main() {
  const int N = 4096;
  static int H[N];
  for (int I = 0; I < N; ++I)
    H[I] = I * 7919 % 1009;
  int *A, *B, *C;
  cudaMalloc(&A, sizeof(H));
  cudaMalloc(&B, sizeof(H));
  cudaMalloc(&C, sizeof(H));
  cudaMemcpy(A, H, sizeof(H), cudaMemcpyHostToDevice);
  cudaMemcpy(B, H + N / 2, sizeof(H) / 2, cudaMemcpyHostToDevice);
  fprintf(stderr, "%ld\n", long(B - A)); // For the test's version.
  add<<<N / 256, 256>>>(A, B, C, N);
  cudaMemcpy(H, C, sizeof(H), cudaMemcpyDeviceToHost);
  printf("%d\n", H[17]);
}
