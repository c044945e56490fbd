// Kernels of which a version can be wrong for contents that the recording lacks.
//   app clamp|relu|lists|scatter
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

constexpr int N = 1024, Length = 64;

// The recorded elements are below 10.
__global__ void clamp(const float *X, float *Y) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  float V = X[I];
  for (int J = 0; J < 100; ++J)
    if (V > 100.f + J)
      V -= 1.f;
  Y[I] = V * 2;
}

// A NaN becomes 0.
__global__ void relu(const float *X, float *Y) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  float V = X[I];
  Y[I] = V > 0 ? V : 0;
}

struct Item {
  float X;
  int Next;
};

// The items of each recorded list follow each other.
__global__ void lists(const Item *Items, const float *Scales, float *Sums) {
  int T = blockIdx.x * blockDim.x + threadIdx.x;
  float Sum = 0;
  for (int I = Length * T; I >= 0; I = Items[I].Next)
    Sum += Items[I].X;
  Sums[T] = Sum * Scales[T];
}

// Each element has a place of its own.
__global__ void scatter(const int *Places, const float *X, float *Y) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  for (volatile int R = 0; R < 200; R = R + 1)
    ;
  Y[Places[I]] = X[I] * 2;
}

int main(int, char **Argv) {
  static float H[N];
  static Item Links[N];
  static int Order[N];
  float *X, *Y;
  int *Places;
  Item *Items;
  for (int I = 0; I < N; ++I) {
    H[I] = (I % 97 + 1) * 0.1f;
    Order[I] = I * 5 % N;
    Links[I] = {H[I], (I + 1) % Length ? I + 1 : -1};
  }
  cudaMalloc(&X, sizeof(H));
  cudaMalloc(&Y, sizeof(H));
  cudaMalloc(&Items, sizeof(Links));
  cudaMalloc(&Places, sizeof(Order));
  cudaMemcpy(X, H, sizeof(H), cudaMemcpyHostToDevice);
  cudaMemcpy(Items, Links, sizeof(Links), cudaMemcpyHostToDevice);
  cudaMemcpy(Places, Order, sizeof(Order), cudaMemcpyHostToDevice);
  if (!strcmp(Argv[1], "clamp"))
    clamp<<<N / 256, 256>>>(X, Y);
  else if (!strcmp(Argv[1], "relu"))
    relu<<<N / 256, 256>>>(X, Y);
  else if (!strcmp(Argv[1], "scatter"))
    scatter<<<N / 256, 256>>>(Places, X, Y);
  else
    lists<<<1, N / Length>>>(Items, X, Y);
  cudaMemcpy(H, Y, sizeof(H), cudaMemcpyDeviceToHost);
  printf("%g\n", H[0]);
}
