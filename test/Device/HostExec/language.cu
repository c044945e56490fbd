// REQUIRES: cuda-toolkit, device-host
//
// What CUDA C++ has beside arithmetic: ways of passing arguments, calls, local arrays,
// variables of every kind, printf. The full matrix of options.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: %cuda_cc -O1 %s -o %t.O1
// RUN: %cuda_cc -O2 %s -o %t.O2
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: %cuda_cc -Oz %s -o %t.Oz
// RUN: %cuda_cc -O0 -g %s -o %t.g
// RUN: %cuda_cc -O2 -ffast-math %s -o %t.fast
// RUN: for C in O0.auto O1.auto O2.auto O3.auto Oz.auto g.auto fast.auto O0.coroutine O2.coroutine O0.fiber O2.fiber; do \
// RUN: for F in none O3; do \
// RUN:   echo $C $F; env MNEME_HOST_STRATEGY=${C#*.} MNEME_HOST_FINISH=$F \
// RUN:   llvm-mneme-record --device=host --check-code=0 -o %t.$C.$F -- %t.${C%%.*} || exit 1; \
// RUN: done; done > %t.log
// RUN: FileCheck %s < %t.log
// RUN: FileCheck %s --check-prefix=PRINT < %t.log
// CHECK-COUNT-22: {{^}}all right
// PRINT-COUNT-22: kernel 42 21.00 string x 10000000000 %

#include "Inputs/check.h"

struct Big {
  int A[40];
  double D;
  const int *P;
};

__constant__ int Table[16];
__constant__ float Scale = 2.5f;
__device__ int Global = 7;
__device__ int Zeroed[8];
__device__ const char *Text = "device text";
__device__ int *Pointer = &Global;

// Each thread changes its own copy.
__global__ void byValue(Big B, int *Out) {
  int T = threadIdx.x;
  B.A[T] += 100 * T;
  B.A[0] += T;
  Out[T] = B.A[T] + B.A[0] + (int)B.D + B.P[T % 4];
}

__global__ void gridConstant(const __grid_constant__ Big B, int *Out) {
  const int *P = &B.A[threadIdx.x];
  Out[threadIdx.x] = *P + (int)B.D;
}

__device__ int addOne(int X) { return X + 1; }
__device__ int doubled(int X) { return 2 * X; }
__device__ int squared(int X) { return X * X; }
typedef int (*Function)(int);
__device__ const Function Functions[] = {addOne, doubled, squared};
__device__ __noinline__ int apply(Function F, int X) { return F(X); }

__global__ void indirect(int *Out) {
  int T = threadIdx.x;
  Out[T] = apply(Functions[T % 3], T);
}

