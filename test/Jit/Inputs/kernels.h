// Kernels of Host/kernels.cu and Cuda/kernels.cu.
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 2, 3))) __global__ void scale(float *Y, float A,
                                                             int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    Y[I] *= A;
}

struct Options {
  double Unused;
  short Used;
  int Other;
};
__global__ void member(Options O, int *P) {
  mneme::jit_arg(O.Used);
  *P = O.Used * 2 + O.Other;
}

__attribute__((annotate("jit"))) __global__ void dynamic(int *P) {
  extern __shared__ int Values[];
  Values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  P[threadIdx.x] = Values[blockDim.x - 1 - threadIdx.x];
}

__global__ void unmarked(int *P) { *P = gridDim.x; }

/// Five launches, of which the last one is not to be served.
static void scaleAll() {
  float *F, G[32];
  OK(cudaMalloc(&F, sizeof(G)));
  for (float &X : G)
    X = 1;
  OK(cudaMemcpy(F, G, sizeof(G), cudaMemcpyHostToDevice));
  scale<<<1, 32>>>(F, 2, 32);
  scale<<<1, 32>>>(F, 3, 32);
  scale<<<1, 32>>>(F, 2, 32);
  scale<<<2, 16>>>(F, 2, 32);
  mneme::jit_disable();
  scale<<<1, 32>>>(F, 2, 32);
  mneme::jit_enable();
  OK(cudaMemcpy(G, F, sizeof(G), cudaMemcpyDeviceToHost));
  printf("scaled %g %g\n", G[0], G[31]);
}
