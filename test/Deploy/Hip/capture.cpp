// Images are loaded when a capture begins, never while a stream is captured. A graph gets
// only variants that do not depend on arguments, which a graph's nodes can change.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.co
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: mneme-package %t/shape %t/app kernel=_Z4fillPii variant=%t/tuned.co entry=tuned guard=grid low=1
// RUN: mneme-package %t/args %t/app kernel=_Z4fillPii variant=%t/tuned.co entry=tuned guard=arg index=1 size=4 low=7
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED_REPORT=- %t/app
// RUN: env MNEME_TUNED=%t/shape %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=SHAPE
// SHAPE: captured: tuned
// SHAPE: 1 served by tuned kernels, 0 fell back
// RUN: env MNEME_TUNED=%t/args %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=ARGS
// ARGS: captured: plain
// ARGS: 1 fell back: captured into a graph, and depends on arguments
// RUN: env MNEME_TUNED=%t/args MNEME_TUNED_CAPTURE=all %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=SHAPE

#ifdef TUNED
extern "C" __global__ void tuned(int *P, int N) { *P = 1; }
#else
#include "../../Runtime/Inputs/check.h"

__global__ void fill(int *P, int N) { *P = 2; }

int main() {
  int *D, H = 0;
  cudaStream_t S;
  cudaGraph_t G;
  cudaGraphExec_t Exec;
  OK(cudaMalloc(&D, 4));
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  fill<<<1, 1, 0, S>>>(D, 7);
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&Exec, G, 0));
  OK(cudaGraphLaunch(Exec, S));
  OK(cudaStreamSynchronize(S));
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("captured: %s\n", H == 1 ? "tuned" : "plain");
}
#endif
