// A matrix product that computes everything twice; with an argument, also of
// smaller matrices.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void matmul(const float *A, const float *B, float *C, int N) {
  int Row = blockIdx.y * blockDim.y + threadIdx.y;
  int Col = blockIdx.x * blockDim.x + threadIdx.x;
  float Sum = 0;
  constexpr int Rounds = 2;
  for (volatile int Round = 0; Round < Rounds; Round = Round + 1) {
    Sum = 0;
    for (int K = 0; K < N; ++K)
      Sum += A[Row * N + K] * B[K * N + Col];
  }
  C[Row * N + Col] = Sum;
}

int main(int argc, char **) {
  constexpr int N = 128;
  static float Host[N * N];
  float *A, *B, *C;
  cudaMalloc(&A, sizeof(Host));
  cudaMalloc(&B, sizeof(Host));
  cudaMalloc(&C, sizeof(Host));
  for (int I = 0; I < N * N; ++I)
    Host[I] = float(I % 13) / 4;
  cudaMemcpy(A, Host, sizeof(Host), cudaMemcpyHostToDevice);
  cudaMemcpy(B, Host, sizeof(Host), cudaMemcpyHostToDevice);
  matmul<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(A, B, C, N);
  if (argc > 1)
    matmul<<<dim3(N / 32, N / 32), dim3(16, 16)>>>(A, B, C, N / 2);
  if (cudaMemcpy(Host, C, sizeof(Host), cudaMemcpyDeviceToHost))
    return 1;
  double Total = 0;
  for (int I = 0; I < N * N / (argc > 1 ? 4 : 1); ++I)
    Total += Host[I];
  printf("%g\n", Total);
}
