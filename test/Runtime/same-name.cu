// Static kernels and variables of one name in a program and two libraries, built
// with -O0 -g: each is its own kernel. A second run adds nothing to the folder.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O0 -g -fPIC -shared -DADD=1 -DRUN=runOne %s -o %t/libone.so
// RUN: %cuda_cc -O0 -g -fPIC -shared -DADD=100 -DRUN=runHundred %s -o %t/libhundred.so
// RUN: %cuda_cc -O0 -g %s -o %t/app -L%t -lone -lhundred -Wl,-rpath,%t
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app > %t/out 2> %t/err
// RUN: FileCheck %s --input-file=%t/out
// RUN: FileCheck %s --input-file=%t/err --check-prefix=FIRST
// RUN: ls %t/rec > %t/first.ls
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app > %t/out 2> %t/err
// RUN: FileCheck %s --input-file=%t/out
// RUN: FileCheck %s --input-file=%t/err --check-prefix=SECOND
// RUN: ls %t/rec | diff %t/first.ls -
// RUN: llvm-mneme-record check %t/rec
// RUN: llvm-mneme-record list %t/rec | FileCheck %s --check-prefix=LIST
// RUN: for k in %t/rec/*.json; do llvm-mneme-replay --passes='default<O3>' $k || exit 1; done
//
// CHECK: calls 1 2, results 402 402
// FIRST: mneme: 4 launches seen, 3 recorded, 1 skipped
// FIRST: mneme: 3 instances of 3 kernels
// SECOND: mneme: 4 launches seen, 0 recorded, 4 skipped
// SECOND: mneme:   4 skipped: already in the output directory
// LIST-DAG: block 64x1x1, shared 0, launches 2,
// LIST-DAG: block 64x1x1, shared 0, launches 4,
// LIST-DAG: block 32x1x1, shared 0, launches 2,

#include "Inputs/check.h"
#include <cuda_runtime.h>

#ifdef RUN
static __device__ int Calls;
static __global__ void work(int *P, int N) {
  int I = threadIdx.x + blockIdx.x * blockDim.x;
  if (I < N)
    P[I] += ADD;
  if (I == 0)
    ++Calls;
}

extern "C" int RUN(int *P, int N) {
  int NumCalls = -1;
  work<<<(N + 63) / 64, 64>>>(P, N);
  OK(cudaMemcpyFromSymbol(&NumCalls, Calls, sizeof(int)));
  return NumCalls;
}
#else
extern "C" int runOne(int *P, int N), runHundred(int *P, int N);

static __global__ void work(int *P, int N) {
  for (int I = threadIdx.x; I < N; I += blockDim.x)
    P[I] *= 2;
}

int main() {
  int *P, H[1000];
  OK(cudaMalloc(&P, sizeof(H)));
  OK(cudaMemset(P, 0, sizeof(H)));
  int Once = runOne(P, 1000);
  runHundred(P, 1000);
  int Twice = runHundred(P, 1000);
  work<<<1, 32>>>(P, 1000);
  OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
  printf("calls %d %d, results %d %d\n", Once, Twice, H[0], H[999]);
}
#endif
