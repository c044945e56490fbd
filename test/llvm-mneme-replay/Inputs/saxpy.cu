// Two launches of one kernel, with different configurations.
#include <cstdio>

__global__ void saxpy(float A, const float *X, float *Y, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Y[I] = A * X[I] + Y[I];
}

int main(int argc, char **) {
  const int N = 1000;
  float Host[N], *X, *Y;
  for (int I = 0; I < N; ++I)
    Host[I] = I * 0.5f;
  cudaMalloc(&X, sizeof(Host));
  cudaMalloc(&Y, sizeof(Host));
  cudaMemcpy(X, Host, sizeof(Host), cudaMemcpyHostToDevice);
  cudaMemcpy(Y, Host, sizeof(Host), cudaMemcpyHostToDevice);
  saxpy<<<4, 256>>>(2.0f, X, Y, N);
  if (argc > 1)
    saxpy<<<8, 128>>>(2.0f, X, Y, N);
  cudaMemcpy(Host, Y, sizeof(Host), cudaMemcpyDeviceToHost);
  printf("%g %s\n", Host[10], cudaGetErrorString(cudaGetLastError()));
}
