// Graphs that cannot be launched in parts: they are launched as a whole, and their
// kernels are not recorded, with the reason.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t -L%cuda_path/lib64/stubs -lcuda
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 5
// CHECK: 6 launches seen, 0 recorded, 6 skipped
// CHECK-DAG: 1 skipped: launched by a graph that allocates memory
// CHECK-DAG: 1 skipped: launched by a graph with conditional nodes
// CHECK-DAG: 1 skipped: launched by a graph that cannot be read
// CHECK-DAG: 1 skipped: launched by a graph that the device may launch
// CHECK-DAG: 1 skipped: launched by an executable graph after a change that is not supported
// CHECK-DAG: 1 skipped: launched by a graph that was made through the driver API

#include "../Inputs/check.h"
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void add(int *P) { ++*P; }

static void launch(int *D, int Type, unsigned long long Flags = 0) {
  cudaGraph_t G;
  cudaGraphNode_t Add, Other;
  cudaGraphExec_t X;
  void *Args[] = {&D};
  cudaKernelNodeParams K = {};
  K.func = (void *)add;
  K.gridDim = K.blockDim = 1;
  K.kernelParams = Args;
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddKernelNode(&Add, G, nullptr, 0, &K));
  // The emulated driver looks at the type alone.
  cudaGraphNodeParams P = {};
  P.type = cudaGraphNodeType(Type);
  if (Type >= 0)
    OK(cudaGraphAddNode(&Other, G, nullptr, nullptr, 0, &P));
  OK(cudaGraphInstantiate(&X, G, Flags));
  if (Type < 0 && !Flags)
    OK(cudaGraphExecChildGraphNodeSetParams(X, Add, nullptr));
  OK(cudaGraphLaunch(X, nullptr));
}

int main() {
  int *D, H;
  OK(cudaMalloc(&D, 4));
  OK(cudaMemset(D, 0, 4));
  launch(D, cudaGraphNodeTypeMemAlloc);
  launch(D, cudaGraphNodeTypeConditional);
  launch(D, cudaGraphNodeTypeGraph); // Without a graph.
  launch(D, -1, cudaGraphInstantiateFlagDeviceLaunch);
  launch(D, -1);
  CUgraph G;
  CUgraphExec X;
  CHECK(!cuGraphCreate(&G, 0) && !cuGraphInstantiate(&X, G, 0) &&
        !cuGraphLaunch(X, nullptr));
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  printf("%d\n", H);
}
