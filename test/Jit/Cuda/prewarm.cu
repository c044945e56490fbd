// Values that a package was tuned for are compiled before their first launch, where its images are for other GPUs.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{block} = guard=block index=1 low=1 guard=block index=2 low=1 guard=block index=0 low=32
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4filliPi \
// RUN:   variant=%t/tuned.cubin arch=sm_80 entry=_Z4filliPi guard=arg index=0 size=4 low=7 %{block} \
// RUN:   variant=%t/tuned.cubin arch=sm_80 entry=_Z4filliPi guard=arg index=0 size=4 low=9 \
// RUN:   variant=%t/tuned.cubin arch=sm_80 entry=_Z4filliPi guard=arg index=0 size=4 low=11 %{block}
// DEFINE: %{run} = %jit_gpu MNEME_EMULATED_KERNELS=%t/plain.bc MNEME_TUNED=%t/app.mneme MNEME_JIT_CACHE=%t/cache \
// DEFINE:   MNEME_JIT_REPORT=%t/report
// One launch of another kernel, and then as many files of code as there are kernels and values.
// RUN: %{run} %t/app %t/cache 3 | FileCheck %s
// CHECK: 3 files
// RUN: %{run} MNEME_JIT_MODE=cached %t/app 7 8 9 11 | FileCheck %s --check-prefix=FILLED
// FILLED: 7
// FILLED-NEXT: 8
// FILLED-NEXT: 9
// FILLED-NEXT: 11
// RUN: %jit_report %t/report fill | FileCheck %s --check-prefix=REPORT
// REPORT: 2 ran as compiled: not in the cache
// REPORT-DAG: arg 1 = 7, threads <= 32: 1 served
// REPORT-DAG: arg 1 = 11, threads <= 32: 1 served

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <dirent.h>
#include <mneme/jit.h>
#include <string.h>
#include <unistd.h>

__attribute__((annotate("jit", 1))) __global__ void fill(int N, int *P) {
  *P = N;
}
__attribute__((annotate("jit"))) __global__ void other(int *P) { *P = 0; }

static int countFiles(const char *Folder) {
  int Count = 0;
  DIR *D = opendir(Folder);
  while (dirent *E = D ? readdir(D) : nullptr) {
    const char *Dot = strrchr(E->d_name, '.');
    Count += Dot && !strcmp(Dot, ".code");
  }
  if (D)
    closedir(D);
  return Count;
}

int main(int Argc, char **Argv) {
  int *P, H;
  OK(cudaMalloc(&P, sizeof(H)));
  if (Argc > 1 && *Argv[1] == '/') {
    other<<<1, 1>>>(P);
    while (countFiles(Argv[1]) < atoi(Argv[2]))
      usleep(10000);
    printf("%d files\n", countFiles(Argv[1]));
    return 0;
  }
  for (int I = 1; I < Argc; ++I) {
    fill<<<1, 32>>>(atoi(Argv[I]), P);
    OK(cudaMemcpy(&H, P, sizeof(H), cudaMemcpyDeviceToHost));
    printf("%d\n", H);
  }
}
