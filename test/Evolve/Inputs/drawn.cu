// Kernels whose recorded launches lack what versions can be wrong for.
//   app triple|move|limit|pick|sums|grids
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

constexpr int N = 4000, Group = 128;

__global__ void triple(const float *A, float *C) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  C[I] = A[I] * 3;
}

struct Body {
  float Mass; // 1 in all recorded bodies.
  int Kind;
  float X;
};

__global__ void move(Body *B) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  B[I].X += B[I].Mass * (B[I].Kind & 15);
}

// All recorded limits are 7.
__global__ void limit(const int *A, const int *Limits, int *C) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  C[I] = A[I] * Limits[I];
}

__global__ void pick(const bool *F, const float *A, float *C) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  C[I] = F[I] ? A[I] : -1;
}

// The last group is a part of one.
__global__ void sums(const int *A, int *Sums, int Count) {
  int T = blockIdx.x * blockDim.x + threadIdx.x, Sum = 0;
  for (int I = T * Group; I < (T + 1) * Group && I < Count; ++I)
    Sum += A[I];
  Sums[T] = Sum;
}

__global__ void grids(const int *A, int *C) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  for (volatile int R = 0; R < 200; R = R + 1)
    ;
  C[I] = A[I] * 5;
}

int main(int, char **Argv) {
  static float Floats[N];
  static int Ints[N];
  static Body Bodies[N];
  static bool Flags[N];
  for (int I = 0; I < N; ++I) {
    Floats[I] = I * 0.25f;
    Ints[I] = I * 7 % 101;
    Bodies[I] = {1, I * 7 % 1001, I * 0.5f};
    Flags[I] = I % 3 == 0;
  }
  float *A, *C;
  int *K, *L, *S;
  Body *B;
  bool *F;
  cudaMalloc(&A, sizeof(Floats));
  cudaMalloc(&C, sizeof(Floats));
  cudaMalloc(&K, sizeof(Ints));
  cudaMalloc(&L, sizeof(Ints));
  cudaMalloc(&S, sizeof(Ints));
  cudaMalloc(&B, sizeof(Bodies));
  cudaMalloc(&F, sizeof(Flags));
  cudaMemcpy(A, Floats, sizeof(Floats), cudaMemcpyHostToDevice);
  cudaMemcpy(K, Ints, sizeof(Ints), cudaMemcpyHostToDevice);
  cudaMemcpy(B, Bodies, sizeof(Bodies), cudaMemcpyHostToDevice);
  cudaMemcpy(F, Flags, sizeof(Flags), cudaMemcpyHostToDevice);
  for (int &I : Ints)
    I = 7;
  cudaMemcpy(L, Ints, sizeof(Ints), cudaMemcpyHostToDevice);
  if (!strcmp(Argv[1], "triple"))
    triple<<<N / 100, 100>>>(A, C);
  else if (!strcmp(Argv[1], "move"))
    move<<<N / 100, 100>>>(B);
  else if (!strcmp(Argv[1], "limit"))
    limit<<<N / 100, 100>>>(K, L, S);
  else if (!strcmp(Argv[1], "pick"))
    pick<<<N / 100, 100>>>(F, A, C);
  else if (!strcmp(Argv[1], "sums"))
    sums<<<1, (N + Group - 1) / Group>>>(K, S, N);
  else
    for (int Blocks = 1; Blocks <= 32; Blocks *= 2)
      grids<<<Blocks, 32>>>(K, S);
  cudaMemcpy(Floats, C, sizeof(Floats), cudaMemcpyDeviceToHost);
  printf("%g\n", Floats[0]);
}
