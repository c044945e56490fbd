// A kernel with a __managed__ variable runs, and is not recorded. The others of the program are.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc llvm-mneme-record --device=hip -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: 1 4
// CHECK: 2 launches seen, 1 recorded, 1 skipped
// CHECK-NEXT: 1 skipped: variable 'Counter' is __managed__
// RUN: %python %S/../Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NOT: {{.}}

#include "../Inputs/check.h"

__managed__ int Counter = 3;

__global__ void add(int *P) { ++*P; }
__global__ void count() { ++Counter; }

int main() {
  int *D, H;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  add<<<1, 1>>>(D);
  count<<<1, 1>>>();
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%d %d\n", H, Counter);
}
