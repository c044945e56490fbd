// Kernels whose launches differ in where their memory is.
//   app kernel [other]
// Prints the sum of what a launch like the recorded one writes, or with "other"
// of one with other memory.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <unistd.h>

constexpr int N = 1024;
using Word = unsigned long long;

__device__ float G[N];

// G is loaded again, as it may have been written.
__global__ void aliased(float *Out, const float *In) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Out[I] = G[I] + 1;
  Out[I] += G[I] + In[I];
}

__global__ void copied(int *Out, const int *In) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * I >= N)
    return;
  for (int J = 0; J < 4; ++J)
    Out[4 * I + J] = In[4 * I + J];
}

__global__ void biased(float *Out, const float *Bias) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Out[I] = Out[I] * 2 + 1;
#ifndef NO_BIAS
  if (Bias)
    Out[I] += Bias[I];
#endif
}

__global__ void addressed(const Word *Table, float *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  float *B = (float *)Table[0];
  Out[I] = B[I] + 1;
  Out[I] += B[I] * 2;
}

__global__ void mapped(float *Out, const float *In) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Out[I] = Out[I] * 0.5f + In[I];
  Out[I] = Out[I] * 0.5f + In[I];
}

__global__ void seeded(float *Out, Word Seed) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Out[I] = (Seed + I) * 2654435761ull >> 20 & 1023;
}

__global__ void hashed(float *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Out[I] = ((Word)Out + I) * 2654435761ull >> 20 & 1023;
}

__global__ void reversed(const float *End, float *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I)
    return;
  for (int J = 0; J < N; ++J)
    Out[J] = End[-1] + J;
}

struct Range {
  const float *Begin, *End;
};
__global__ void ranged(Range R, float *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I)
    return;
  for (int J = 0; J < N; ++J)
    Out[J] = R.End[-1] + J + (R.Begin == R.End);
}

template <typename T> static T *makeBuffer(size_t Size = sizeof(float) * N) {
  T *P;
  cudaMalloc(&P, Size);
  return P;
}

static float *mapPages(int File) {
  void *P = mmap(nullptr, 2 * sizeof(float) * N, PROT_READ | PROT_WRITE,
                 File < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, File, 0);
  return static_cast<float *>(P);
}

static float *registerPages(float *P) {
  for (int I = 0; I < N; ++I)
    P[I] = I % 97 + 1;
  void *Device = nullptr;
  cudaHostRegister(P, sizeof(float) * N, cudaHostRegisterMapped);
  cudaHostGetDevicePointer(&Device, P, 0);
  return static_cast<float *>(Device);
}

int main(int Argc, char **Argv) {
  bool Other = Argc > 2;
  const char *Kernel = Argv[1];
  auto Is = [&](const char *Name) { return !strcmp(Kernel, Name); };
  float H[N], *A = makeBuffer<float>(), *B = makeBuffer<float>();
  for (int I = 0; I < N; ++I)
    H[I] = I;
  cudaMemcpy(A, H, sizeof(H), cudaMemcpyHostToDevice);
  cudaMemcpy(B, H, sizeof(H), cudaMemcpyHostToDevice);
  float *V, *Result = A;
  if (Is("aliased")) {
    cudaGetSymbolAddress((void **)&V, G);
    cudaMemcpy(V, H, sizeof(H), cudaMemcpyHostToDevice);
    Result = Other ? V : A;
    aliased<<<4, 256>>>(Result, B);
  } else if (Is("copied")) {
    float *To = registerPages(mapPages(-1) + Other);
    float *From = registerPages(mapPages(-1) + Other);
    memset(To, 0, sizeof(H));
    copied<<<1, 256>>>((int *)To, (int *)From);
    Result = To;
  } else if (Is("biased")) {
    biased<<<4, 256>>>(A, Other ? B : nullptr);
  } else if (Is("addressed")) {
    Result = makeBuffer<float>();
    cudaMemcpy(Result, H, sizeof(H), cudaMemcpyHostToDevice);
    float **Table = makeBuffer<float *>(sizeof(A));
    float *Row = Other ? Result : A;
    cudaMemcpy(Table, &Row, sizeof(Row), cudaMemcpyHostToDevice);
    addressed<<<4, 256>>>((Word *)Table, Result);
  } else if (Is("mapped")) {
    int First = memfd_create("a", 0), Second = memfd_create("b", 0);
    ftruncate(First, sizeof(H));
    ftruncate(Second, sizeof(H));
    // Private pages are like those of the device.
    bool IsPrivate = Argc > 3;
    float *Y = mapPages(IsPrivate ? -1 : First);
    float *X = mapPages(IsPrivate ? -1 : Other ? First : Second);
    Result = registerPages(Y);
    float *In = registerPages(X);
    mapped<<<4, 256>>>(Result, In);
  } else if (Is("seeded")) {
    Result = Other ? B : A;
    seeded<<<4, 256>>>(Result, (Word)Result);
  } else if (Is("hashed")) {
    Result = Other ? B : A;
    hashed<<<4, 256>>>(Result);
  } else if (Is("reversed")) {
    reversed<<<4, 256>>>(B + N, Other ? B : A);
  } else if (Is("ranged")) {
    ranged<<<4, 256>>>({B, B + N}, Other ? B : A);
  }
  cudaMemcpy(H, Result, sizeof(H), cudaMemcpyDefault);
  double Sum = 0;
  for (int I = 0; I < N; ++I)
    Sum += (Is("copied") ? ((int *)H)[I] % 1000003 : H[I]) * (I % 7 + 1);
  printf("%.9g %s\n", Sum, cudaGetErrorString(cudaGetLastError()));
}
