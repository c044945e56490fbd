// What is captured into a graph is not disturbed: neither by the thread that
// writes recordings, nor by launches elsewhere, nor by memory that is freed.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t %t.rec > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR: warning: kernel '_Z6besidePi' is not recorded: launched while another stream is captured into a graph
// ERR: 5 launches seen, 3 recorded, 2 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: beside grid 1: Match
// REPLAY-NEXT: beside grid 2: Match
// REPLAY-NEXT: fill grid 64: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <glob.h>
#include <string>
#include <unistd.h>

__global__ void fill(int *P) { P[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void beside(int *P) { atomicAdd(P, 1); }

/// Waits until a recording in the folder has its final names, or a minute.
static void awaitRecording(const char *Folder) {
  std::string Pattern = std::string(Folder) + "/*.json";
  glob_t Found;
  for (int I = 0; glob(Pattern.c_str(), 0, nullptr, &Found) && I != 60000; ++I)
    usleep(1000);
}

int main(int, char **Argv) {
  int *D, *E, *F, H[2];
  size_t Size = 64 << 10;
  OK(cudaMalloc(&D, Size));
  OK(cudaMalloc(&E, 4));
  OK(cudaMalloc(&F, 4));
  OK(cudaMemset(D, 0, Size));
  OK(cudaMemset(E, 0, 4));
  cudaStream_t S, Other;
  cudaGraph_t G;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamCreate(&Other));

  // It is being written while the capture goes on.
  fill<<<64, 256>>>(D);
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  beside<<<1, 1, 0, Other>>>(E);
  OK(cudaFree(F));
  awaitRecording(Argv[1]);
  // CHECK: end of capture: no error
  printf("end of capture: %s\n",
         cudaGetErrorString(cudaStreamEndCapture(S, &G)));

  OK(cudaStreamSynchronize(Other));
  beside<<<1, 1, 0, Other>>>(E);
  OK(cudaStreamSynchronize(Other));

  // A capture into a graph that is there, which ends with its stream.
  OK(cudaStreamBeginCaptureToGraph(S, nullptr, nullptr, nullptr, 0,
                                   cudaStreamCaptureModeGlobal));
  beside<<<2, 1, 0, Other>>>(E);
  OK(cudaStreamDestroy(S));
  OK(cudaStreamSynchronize(Other));
  beside<<<2, 1, 0, Other>>>(E);
  OK(cudaStreamSynchronize(Other));
  OK(cudaMemcpy(H, D, 4, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(H + 1, E, 4, cudaMemcpyDeviceToHost));
  // CHECK: 1 6
  printf("%d %d\n", H[0], H[1]);
}
