// A program of many calls, for tests of short memory. It ends with 0 and its result,
// or with 3 where a call has said that there is no memory.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <mneme/annotate.h>
#include <mneme/record.h>
#include <unistd.h>

static void print(const char *Text) {
  // Not by the C library, which may need memory.
  if (write(1, Text, strlen(Text)) < 0)
    _exit(4);
}

static void check(cudaError_t E, int Line) {
  if (E == cudaSuccess)
    return;
  char Text[128];
  snprintf(Text, sizeof(Text), "line %d: %s\n", Line, cudaGetErrorName(E));
  print(Text);
  exit(3);
}
#define OK(Call) check(Call, __LINE__)

__device__ int Scale;
__constant__ int Offset[4] = {1, 2, 3, 4};

__global__ void fill(int *P, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    P[I] = I * Scale + Offset[I % 4];
}

__global__ void sum(const int *P, int N, unsigned *Result) {
  for (int I = threadIdx.x; I < N; I += blockDim.x)
    atomicAdd(Result, unsigned(P[I]));
}

static int Host[1 << 18];

int main() {
  constexpr int N = 1 << 18;
  int *P, *More[8], *Pinned, *InOrder, Three = 3;
  unsigned *Result, Got = 0;
  void *Pitched;
  size_t Pitch;
  cudaStream_t S;
  OK(cudaMalloc(&P, N * sizeof(int)));
  OK(cudaMalloc(&Result, 4096));
  OK(cudaMemset(Result, 0, 4096));
  for (int *&M : More)
    OK(cudaMalloc(&M, 10000));
  OK(cudaMallocHost(&Pinned, 4096));
  OK(cudaStreamCreate(&S));
  OK(cudaMallocPitch(&Pitched, &Pitch, 100, 10));
  OK(cudaMallocAsync(&InOrder, 5000, S));
  OK(cudaFreeAsync(InOrder, S));
  OK(cudaMemcpyToSymbol(Scale, &Three, sizeof(Three)));
  mneme_annotate(P, N * sizeof(int), MNEME_I32, MNEME_EXACT, 0,
                 MNEME_PER_ELEMENT, "filled");
  mneme_record_begin("fills");
  for (int Block = 32; Block <= 128; Block *= 2) {
    fill<<<N / Block, Block, 0, S>>>(P, N);
    OK(cudaGetLastError());
  }
  mneme_record_end();
  OK(cudaStreamSynchronize(S));
  sum<<<1, 64>>>(P, N, Result);
  OK(cudaGetLastError());
  OK(cudaMemcpy(Host, P, sizeof(Host), cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(&Got, Result, sizeof(Got), cudaMemcpyDeviceToHost));
  unsigned Expected = 0;
  for (int I = 0; I != N; ++I)
    Expected += unsigned(I * 3 + I % 4 + 1);
  for (int *M : More)
    OK(cudaFree(M));
  OK(cudaFree(Pitched));
  OK(cudaStreamDestroy(S));
  OK(cudaFreeHost(Pinned));
  OK(cudaFree(P));
  print(Got == Expected && Host[5] == 17 ? "right\n" : "wrong\n");
  return Got == Expected ? 0 : 5;
}
