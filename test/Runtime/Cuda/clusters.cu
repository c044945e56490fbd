// Launches with clusters of blocks are recorded with the size of a cluster, and replayed
// with it, whether the launch names the kernel or the driver's function.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app -L%cuda_path/lib64/stubs -lcuda
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc llvm-mneme-record --device=cuda --kernel=add -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: 1 2 3 1
// CHECK: mneme: 4 launches seen, 3 recorded, 1 skipped
// RUN: llvm-mneme-record show %t/rec | FileCheck %s --check-prefix=SHOW
// SHOW-DAG: grid 4x1x1, block 1x1x1, dynamic shared memory 0, launches 2, clusters of 2x1x1
// SHOW-DAG: grid 4x1x1, block 1x1x1, dynamic shared memory 0, launches 1, clusters of 4x1x1
// SHOW-DAG: grid 4x1x1, block 1x1x1, dynamic shared memory 0, launches 1{{$}}

// RUN: llvm-mneme-record list --json %t/rec | FileCheck %s --check-prefix=JSON
// JSON: "ClusterDims": {
// JSON-NEXT: "x": 2,
// JSON-NEXT: "y": 1,
// JSON-NEXT: "z": 1

// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/rec MNEME_EMULATED_LOG=%t/log %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec cuda \
// RUN:   | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-3: add grid 4: Match
// RUN: FileCheck %s --check-prefix=LOG < %t/log
// LOG-DAG: launch attribute 4: 2
// LOG-DAG: launch attribute 4: 4

// The host device has clusters, too.
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec host | FileCheck %s --check-prefix=HOST
// HOST-COUNT-3: add grid 4: Match

// A grid must be a multiple of the cluster.
// RUN: not %emulated_gpu MNEME_EMULATED_KERNELS=%t/rec llvm-mneme-replay %t/rec --record-id=$(%python %S/Inputs/record-id.py %t/rec ClusterDims) \
// RUN:   --device=cuda --grid-dim-x=3 --format=text 2>&1 | FileCheck %s --check-prefix=GRID
// GRID: launch {{ *}}grid 3x1x1, block 1x1x1, shared 0 B, clusters of {{[24]}}x1x1
// GRID: reason {{ *}}invalid-configuration: a grid of 3x1x1 blocks, which is not a multiple of its clusters of {{[24]}}x1x1

#include "../Inputs/check.h"
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void add(int *P, int V) { P[blockIdx.x] = V; }

/// Each block takes the value of the next one in its cluster.
__global__ void exchange(int *P) {
  __shared__ int Mine;
  unsigned Rank, Size, Next;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(Rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(Size));
  Mine = P[blockIdx.x];
  auto Wait = [] {
    asm volatile("barrier.cluster.arrive.aligned;\n"
                 "barrier.cluster.wait.aligned;" ::
                     : "memory");
  };
  Wait();
  int Value;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(Next)
      : "r"((unsigned)__cvta_generic_to_shared(&Mine)),
        "r"((Rank + 1) % Size));
  asm volatile("ld.shared::cluster.u32 %0, [%1];"
               : "=r"(Value)
               : "r"(Next)
               : "memory");
  Wait();
  P[blockIdx.x] = Value * 10 + Size;
}

static int *D;
static cudaStream_t S;

template <typename... Params, typename... Values>
static void launch(unsigned Cluster, void (*Kernel)(Params...), Values... V) {
  cudaLaunchConfig_t C = {};
  cudaLaunchAttribute A = {};
  C.gridDim = 4;
  C.blockDim = 1;
  C.stream = S;
  C.attrs = &A;
  C.numAttrs = 1;
  A.id = cudaLaunchAttributeClusterDimension;
  A.val.clusterDim.x = Cluster;
  A.val.clusterDim.y = A.val.clusterDim.z = 1;
  OK(cudaLaunchKernelEx(&C, Kernel, V...));
}

static int get(int I) {
  int H[4];
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  return H[I];
}

int main() {
  int HasClusters = 0;
  OK(cudaMalloc(&D, 16));
  OK(cudaDeviceGetAttribute(&HasClusters, cudaDevAttrClusterLaunch, 0));
  launch(1, add, D, 1);
  printf("%d ", get(3));
  launch(2, add, D, 2);
  printf("%d ", get(3));

  // The same of the driver.
  CUfunction F;
  OK(cudaGetFuncBySymbol(&F, (const void *)add));
  CUlaunchAttribute A = {};
  A.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  A.value.clusterDim.x = 4;
  A.value.clusterDim.y = A.value.clusterDim.z = 1;
  CUlaunchConfig C = {4, 1, 1, 1, 1, 1, 0, nullptr, &A, 1};
  int Three = 3;
  void *Args[] = {&D, &Three};
  CHECK(!cuLaunchKernelEx(&C, F, Args, nullptr));
  printf("%d ", get(3));
  launch(2, add, D, 1);
  printf("%d\n", get(3));
  if (!HasClusters)
    return 0;

  int H[] = {1, 2, 3, 4};
  OK(cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice));
  launch(2, exchange, D);
  CHECK(get(0) == 22 && get(1) == 12 && get(2) == 42 && get(3) == 32);

  // In a graph, too.
  cudaGraph_t G;
  cudaGraphExec_t X;
  OK(cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice));
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  launch(4, exchange, D);
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, S));
  OK(cudaStreamSynchronize(S));
  CHECK(get(0) == 24 && get(3) == 14);
}
