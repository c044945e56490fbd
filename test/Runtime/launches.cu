// Every way to launch a kernel, and every way to get it wrong.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -std=c++17 -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t | FileCheck %s
// RUN: %cuda_cc_static -std=c++17 -O1 %s -o %t.static %cuda_static_libs
// RUN: llvm-mneme-record --device=host --no-record -- %t.static | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>

struct Pair { char C; double D; };

__global__ void store(int *P, int V) { P[blockIdx.x * blockDim.x + threadIdx.x] = V; }
__global__ void structure(double *P, Pair V) { *P = V.C + V.D; }
__global__ void dynamic(int *P, int N) {
  extern __shared__ int S[];
  for (int I = threadIdx.x; I < N; I += blockDim.x)
    S[I] = I;
  __syncthreads();
  if (!threadIdx.x)
    *P = S[N - 1];
}
template <int N> __global__ void templated(int *P) { *P = N; }
namespace { __global__ void anonymous(int *P) { *P = 77; } }
static __global__ void nothing() {}

static int *D;
static int value(int I = 0) {
  int V;
  OK(cudaMemcpy(&V, D + I, sizeof(V), cudaMemcpyDeviceToHost));
  return V;
}

int main() {
  OK(cudaMalloc(&D, 4096 * sizeof(int)));
  store<<<4, 8>>>(D, 3);
  CHECK(value() == 3 && value(31) == 3 && value(32) == 0);
  store<<<dim3(1), dim3(1), 0, cudaStreamPerThread>>>(D, 4);
  CHECK(value() == 4);
  templated<12><<<1, 1>>>(D);
  CHECK(value() == 12);
  anonymous<<<1, 1>>>(D);
  CHECK(value() == 77);
  nothing<<<1, 1>>>();
  OK(cudaGetLastError());

  void (*Pointer)(int *, int) = store;
  Pointer<<<1, 1>>>(D, 5);
  CHECK(value() == 5);
  int V = 6;
  void *Args[] = {&D, &V};
  OK(cudaLaunchKernel(store, dim3(1), dim3(1), Args, 0, 0));
  CHECK(value() == 6);
  V = 7;
  OK(cudaLaunchCooperativeKernel(store, dim3(1), dim3(1), Args, 0, 0));
  CHECK(value() == 7);
  cudaLaunchConfig_t Config = {};
  Config.gridDim = Config.blockDim = dim3(1);
  OK(cudaLaunchKernelEx(&Config, store, D, 8));
  CHECK(value() == 8);
  cudaLaunchAttribute Attribute = {};
  Attribute.id = cudaLaunchAttributeClusterDimension;
  Attribute.val.clusterDim.x = 2;
  Attribute.val.clusterDim.y = Attribute.val.clusterDim.z = 1;
  Config.attrs = &Attribute;
  Config.numAttrs = 1;
  EXPECT(cudaErrorNotSupported, cudaLaunchKernelEx(&Config, store, D, 9));
  // Nor do a kernel and a node of a graph get clusters in other ways.
  OK(cudaFuncSetAttribute(store, cudaFuncAttributeRequiredClusterWidth, 1));
  EXPECT(cudaErrorNotSupported, cudaFuncSetAttribute(store, cudaFuncAttributeRequiredClusterHeight, 2));
  cudaGraph_t Graph;
  cudaGraphNode_t Node;
  cudaKernelNodeParams Params = {};
  Params.func = (void *)store;
  Params.gridDim = Params.blockDim = dim3(1);
  Params.kernelParams = Args;
  OK(cudaGraphCreate(&Graph, 0));
  OK(cudaGraphAddKernelNode(&Node, Graph, nullptr, 0, &Params));
  EXPECT(cudaErrorNotSupported,
         cudaGraphKernelNodeSetAttribute(Node, cudaLaunchAttributeClusterDimension, &Attribute.val));
  OK(cudaGraphDestroy(Graph));
  cudaGetLastError();

  double *Double, R;
  OK(cudaMalloc(&Double, sizeof(double)));
  structure<<<1, 1>>>(Double, Pair{2, 0.5});
  OK(cudaMemcpy(&R, Double, sizeof(R), cudaMemcpyDeviceToHost));
  CHECK(R == 2.5);
  cudaGetLastError();

  // Configurations that no GPU takes.
  store<<<1, 1025>>>(D, 0);
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
  store<<<1, dim3(1, 1, 65)>>>(D, 0);
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
  store<<<0, 1>>>(D, 0);
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
  store<<<1, 0>>>(D, 0);
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
  store<<<dim3(1, 65536), 1>>>(D, 0);
  EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
  EXPECT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(&V, dim3(1), dim3(1), Args, 0, 0));
  EXPECT(cudaErrorInvalidDeviceFunction, cudaGetLastError());
  CHECK(value() == 8); // None of them ran.

  // Dynamic shared memory: 48 KB, more on request.
  dynamic<<<1, 32, 48 << 10>>>(D, 12 << 10);
  CHECK(value() == (12 << 10) - 1);
  dynamic<<<1, 32, (48 << 10) + 4>>>(D, 1);
  EXPECT(cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  dynamic<<<1, 32, 100 << 10>>>(D, 25 << 10);
  OK(cudaGetLastError());
  CHECK(value() == (25 << 10) - 1);
  EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 << 10));
  cudaGetLastError();

  cudaFuncAttributes F;
  OK(cudaFuncGetAttributes(&F, dynamic));
  CHECK(F.requiredClusterWidth == 0 && F.maxThreadsPerBlock == 1024 && F.maxDynamicSharedSizeBytes == 100 << 10 && F.ptxVersion == 90);
  EXPECT(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&F, (const void *)main));
  cudaGetLastError();
  const char *Name;
  OK(cudaFuncGetName(&Name, (const void *)store));
  CHECK(!strcmp(Name, "_Z5storePii"));
  size_t Offset, Size;
  OK(cudaFuncGetParamInfo((const void *)structure, 1, &Offset, &Size));
  CHECK(Offset == 8 && Size == 16);

  int Blocks, Grid, Block;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&Blocks, store, 256, 0));
  CHECK(Blocks == 8);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&Blocks, dynamic, 256, 100 << 10));
  CHECK(Blocks == 2);
  OK(cudaOccupancyMaxPotentialBlockSize(&Grid, &Block, store));
  CHECK(Block == 1024 && Grid >= 2);
  // CHECK: all as it should be
  printf("all as it should be\n");
}
