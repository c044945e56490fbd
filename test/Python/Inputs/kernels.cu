// Two kernels: one with two launches, an annotation and a variable, one that reads beyond what it needs.
#include <cstdio>
#include <mneme/annotate.h>

__device__ int Calls = 3;

__global__ void poly(const float *X, float *Y, int N, double Factor) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I == 0)
    ++Calls;
  if (I >= N)
    return;
  float Sum = 0;
  for (int T = 0; T < 8; ++T)
    Sum += (X[I] + 1) * float(Factor);
  Y[I] = Sum;
}

__global__ void twice(int *A, int N) {
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N; I += gridDim.x * blockDim.x)
    A[I] *= 2;
}

int main() {
  const int N = 4096;
  static float Host[N];
  static int Counts[N];
  float *X, *Y;
  int *A;
  for (int I = 0; I < N; ++I) {
    Host[I] = I * 0.25f;
    Counts[I] = I;
  }
  cudaMalloc(&X, sizeof(Host));
  cudaMalloc(&Y, sizeof(Host));
  cudaMalloc(&A, sizeof(Counts));
  cudaMemcpy(X, Host, sizeof(Host), cudaMemcpyHostToDevice);
  cudaMemcpy(A, Counts, sizeof(Counts), cudaMemcpyHostToDevice);
  mneme::annotate(Y, N, mneme::relative(1e-6), "out");
  poly<<<N / 256, 256>>>(X, Y, N, 0.5);
  poly<<<N / 128, 128>>>(X, Y, N, 0.5);
  twice<<<8, 128>>>(A, N);
  cudaMemcpy(Host, Y, sizeof(Host), cudaMemcpyDeviceToHost);
  printf("%g %s\n", Host[10], cudaGetErrorString(cudaGetLastError()));
}
