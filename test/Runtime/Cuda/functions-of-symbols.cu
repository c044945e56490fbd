// A kernel of the program that is launched through the driver, by the function that the runtime
// has for it: recorded as by <<<>>>.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t -L%cuda_path/lib64/stubs -lcuda
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 15 11 6
// CHECK: 3 launches seen, 3 recorded, 0 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 3: Match

#include "../Inputs/check.h"
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void add(int *P, int N) { P[blockIdx.x] += N; }

int main() {
  int *D, H[3] = {}, Five = 5;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  add<<<1, 1>>>(D, 4);
  CUfunction F;
  OK(cudaGetFuncBySymbol(&F, reinterpret_cast<const void *>(add)));
  void *Args[] = {&D, &Five};
  struct {
    int *P;
    int N;
  } Packed = {D, 6};
  size_t Size = 12;
  void *Extra[] = {(void *)1, &Packed, (void *)2, &Size, (void *)0};
  CHECK(!cuLaunchKernel(F, 2, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr));
  CHECK(!cuLaunchKernel(F, 3, 1, 1, 1, 1, 1, 0, nullptr, nullptr, Extra));
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%d %d %d\n", H[0], H[1], H[2]);
}
