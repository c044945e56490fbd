// Without a pipeline, a replay makes the machine code that clang made for the
// application: every kernel, every level, byte for byte.
// RUN: rm -rf %t && mkdir %t %t/0 %t/1 %t/2 %t/3 %t/s %t/z
// Debug information and fusion change the code besides the level.
// RUN: %python %S/Inputs/fidelity.py %t/0 llvm-mneme-record llvm-mneme-replay 0 %cuda_command -g %s
// RUN: %python %S/Inputs/fidelity.py %t/1 llvm-mneme-record llvm-mneme-replay 1 %cuda_command %s
// RUN: %python %S/Inputs/fidelity.py %t/2 llvm-mneme-record llvm-mneme-replay 2 %cuda_command -ffp-contract=off %s
// RUN: %python %S/Inputs/fidelity.py %t/3 llvm-mneme-record llvm-mneme-replay 3 %cuda_command %s
// RUN: %python %S/Inputs/fidelity.py %t/s llvm-mneme-record llvm-mneme-replay s %cuda_command %s
// RUN: %python %S/Inputs/fidelity.py %t/z llvm-mneme-record llvm-mneme-replay z %cuda_command %s

#include <cuda_fp16.h>

__constant__ float Scale[16];
__device__ int Counter;

__global__ void saxpy(float A, const float *X, float *Y, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Y[I] = A * X[I] + Y[I];
}

// libdevice, whose own code is fused or not as the whole compilation says.
__global__ void transcendental(const double *X, double *Y, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N) {
    Y[I] = sin(X[I]) * exp(X[I]) + pow(fabs(X[I]), 1.7);
    atomicAdd(&Counter, 1);
  }
}

__global__ void matmul(const float *A, const float *B, float *C, int N) {
  __shared__ float TileA[16][16], TileB[16][16];
  int X = threadIdx.x, Y = threadIdx.y;
  int Row = blockIdx.y * 16 + Y, Column = blockIdx.x * 16 + X;
  float Sum = 0;
  for (int T = 0; T < N / 16; ++T) {
    TileA[Y][X] = A[Row * N + T * 16 + X];
    TileB[Y][X] = B[(T * 16 + Y) * N + Column];
    __syncthreads();
    for (int K = 0; K < 16; ++K)
      Sum += TileA[Y][K] * TileB[K][X];
    __syncthreads();
  }
  C[Row * N + Column] = Sum * Scale[X];
}

// Pairs that only the SLP vectorizer finds; clang runs it, opt's default<O2> does not.
__global__ void pairs(const __half *X, __half *Y, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * I + 1 < N) {
    Y[2 * I] = X[2 * I] * __half(2) + Y[2 * I];
    Y[2 * I + 1] = X[2 * I + 1] * __half(2) + Y[2 * I + 1];
  }
}

// Large copies of structs, local arrays, spills.
struct Big {
  float V[64];
};
__global__ __launch_bounds__(64, 16) void spill(Big In, float *Out, int N) {
  Big Local = In;
  for (int J = 0; J < N; ++J)
    for (int I = 0; I < 64; ++I)
      Local.V[I] = Local.V[I] * Local.V[(I * 7 + 3) & 63] + Local.V[(I + J) & 63];
  for (int I = 0; I < 64; ++I)
    Out[I * 64 + threadIdx.x] = Local.V[I];
}

int main() {
  char *Memory;
  cudaMalloc(&Memory, 1 << 20);
  cudaMemset(Memory, 0, 1 << 20);
  float *F = reinterpret_cast<float *>(Memory);
  double *D = reinterpret_cast<double *>(Memory);
  __half *H = reinterpret_cast<__half *>(Memory);
  saxpy<<<1, 32>>>(2, F, F + 100, 32);
  transcendental<<<1, 32>>>(D, D + 100, 32);
  matmul<<<dim3(2, 2), dim3(16, 16)>>>(F, F + 1024, F + 2048, 32);
  pairs<<<1, 32>>>(H, H + 1000, 64);
  spill<<<1, 64>>>(Big(), F, 2);
  return cudaDeviceSynchronize() != cudaSuccess;
}