__device__ int fibonacci(int N) {
  return N < 2 ? N : fibonacci(N - 1) + fibonacci(N - 2);
}
__global__ void recursion(int *Out) { Out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__device__ __noinline__ int exchange(int *S, int V) {
  S[threadIdx.x] = V;
  __syncthreads();
  int R = S[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  return R;
}
__device__ int nested(int *S, int V, int Depth) {
  return Depth == 0 ? V : nested(S, exchange(S, V) + 1, Depth - 1);
}
// A barrier in a function that recurses.
__global__ void synchronizedRecursion(int *Out) {
  __shared__ int S[64];
  Out[threadIdx.x] = nested(S, threadIdx.x * 10, 3);
}

__global__ void localArrays(const int *In, int *Out) {
  int L[16], T = threadIdx.x;
  for (int I = 0; I < 16; ++I)
    L[I] = In[(T + I) % 64];
  for (int I = 0; I < 16; ++I)
    for (int J = I + 1; J < 16; ++J)
      if (L[J] < L[I]) {
        int X = L[I];
        L[I] = L[J], L[J] = X;
      }
  Out[T] = L[T % 16];
}

__global__ void variables(int *Out) {
  int T = threadIdx.x;
  Out[T] = Table[T % 16] + (int)(Scale * 4) + *Pointer;
  atomicAdd(&Zeroed[T % 8], 1);
  if (T == 0)
    Out[64] = Text[7];
}

__global__ void dynamicShared(const int *In, int *Out) {
  extern __shared__ int S[];
  __shared__ int Static[3];
  double *D = (double *)(S + blockDim.x);
  int T = threadIdx.x;
  if (T < 3)
    Static[T] = T + 1;
  S[T] = In[T];
  D[T] = In[T] * 0.5;
  __syncthreads();
  int R = blockDim.x - 1 - T;
  Out[blockIdx.x * blockDim.x + T] = S[R] + (int)D[R] + Static[blockIdx.x % 3];
}

__global__ void geometry(int *Out) {
  int X = blockIdx.x * blockDim.x + threadIdx.x, Y = blockIdx.y * blockDim.y + threadIdx.y;
  int Z = blockIdx.z * blockDim.z + threadIdx.z;
  int W = gridDim.x * blockDim.x, H = gridDim.y * blockDim.y;
  Out[(Z * H + Y) * W + X] = X + 100 * Y + 10000 * Z;
}

template <int K> __global__ void shapes(int *Out) {
  int T = threadIdx.x, R = 0;
  switch (T % 5) {
  case 0: R = K; break;
  case 1: for (int I = 0; I < T; ++I) R += I % K; break;
  case 2: R = T > 30 ? -1 : 1; break;
  case 3: do R += 3; while (R < T); break;
  default: return;
  }
  Out[T] = R;
}

__global__ void print(int V) {
  if (threadIdx.x == 1)
    printf("kernel %d %5.2f %s %c %llx %%\n", V, V * 0.5, "string", 'x', 1ull << 40);
}

static int hostFibonacci(int N) { return N < 2 ? N : hostFibonacci(N - 1) + hostFibonacci(N - 2); }

int main() {
  Buffer<int> In(64), Out(4096);
  for (int I = 0; I < 64; ++I)
    In[I] = (I * 2654435761u) >> 22;
  Big B;
  for (int I = 0; I < 40; ++I)
    B.A[I] = I * 3;
  B.D = 17, B.P = In;
  byValue<<<1, 40>>>(B, Out);
  launched();
  for (int T = 0; T < 40; ++T)
    expect("byval", T, Out[T], T * 3 + (T ? 100 * T + T : 0) + 17 + In[T % 4]);
  gridConstant<<<1, 40>>>(B, Out);
  launched();
  for (int T = 0; T < 40; ++T)
    expect("grid constant", T, Out[T], T * 3 + 17);
  indirect<<<1, 64>>>(Out);
  launched();
  for (int T = 0; T < 64; ++T)
    expect("indirect", T, Out[T], T % 3 == 0 ? T + 1 : T % 3 == 1 ? 2 * T : T * T);
  recursion<<<1, 64>>>(Out);
  launched();
  for (int T = 0; T < 64; ++T)
    expect("recursion", T, Out[T], hostFibonacci(T % 12));
  synchronizedRecursion<<<1, 64>>>(Out);
  launched();
  for (int T = 0; T < 64; ++T)
    expect("synchronized recursion", T, Out[T], (63 - T) * 10 + 3);
  localArrays<<<1, 64>>>(In, Out);
  launched();
  for (int T = 0; T < 64; ++T) {
    std::vector<int> L;
    for (int I = 0; I < 16; ++I)
      L.push_back(In[(T + I) % 64]);
    for (int I = 0; I < 16; ++I)
      for (int J = I + 1; J < 16; ++J)
        if (L[J] < L[I])
          std::swap(L[I], L[J]);
    expect("local array", T, Out[T], L[T % 16]);
  }
  int HostTable[16], Counts[8];
  for (int I = 0; I < 16; ++I)
    HostTable[I] = I * I;
  CUDA_OK(cudaMemcpyToSymbol(Table, HostTable, sizeof HostTable));
  variables<<<2, 64>>>(Out);
  launched();
  for (int T = 0; T < 64; ++T)
    expect("variables", T, Out[T], (T % 16) * (T % 16) + 10 + 7);
  expect("text", 0, Out[64], (int)'t');
  CUDA_OK(cudaMemcpyFromSymbol(Counts, Zeroed, sizeof Counts));
  for (int I = 0; I < 8; ++I)
    expect("counts", I, Counts[I], 16);
  dynamicShared<<<4, 64, 64 * 12>>>(In, Out);
  launched();
  for (int I = 0; I < 256; ++I)
    expect("dynamic", I, Out[I], In[63 - I % 64] + In[63 - I % 64] / 2 + I / 64 % 3 + 1);
  geometry<<<dim3(3, 2, 2), dim3(5, 4, 3)>>>(Out);
  launched();
  for (int I = 0; I < 15 * 8 * 6; ++I)
    expect("geometry", I, Out[I], I % 15 + 100 * (I / 15 % 8) + 10000 * (I / 120));
  for (int I = 0; I < 64; ++I)
    Out[I] = -9;
  shapes<7><<<1, 64>>>(Out);
  launched();
  for (int T = 0; T < 64; ++T) {
    int R = 0;
    for (int I = 0; I < T; ++I)
      R += I % 7;
    int E[] = {7, R, T > 30 ? -1 : 1, (T + 2) / 3 * 3, -9};
    expect("shapes", T, Out[T], E[T % 5]);
  }
  print<<<1, 2>>>(42);
  launched();
  return finish();
}
