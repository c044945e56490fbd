// A privileged program (AT_SECURE) ignores the environment, also where the library
// is linked. Its own packages are used.
//
// REQUIRES: root
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc_static -O2 -c %s -o %t/app.o
// RUN: mneme-package %t/app.mneme %t/app.o kernel=_Z4fillPi variant=%t/tuned.cubin entry=tuned
// RUN: echo '.section mneme_package,"a"; .incbin "%t/app.mneme"' > %t/package.s
// DEFINE: %{libraries} = -Wl,--disable-new-dtags -Wl,-rpath,%emulated_cuda:%mneme_build/lib \
// DEFINE:   -Wl,--no-as-needed %mneme_deploy
// RUN: %cuda_cc_plain %t/app.o -o %t/app %{libraries} %emulated_static_libs
// RUN: %cuda_cc_plain %t/package.s %t/app.o -o %t/embedded %{libraries} %emulated_static_libs
// RUN: : > %t/none
// DEFINE: %{run} = env MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc MNEME_TUNED_REPORT=%t/report
//
// RUN: %{run} MNEME_TUNED=%t/app.mneme %t/app | FileCheck %s --check-prefix=USER
// USER: secure 0: tuned
// RUN: rm %t/report
// RUN: chgrp 12345 %t/app %t/embedded && chmod g+s %t/app %t/embedded
// RUN: %{run} MNEME_TUNED=%t/app.mneme %t/app 2>&1 | FileCheck %s --check-prefix=SECURE
// RUN: %{run} MNEME_TUNED=%t/none MNEME_TUNED_STRICT=1 %t/app 2>&1 | FileCheck %s --check-prefix=SECURE
// SECURE-NOT: mneme
// SECURE: secure 1: plain
// RUN: %{run} MNEME_TUNED=%t/none %t/embedded 2>&1 | FileCheck %s --check-prefix=EMBEDDED
// EMBEDDED-NOT: mneme
// EMBEDDED: secure 1: tuned
// RUN: not ls %t/report

#ifdef TUNED
extern "C" __global__ void tuned(int *P) { *P = 1; }
#else
#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <sys/auxv.h>

__global__ void fill(int *P) { *P = 2; }

int main() {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  fill<<<1, 1>>>(D);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  printf("secure %lu: %s\n", getauxval(AT_SECURE), H == 1 ? "tuned" : "plain");
}
#endif
