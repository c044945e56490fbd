// A graph that is launched in parts: a disabled node still orders its neighbours,
// and does nothing in a child graph, either.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec --kernel=recorded -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR: 2 launches seen, 2 recorded, 0 skipped

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void recorded(int *P) { ++P[1]; }
__global__ void disabled(int *P) { P[0] = 0; }

int main() {
  int *D, H[3];
  cudaGraph_t G;
  cudaGraphExec_t X;
  cudaGraphNode_t Set, Off, Copy, Add;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  void *Args[] = {&D};
  cudaKernelNodeParams K = {};
  K.func = (void *)disabled;
  K.gridDim = K.blockDim = 1;
  K.kernelParams = Args;
  OK(cudaGraphCreate(&G, 0));
  cudaMemsetParams M = {D, 0, 7, 4, 1, 1};
  OK(cudaGraphAddMemsetNode(&Set, G, nullptr, 0, &M));
  OK(cudaGraphAddKernelNode(&Off, G, &Set, 1, &K));
  OK(cudaGraphAddMemcpyNode1D(&Copy, G, &Off, 1, D + 2, D, 4, cudaMemcpyDeviceToDevice));
  K.func = (void *)recorded;
  OK(cudaGraphAddKernelNode(&Add, G, &Copy, 1, &K));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphNodeSetEnabled(X, Off, 0));
  OK(cudaGraphLaunch(X, nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  // CHECK: 7 1 7
  printf("%d %d %d\n", H[0], H[1], H[2]);

  cudaGraph_t Child;
  cudaGraphNode_t Sub;
  OK(cudaGraphCreate(&Child, 0));
  K.func = (void *)disabled;
  OK(cudaGraphAddKernelNode(&Off, Child, nullptr, 0, &K));
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddChildGraphNode(&Sub, G, nullptr, 0, Child));
  OK(cudaGraphChildGraphNodeGetGraph(Sub, &Child));
  size_t One = 1;
  OK(cudaGraphGetNodes(Child, &Off, &One));
  K.func = (void *)recorded;
  K.gridDim = 2;
  OK(cudaGraphAddKernelNode(&Add, G, &Sub, 1, &K));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphNodeSetEnabled(X, Off, 0));
  OK(cudaGraphLaunch(X, nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  // CHECK: 7
  printf("%d\n", H[0]);
}
