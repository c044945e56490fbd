// A loop that pipelines can do something about; two launches of one kernel.
#include <cmath>
#include <cstdio>

__global__ void poly(const float *X, float *Y, int N, int Terms) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  float V = X[I], Sum = 0;
  for (int T = 0; T < Terms; ++T)
    Sum += (V + 1) * 0.5f;
  Y[I] = Sum;
}

int main(int argc, char **) { // app [again [nan]]
  const int N = 4096;
  static float Host[N];
  float *X, *Y;
  for (int I = 0; I < N; ++I)
    Host[I] = argc > 2 ? NAN : I * 0.25f;
  cudaMalloc(&X, sizeof(Host));
  cudaMalloc(&Y, sizeof(Host));
  cudaMemcpy(X, Host, sizeof(Host), cudaMemcpyHostToDevice);
  poly<<<N / 256, 256>>>(X, Y, N, 8);
  if (argc > 1)
    poly<<<N / 128, 128>>>(X, Y, N, 8);
  cudaMemcpy(Host, Y, sizeof(Host), cudaMemcpyDeviceToHost);
  printf("%g %s\n", Host[10], cudaGetErrorString(cudaGetLastError()));
}
