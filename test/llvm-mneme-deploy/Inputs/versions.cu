// A kernel that is launched like its recorded launch, and otherwise.
//   app [more]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

struct Scale {
  const float *By;
  float Add;
  double Unread;
};

// blend<<<4, 256>>>(X, Y, {By, 1, ...}, 1024)
__global__ void blend(const float *X, float *Y, Scale S, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  Y[I] = Y[I] * 0.5f + X[I];
  Y[I] = Y[I] * 0.5f + X[I] * S.By[I % 16] + S.Add;
}

constexpr int Size = 1024;

/// Allocates, initializes and launches.
static void run(const char *What, int N, int More, int At, int InPlace,
                float Add, int Width = 256) {
  static float H[4 * Size];
  float *X, *Y, *By;
  size_t Bytes = (Size + More) * sizeof(float);
  cudaMalloc(&X, Bytes);
  cudaMalloc(&Y, Bytes);
  cudaMalloc(&By, 64);
  for (int I = 0; I < 4 * Size; ++I)
    H[I] = I % 97 + 1;
  for (float *P : {X, Y})
    cudaMemcpy(P, H, Bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(By, H, 64, cudaMemcpyHostToDevice);
  float *Out = InPlace ? X : Y + At;
  // Padding and what is not read are different each time.
  static int Fill;
  auto *S = static_cast<Scale *>(malloc(sizeof(Scale)));
  memset(S, Fill++, sizeof(Scale));
  S->By = By;
  S->Add = Add;
  blend<<<Size / Width, Width>>>(X + At, Out, *S, N);
  free(S);
  cudaMemcpy(H, Out, (Size - At) * sizeof(float), cudaMemcpyDeviceToHost);
  double Sum = 0;
  for (int I = 0; I < Size - At; ++I)
    Sum += H[I] * (I % 17 + 1);
  printf("%-10s %.9g\n", What, Sum);
  for (float *P : {X, Y, By})
    cudaFree(P);
}

int main(int Argc, char **) {
  run("recorded", Size, 0, 0, 0, 1);
  if (Argc == 1)
    return 0;
  run("again", Size, 0, 0, 0, 1);
  run("scalar", Size - 24, 0, 0, 0, 1);
  run("member", Size, 0, 0, 0, 2);
  run("in place", Size, 0, 0, 1, 1);
  run("larger", Size, 64, 0, 0, 1);
  run("inside", Size, 24, 24, 0, 1);
  run("shape", Size, 0, 0, 0, 1, 128);
}
