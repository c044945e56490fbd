// Kernels that are launched through the driver from an image of an unknown form (which only
// the emulated driver takes): not recorded, but counted, and the summary says why. They run
// as before. A launch that is captured into a graph counts when the graph is launched.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t -L%cuda_path/lib64/stubs -lcuda
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 15, invalid handle 400
// CHECK: 4 launches seen, 1 recorded, 3 skipped
// CHECK-DAG: 2 skipped: launched through the driver, from an image that Mneme has not seen
// CHECK-DAG: 1 skipped: same launch configuration recorded before
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match

#include "../Inputs/check.h"
#include <cuda.h>
#include <cuda_runtime.h>

extern "C" __global__ void add(int *P, int N) { *P += N; }

// As much of a fat binary as the emulated driver looks at.
static const unsigned Image[4] = {0xba55ed50};

int main() {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  OK(cudaMemset(D, 0, 4));
  add<<<1, 1>>>(D, 4);

  CUmodule Module;
  CUfunction Function;
  CHECK(cuModuleLoadData(&Module, Image) == CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&Function, Module, "add") == CUDA_SUCCESS);
  int Five = 5;
  void *Args[] = {&D, &Five};
  CHECK(cuLaunchKernel(Function, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchCooperativeKernel(Function, 1, 1, 1, 1, 1, 1, 0, nullptr, Args) == CUDA_SUCCESS);
  int Wrong = cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr);

  cudaStream_t S;
  cudaGraph_t Graph;
  cudaGraphExec_t Exec;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
  add<<<1, 1, 0, S>>>(D, 1);
  OK(cudaStreamEndCapture(S, &Graph));
  OK(cudaGraphInstantiate(&Exec, Graph, 0));
  OK(cudaGraphLaunch(Exec, S));
  OK(cudaStreamSynchronize(S));
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  printf("%d, invalid handle %d\n", H, Wrong);
}
