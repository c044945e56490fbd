// Graphs of HIP that cannot be launched in parts: they are launched as a whole, and their
// kernels are not recorded, with the reason.
//
// RUN: %hip_ir -I%S/Inputs -O2 --offload-arch=gfx90a -emit-llvm -c %s -o %t.bc
// RUN: %hip_cc -O2 --offload-arch=gfx90a -I%S/Inputs %s -o %t %hip_libs
// RUN: rm -rf %t.rec %t.old
// RUN: %emulated_amd MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=hip -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 2 12
// CHECK: 2 launches seen, 1 recorded, 1 skipped
// CHECK-NEXT: 1 skipped: launched by an executable graph after a change that is not supported

// Before HIP 6, the types of nodes have other numbers.
// RUN: %emulated_amd MNEME_EMULATED_VERSION=50200000 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=hip -o %t.old -- %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OLD
// OLD: 2 12
// OLD: 2 launches seen, 0 recorded, 2 skipped
// OLD-NEXT: 2 skipped: launched by a graph, which needs HIP 6 or later

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void add(int *P) { ++*P; }

int main() {
  int *D, H[2] = {0, 12};
  cudaGraph_t G;
  cudaGraphExec_t X, Changed;
  cudaGraphNode_t Add, Copy;
  OK(cudaMalloc(&D, 16));
  OK(cudaMemset(D, 0, 16));
  OK(cudaMemcpy(D + 2, H, sizeof(H), cudaMemcpyHostToDevice));
  void *Args[] = {&D};
  cudaKernelNodeParams K = {};
  K.func = (void *)add;
  K.gridDim = K.blockDim = 1;
  K.kernelParams = Args;
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddKernelNode(&Add, G, nullptr, 0, &K));
  OK(cudaGraphAddMemcpyNode1D(&Copy, G, &Add, 1, D + 1, D + 2, 4,
                              cudaMemcpyDeviceToDevice));
  OK(cudaGraphInstantiate(&Changed, G, 0));
  OK(cudaGraphExecMemcpyNodeSetParams1D(Changed, Copy, D + 1, D + 3, 4,
                                        cudaMemcpyDeviceToDevice));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, nullptr));
  OK(cudaGraphLaunch(Changed, nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%d %d\n", H[0], H[1]);
}
