// The kernel of examples/saxpy.cu, for json-outputs.sh: it has a constant and
// variables. Compiled with test/Inputs/small-cuda.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Parameters {
  float Alpha;
  float Limit;
};

__constant__ Parameters Params = {1.5f, 2.0f};
__device__ unsigned NumClamped;
__device__ float Bias = 0.25f;

__global__ void saxpy(const float *__restrict__ X, float *__restrict__ Y,
                      int N) {
  for (int I = blockIdx.x * blockDim.x + threadIdx.x; I < N;
       I += gridDim.x * blockDim.x) {
    float V = fmaf(Params.Alpha, X[I], Y[I]) + Bias;
    if (V > Params.Limit) {
      atomicAdd(&NumClamped, 1u);
      V = Params.Limit;
    }
    Y[I] = V;
  }
}

int main(int, char **Argv) {
  const int N = atoi(Argv[1]);
  float *X, *Y, *Host = new float[N];
  for (int I = 0; I < N; ++I)
    Host[I] = I * 7919 % 613 / 306.f - 1;
  cudaMalloc(&X, N * sizeof(float));
  cudaMalloc(&Y, N * sizeof(float));
  cudaMemcpy(X, Host, N * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(Y, Host, N * sizeof(float), cudaMemcpyHostToDevice);
  for (int R = 0; R < 3; ++R)
    saxpy<<<128, 256>>>(X, Y, N);
  cudaMemcpy(Host, Y, N * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%g\n", Host[N - 1]);
}
