// Kernels that graphs launch are recorded: the first launch of a graph happens in
// parts then, with the same result, and later ones as a whole.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec %t.other
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc %t | FileCheck %s
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR: 22 launches seen, 5 recorded, 17 skipped
// ERR: 17 skipped: same launch configuration recorded before
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 3: Match
// REPLAY-NEXT: inner grid 1: Match
// REPLAY-NEXT: twice grid 1: Match

// Those that are not selected are counted, and the graph is launched as it is.
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.other --kernel=inner -- %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OTHER
// OTHER: 22 launches seen, 1 recorded, 21 skipped
// OTHER-DAG: 19 skipped: not selected
// OTHER-DAG: 2 skipped: same launch configuration recorded before

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void add(int *P, int N) { P[blockIdx.x] += N; }
__global__ void twice(int *P) { *P *= 2; }
__global__ void inner(int *P) { *P -= 1; }

static void note(void *Data) { ++*(int *)Data; }

static int result(int *D) {
  int H;
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  return H;
}

static void captured(int *D) {
  cudaStream_t S;
  cudaGraph_t G;
  cudaGraphExec_t X;
  int Count = 0;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(D, 0, 4, S));
  add<<<1, 1, 0, S>>>(D, 5);
  OK(cudaLaunchHostFunc(S, note, &Count));
  twice<<<1, 1, 0, S>>>(D);
  add<<<1, 1, 0, S>>>(D, 1);
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphDestroy(G));
  for (int I = 0; I != 3; ++I)
    OK(cudaGraphLaunch(X, S));
  // CHECK: 11, 3 times
  int R = result(D);
  printf("%d, %d times\n", R, Count);
  OK(cudaGraphExecDestroy(X));
}

// Built backwards, with a child graph, and changed.
static void built(int *D) {
  cudaGraph_t G, Child;
  cudaGraphNode_t Copy, Add, Set, Sub, Inner;
  cudaGraphExec_t X;
  int *E, N = 7;
  OK(cudaMalloc(&E, 8));
  OK(cudaGraphCreate(&Child, 0));
  void *InnerArgs[] = {&D}, *AddArgs[] = {&D, &N};
  cudaKernelNodeParams K = {};
  K.func = (void *)inner;
  K.gridDim = K.blockDim = 1;
  K.kernelParams = InnerArgs;
  OK(cudaGraphAddKernelNode(&Inner, Child, nullptr, 0, &K));
  OK(cudaGraphCreate(&G, 0));
  cudaMemsetParams M = {D, 0, 100, 4, 2, 1};
  OK(cudaGraphAddMemsetNode(&Set, G, nullptr, 0, &M));
  K.func = (void *)add;
  K.gridDim = 2;
  K.kernelParams = AddArgs;
  OK(cudaGraphAddKernelNode(&Add, G, &Set, 1, &K));
  OK(cudaGraphAddChildGraphNode(&Sub, G, &Add, 1, Child));
  OK(cudaGraphAddMemcpyNode1D(&Copy, G, &Sub, 1, E, D, 8, cudaMemcpyDeviceToDevice));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, nullptr));
  // CHECK: 106 106
  int R = result(D);
  printf("%d %d\n", R, result(E));

  // What is changed before the launch that is recorded counts there.
  N = 8;
  K.gridDim = 3;
  M.width = 3;
  OK(cudaGraphExecKernelNodeSetParams(X, Add, &K));
  OK(cudaGraphExecMemsetNodeSetParams(X, Set, &M));
  OK(cudaGraphLaunch(X, nullptr));
  // CHECK: 107 107
  R = result(D);
  printf("%d %d\n", R, result(E));
  OK(cudaGraphNodeSetEnabled(X, Set, 0));
  OK(cudaGraphNodeSetEnabled(X, Add, 0));
  OK(cudaGraphLaunch(X, nullptr));
  // CHECK: 106
  printf("%d\n", result(D));

  // A graph that is captured in another one.
  cudaStream_t S;
  cudaGraph_t Outer;
  cudaGraphExec_t Y;
  OK(cudaGraphDestroy(G));
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
  for (int I = 0; I != 4; ++I)
    add<<<2, 1, 0, S>>>(D, 1);
  OK(cudaStreamEndCapture(S, &Outer));
  OK(cudaGraphInstantiate(&Y, Outer, 0));
  OK(cudaGraphLaunch(Y, S));
  OK(cudaGraphLaunch(Y, S));
  // CHECK: 114
  printf("%d\n", result(D));
}

int main() {
  int *D;
  OK(cudaMalloc(&D, 64));
  captured(D);
  built(D);
}
