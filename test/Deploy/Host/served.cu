// The launcher links the objects of a package for the application, with its
// variables; launches that no variant fits run the application's own kernel.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4fillPii \
// RUN:   variant=%t/tuned.bc entry=tuned launch=cover grade=proven block=64 \
// RUN:   guard=arg index=1 size=4 low=7
//
// RUN: llvm-mneme-deploy run --device=host --report=%t/report %t/app.mneme -- \
// RUN:   %t/app 2> %t/err | FileCheck %s
// RUN: count 0 < %t/err
// CHECK: 7: block 64, tuned, 5
// CHECK-NEXT: 8: block 32, plain, 6
// CHECK-NEXT: 7: block 64, tuned, 7
// RUN: FileCheck %s --check-prefix=REPORT < %t/report
// RUN: %python %mneme_src/utils/schemas.py check tuned-report %t/report
// REPORT:      "served": 2,
// REPORT:      "fell_back": 1,
// REPORT:      "unmatched": 1,
// REPORT: "arch": "{{.*}}"served": 2, "reasons": {"correct for other arguments only": 1}
//
// A recorder takes precedence: it runs and records the application's kernels.
// RUN: env MNEME_TUNED=%t/app.mneme llvm-mneme-record --device=host -o %t/rec \
// RUN:   -- %t/app 2>&1 | FileCheck %s --check-prefix=RECORDED
// RECORDED: 7: block 32, plain
// RECORDED: 4 launches seen, {{[0-9]+}} recorded
//
// RUN: not llvm-mneme-deploy run --device=host -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE: error: no package: give it before '--'
// RUN: not llvm-mneme-deploy run --device=host %t/app.mneme 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOAPP
// NOAPP: error: no application: give it after '--'
// RUN: not llvm-mneme-deploy run --scope=all %t/app.mneme -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SCOPE
// SCOPE: error: invalid --scope=all: expected recorded or kernel

#ifdef TUNED
extern __device__ int Bias;
extern "C" __global__ void tuned(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] = Bias << 16 | blockDim.x << 8 | 1;
}
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Bias;
__global__ void fill(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] = Bias << 16 | blockDim.x << 8;
}
__global__ void other() {}

int main() {
  int *D, H[128], Value = 5;
  OK(cudaMalloc(&D, sizeof(H)));
  other<<<1, 1>>>();
  for (int N : {7, 8, 7}) {
    OK(cudaMemcpyToSymbol(Bias, &Value, sizeof(Value)));
    ++Value;
    OK(cudaMemset(D, 0, sizeof(H)));
    fill<<<4, 32>>>(D, N);
    OK(cudaGetLastError());
    OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
    CHECK(H[127] == H[0]);
    printf("%d: block %d, %s, %d\n", N, H[0] >> 8 & 255,
           H[0] & 1 ? "tuned" : "plain", H[0] >> 16);
  }
}
#endif
