// A kernel of the program that is launched by the function that HIP has for it: recorded as by <<<>>>.
//
// RUN: %hip_ir -I%S/Inputs -O2 --offload-arch=gfx90a -emit-llvm -c %s -o %t.bc
// RUN: %hip_cc -O2 --offload-arch=gfx90a -I%S/Inputs %s -o %t %hip_libs
// RUN: rm -rf %t.rec
// RUN: %emulated_amd MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=hip -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: 15 11 6
// CHECK: 3 launches seen, 3 recorded, 0 skipped
// RUN: %python %S/../Cuda/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 3: Match

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void add(int *P, int N) { P[blockIdx.x] += N; }

extern "C" {
#define cudaGetFuncBySymbol hipGetFuncBySymbol
hipError_t hipGetFuncBySymbol(void **, const void *);
hipError_t hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, unsigned, hipStream_t,
                                 void **, void **);
}

int main() {
  int *D, H[3] = {}, Five = 5;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  add<<<1, 1>>>(D, 4);
  void *F;
  OK(cudaGetFuncBySymbol(&F, reinterpret_cast<const void *>(add)));
  void *Args[] = {&D, &Five};
  struct {
    int *P;
    int N;
  } Packed = {D, 6};
  size_t Size = 12;
  void *Extra[] = {(void *)1, &Packed, (void *)2, &Size, (void *)3};
  CHECK(!hipModuleLaunchKernel(F, 2, 1, 1, 1, 1, 1, 0, nullptr, Args, nullptr));
  CHECK(!hipModuleLaunchKernel(F, 3, 1, 1, 1, 1, 1, 0, nullptr, nullptr, Extra));
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%d %d %d\n", H[0], H[1], H[2]);
}
