// A node of an executable graph that is changed to launch the selected kernel is
// recorded.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec --kernel=after -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR: 3 launches seen, 1 recorded, 2 skipped
// ERR: 1 skipped: not selected
// ERR: 1 skipped: same launch configuration recorded before

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void before(int *P) { *P += 1; }
__global__ void after(int *P) { *P += 10; }

int main() {
  int *D, H;
  cudaGraph_t G, Named;
  cudaGraphExec_t X;
  cudaGraphNode_t Node, Other;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  void *Args[] = {&D};
  cudaKernelNodeParams K = {};
  K.gridDim = K.blockDim = 1;
  K.kernelParams = Args;
  // A node tells which handle the driver has for a kernel.
  OK(cudaGraphCreate(&Named, 0));
  K.func = (void *)after;
  OK(cudaGraphAddKernelNode(&Other, Named, nullptr, 0, &K));

  OK(cudaGraphCreate(&G, 0));
  K.func = (void *)before;
  OK(cudaGraphAddKernelNode(&Node, G, nullptr, 0, &K));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, nullptr));
  K.func = (void *)after;
  OK(cudaGraphExecKernelNodeSetParams(X, Node, &K));
  OK(cudaGraphLaunch(X, nullptr));
  OK(cudaGraphLaunch(X, nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  // CHECK: 21
  printf("%d\n", H);
}
