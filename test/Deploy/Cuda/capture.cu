// Images are loaded when a capture begins, never while a stream is captured. A
// graph gets only variants that do not depend on arguments, which a graph's nodes
// can change.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: mneme-package %t/shape %t/app kernel=_Z4fillPii variant=%t/tuned.cubin entry=tuned guard=grid low=1
// RUN: mneme-package %t/args %t/app kernel=_Z4fillPii variant=%t/tuned.cubin entry=tuned guard=arg index=1 size=4 low=7
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED_REPORT=- %t/app
//
// RUN: env MNEME_TUNED=%t/shape %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=ALL,SHAPE
// RUN: env MNEME_TUNED=%t/args %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=ALL,ARGS
// RUN: env MNEME_TUNED=%t/args MNEME_TUNED_CAPTURE=all %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=ALL,SHAPE
// ALL: unseen: plain
// SHAPE-NEXT: first: tuned
// ARGS-NEXT: first: plain
// ALL-NEXT: beside: tuned
// SHAPE-NEXT: loaded: tuned
// ARGS-NEXT: loaded: plain
// SHAPE: 1 fell back: not loaded before the capture
// ARGS: 3 fell back: captured into a graph, and depends on arguments

#ifdef TUNED
extern "C" __global__ void tuned(int *P, int N) { *P = 1; }
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <dlfcn.h>

__global__ void fill(int *P, int N) { *P = 2; }

static int *D;

static void report(const char *What) {
  int H = 0;
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%s: %s\n", What, H == 1 ? "tuned" : "plain");
}

// The runtime does not see that a capture begins.
static int beginUnseen(cudaStream_t S, int Mode) {
  auto Begin = reinterpret_cast<int (*)(cudaStream_t, int)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamBeginCapture_v2"));
  CHECK(Begin);
  return Begin(S, Mode);
}

static void launchGraph(cudaStream_t S, const char *What,
                        bool IsSeen = true) {
  cudaGraph_t G;
  cudaGraphExec_t Exec;
  if (IsSeen)
    OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  else
    CHECK(!beginUnseen(S, cudaStreamCaptureModeGlobal));
  fill<<<1, 1, 0, S>>>(D, 7);
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&Exec, G, 0));
  OK(cudaMemset(D, 0, 4));
  OK(cudaGraphLaunch(Exec, S));
  OK(cudaStreamSynchronize(S));
  report(What);
}

int main() {
  cudaStream_t S, Other;
  cudaGraph_t G;
  OK(cudaMalloc(&D, 4));
  OK(cudaStreamCreate(&S));
  OK(cudaStreamCreate(&Other));
  launchGraph(S, "unseen", /*IsSeen=*/false);
  launchGraph(S, "first");
  // Loads while another stream is captured, which that survives.
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  fill<<<1, 1, 0, Other>>>(D, 7);
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaStreamSynchronize(Other));
  report("beside");
  launchGraph(S, "loaded");
}
#endif
