// A launch is served by the variant that fits, with its launch shape, and the
// driver is given the bytes that the package names.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cuda_cc_static -O2 %s -o %t/static %emulated_static_libs
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4fillPii \
// RUN:   variant=%t/tuned.cubin entry=tuned launch=cover grade=proven block=64 \
// RUN:   guard=arg index=1 size=4 low=7 guard=block low=32
//
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy
// RUN: %{run} %t/app | FileCheck %s --check-prefix=PLAIN
// PLAIN: 7: block 32, plain
// PLAIN-NEXT: 8: block 32, plain
// RUN: %{run} MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=%t/report \
// RUN:   MNEME_EMULATED_LOG=%t/log %t/app | FileCheck %s
// CHECK: 7: block 64, tuned
// CHECK-NEXT: 8: block 32, plain
// RUN: FileCheck %s --check-prefix=REPORT < %t/report
// RUN: %python %mneme_src/utils/schemas.py check tuned-report %t/report
// REPORT:      "served": 1,
// REPORT-NEXT: "verified": 0,
// REPORT-NEXT: "fell_back": 1,
// REPORT-NEXT: "too_early": 0,
// REPORT-NEXT: "unmatched": 1,
// REPORT-NEXT: "through_driver": 0,
// REPORT:      {"kernel": "_Z4fillPii", "static_hash": "{{[0-9a-f]+}}", "served": 1, "reasons": {},
// REPORT-NEXT:   "variants": [
// REPORT-NEXT:     {"package": "{{.*}}app.mneme", "variant": 1, "arch": "{{sm_90|gfx90a}}", "image": "[[IMAGE:[0-9a-f]+]]", "launch": "cover", "served": 1, "reasons": {"correct for other arguments only": 1}, "verified": 0, "unverified": {}, "failures": 0, "disabled": false}
//
// One library was loaded, of these bytes.
// RUN: cat %t/report %t/log | FileCheck %s --check-prefix=LOG
// LOG: "image": "[[IMAGE:[0-9a-f]+]]"
// LOG: library [[IMAGE]]
// LOG-NOT: library
//
// The same with a CUDA runtime inside the program.
// RUN: %{run} MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=- %t/static \
// RUN:   2> %t/err | FileCheck %s
// RUN: FileCheck %s --check-prefix=TEXT < %t/err
// TEXT: mneme: launches: 1 served by tuned kernels, 1 fell back, 0 too early, 1 of kernels without a tuned one
// TEXT-NEXT: mneme: kernel '_Z4fillPii': 1 served
// TEXT-NEXT: mneme:   variant 1 of '{{.*}}app.mneme' ({{sm_90|gfx90a}}): 1 served
// TEXT-NEXT: mneme:     1 fell back: correct for other arguments only

#ifdef TUNED
extern "C" __global__ void tuned(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x << 8 | 1;
}
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <initializer_list>

__global__ void fill(int *P, int N) {
  P[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x << 8;
}
__global__ void other() {}

int main() {
  int *D, H[128];
  OK(cudaMalloc(&D, sizeof(H)));
  other<<<1, 1>>>();
  for (int N : {7, 8}) {
    OK(cudaMemset(D, 0, sizeof(H)));
    fill<<<4, 32>>>(D, N);
    OK(cudaGetLastError());
    OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
    CHECK(H[127] == H[0]);
    printf("%d: block %d, %s\n", N, H[0] >> 8, H[0] & 1 ? "tuned" : "plain");
  }
}
#endif
