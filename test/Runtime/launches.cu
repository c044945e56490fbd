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
/// Stores the blocks of a cluster.
__global__ void size(int *P) {
#ifdef __CUDA_ARCH__
  *P = __nvvm_read_ptx_sreg_cluster_nctarank();
#endif
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
  // Sizes of clusters. Everything is as on an H200 (2026-11-30).
  EXPECT(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&Config, size, D));
  for (unsigned Blocks : {0u, 1u, 2u, 3u, 8u, 9u, 16u, 32u}) {
    Attribute.val.clusterDim.x = Blocks;
    Config.gridDim.x = Blocks ? 2 * Blocks : 4;
    bool Fits = Blocks && Blocks <= 8;
    EXPECT(Fits ? cudaSuccess : cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&Config, size, D));
    if (Fits)
      CHECK(value() == Blocks);
  }
  Attribute.val.clusterDim.x = 2;
  Attribute.val.clusterDim.y = 0;
  EXPECT(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&Config, size, D));
  Attribute.val.clusterDim.y = 1;
  int Largest, Active;
  OK(cudaOccupancyMaxPotentialClusterSize(&Largest, size, &Config));
  OK(cudaOccupancyMaxActiveClusters(&Active, size, &Config));
  CHECK(Largest == 8 && Active > 0);
  OK(cudaFuncSetAttribute(size, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  OK(cudaOccupancyMaxPotentialClusterSize(&Largest, size, &Config));
  CHECK(Largest == 16);
  Attribute.val.clusterDim.x = 16;
  Config.gridDim.x = 16;
  OK(cudaLaunchKernelEx(&Config, size, D));
  CHECK(value() == 16);
  Attribute.val.clusterDim.x = 17;
  Config.gridDim.x = 17;
  EXPECT(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&Config, size, D));
  // Of a kernel: for launches without the attribute.
  OK(cudaFuncSetAttribute(size, cudaFuncAttributeRequiredClusterWidth, 2));
  OK(cudaFuncSetAttribute(size, cudaFuncAttributeRequiredClusterHeight, 1));
  OK(cudaFuncSetAttribute(size, cudaFuncAttributeRequiredClusterDepth, 1));
  size<<<4, 1>>>(D);
  CHECK(value() == 2);
  size<<<5, 1>>>(D);
  EXPECT(cudaErrorInvalidClusterSize, cudaGetLastError());
  cudaFuncAttributes A;
  OK(cudaFuncGetAttributes(&A, size));
  CHECK(!A.clusterDimMustBeSet && A.requiredClusterWidth == 2 && A.requiredClusterDepth == 1 && A.nonPortableClusterSizeAllowed);
  // Of a node of a graph.
  Args[1] = nullptr;
  cudaGraph_t Graph;
  cudaGraphNode_t Node;
  cudaKernelNodeParams Params = {};
  Params.func = (void *)size;
  Params.gridDim = dim3(8);
  Params.blockDim = dim3(1);
  Params.kernelParams = Args;
  OK(cudaGraphCreate(&Graph, 0));
  OK(cudaGraphAddKernelNode(&Node, Graph, nullptr, 0, &Params));
  Attribute.val.clusterDim.x = 4;
  OK(cudaGraphKernelNodeSetAttribute(Node, cudaLaunchAttributeClusterDimension, &Attribute.val));
  cudaLaunchAttributeValue Got;
  OK(cudaGraphKernelNodeGetAttribute(Node, cudaLaunchAttributeClusterDimension, &Got));
  CHECK(Got.clusterDim.x == 4 && Got.clusterDim.z == 1);
  cudaGraphExec_t Exec;
  OK(cudaGraphInstantiate(&Exec, Graph, 0));
  OK(cudaGraphLaunch(Exec, 0));
  CHECK(value() == 4);
  OK(cudaGraphExecDestroy(Exec));
  OK(cudaGraphDestroy(Graph));
  // Captured, with the attribute.
  cudaStream_t Captured;
  OK(cudaStreamCreate(&Captured));
  OK(cudaStreamBeginCapture(Captured, cudaStreamCaptureModeGlobal));
  Config.stream = Captured;
  Config.gridDim.x = Attribute.val.clusterDim.x = 8;
  OK(cudaLaunchKernelEx(&Config, size, D));
  OK(cudaStreamEndCapture(Captured, &Graph));
  OK(cudaGraphInstantiate(&Exec, Graph, 0));
  OK(cudaGraphLaunch(Exec, 0));
  CHECK(value() == 8);
  store<<<1, 1>>>(D, 8);
  Args[1] = &V;
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
