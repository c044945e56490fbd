// A tuned kernel recorded with a pointer to other memory is not launched with a pointer into one of its variables.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4stepPi variant=%t/tuned.cubin entry=tuned \
// RUN:   guard=variable name=Used bytes=16 slot=0 guard=in-variable size=8 low=0
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme \
// RUN:   MNEME_TUNED_REPORT=- %t/app > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// CHECK: memory: 1
// CHECK-NEXT: begin: 2
// CHECK-NEXT: end: 2
// CHECK-NEXT: another variable: 1
// CHECK: 2 served by tuned kernels, 2 fell back
// CHECK: 2 fell back: correct for buffers of other sizes or places only

#ifdef TUNED
extern "C" {
__constant__ int *__mneme_variables[1];
__global__ void tuned(int *P) { *P = 1 + __mneme_variables[0][1]; }
}
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Used[4], Unused[4];

__global__ void step(int *P) { *P = 2 + Used[1] + Unused[1]; }

static void launch(const char *What, int *P) {
  int Result;
  step<<<1, 1>>>(P);
  OK(cudaMemcpy(&Result, P, sizeof(Result), cudaMemcpyDeviceToHost));
  printf("%s: %d\n", What, Result);
}

int main() {
  int *Memory, *InUsed, *InUnused;
  OK(cudaMalloc(&Memory, sizeof(int)));
  OK(cudaGetSymbolAddress(reinterpret_cast<void **>(&InUsed), Used));
  OK(cudaGetSymbolAddress(reinterpret_cast<void **>(&InUnused), Unused));
  launch("memory", Memory);
  launch("begin", InUsed);
  launch("end", InUsed + 3);
  launch("another variable", InUnused);
}
#endif
