// PROTEUS_TUNED_KERNELS: the file says how each kernel in it is compiled.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: echo '{"_Z5firstiPi": {"SpecializeArgs": false, "Pipeline": "default<O1>"}}' > %t/tuned.json
// RUN: env PROTEUS_TUNED_KERNELS=%t/tuned.json MNEME_JIT_REPORT=%t/report \
// RUN:   llvm-mneme-record --no-record --device=host -- %t/app | FileCheck %s
// CHECK: 7 7
// RUN: %jit_report %t/report first | FileCheck %s --check-prefix=FIRST
// FIRST: {{^  }}: 1 served
// RUN: %jit_report %t/report second | FileCheck %s --check-prefix=SECOND
// SECOND: arg 1 = 7: 1 served
//
// Errors in it cost the kernel's code, not the program.
// RUN: echo '{"_Z5firstiPi": {"Pipeline": "no-such-pass"}}' > %t/tuned.json
// RUN: env PROTEUS_TUNED_KERNELS=%t/tuned.json MNEME_JIT_REPORT=%t/report \
// RUN:   llvm-mneme-record --no-record --device=host -- %t/app 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: mneme: warning: '_Z5firstiPi': does not compile: {{.*}}'no-such-pass'
// BAD: 7 7
// RUN: env PROTEUS_TUNED_KERNELS=%t/missing.json llvm-mneme-record --no-record --device=host -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// MISSING: mneme: warning: PROTEUS_TUNED_KERNELS: cannot read '{{.*}}missing.json'
// MISSING: 7 7

#include <cstdio>
#include <mneme/jit.h>

__attribute__((annotate("jit", 1))) __global__ void first(int N, int *P) {
  P[0] = N;
}
__attribute__((annotate("jit", 1))) __global__ void second(int N, int *P) {
  P[1] = N;
}

int main() {
  int *P, I[2] = {};
  cudaMalloc(&P, sizeof(I));
  first<<<1, 1>>>(7, P);
  second<<<1, 1>>>(7, P);
  cudaMemcpy(I, P, sizeof(I), cudaMemcpyDeviceToHost);
  printf("%d %d\n", I[0], I[1]);
}
