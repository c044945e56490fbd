// A copy of an executable graph that is changed before the launch that is recorded.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR: 1 launch seen, 1 recorded, 0 skipped

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void add(int *P) { *P += 1; }

int main() {
  int *D, H[3] = {10, 20, 0};
  cudaGraph_t G;
  cudaGraphExec_t X;
  cudaGraphNode_t Add, Copy;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice));
  void *Args[] = {&D};
  cudaKernelNodeParams K = {};
  K.func = (void *)add;
  K.gridDim = K.blockDim = 1;
  K.kernelParams = Args;
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddKernelNode(&Add, G, nullptr, 0, &K));
  OK(cudaGraphAddMemcpyNode1D(&Copy, G, &Add, 1, D + 2, D, 4, cudaMemcpyDeviceToDevice));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphExecMemcpyNodeSetParams1D(X, Copy, D + 2, D + 1, 4, cudaMemcpyDeviceToDevice));
  OK(cudaGraphLaunch(X, nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  // CHECK: 11 20 20
  printf("%d %d %d\n", H[0], H[1], H[2]);
}
