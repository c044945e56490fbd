// Kernels on a GPU are compiled with what their launches have, through the driver, beside the application's CUDA runtime. The emulated
// driver runs the kernel as compiled, whatever its image, so the images are looked at, too.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -I%mneme_src/include -c %s -o %t/plain.bc
// RUN: mneme-pass-opt --passes=mneme-deployable %t/plain.bc -o %t/shared.bc
// RUN: %cuda_cc -O2 -I%mneme_src/include %s -o %t/app
// RUN: %cuda_cc_static -O2 -I%mneme_src/include %s -o %t/static %emulated_static_libs
// DEFINE: %{run} = %jit_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/shared.bc MNEME_EMULATED_LOG=%t/log
// RUN: %{run} MNEME_JIT=0 %t/app > %t/expected
// RUN: FileCheck %s < %t/expected
// RUN: %{run} MNEME_JIT_REPORT=%t/report %t/app | diff - %t/expected
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=ALL
// ALL: served=9 fell_back=1
// RUN: %jit_report %t/report scale | FileCheck %s --check-prefix=SCALE
// SCALE: kernel scale(float*, float, int)
// SCALE-NEXT: 1 ran as compiled: disabled by the application
// SCALE-NEXT: arg 2 = 2, arg 3 = 32, block.x = 32, threads <= 32: 2 served
// SCALE-NEXT: arg 2 = 3, arg 3 = 32, block.x = 32, threads <= 32: 1 served
// SCALE-NEXT: arg 2 = 2, arg 3 = 32, block.x = 16, threads <= 16: 1 served
// RUN: %jit_report %t/report member | FileCheck %s --check-prefix=MEMBER
// MEMBER: kernel member(Options, int*)
// MEMBER-NEXT: arg 1 + 8 = 7, threads <= 1: 2 served
// RUN: %jit_report %t/report variable | FileCheck %s --check-prefix=VARIABLE
// VARIABLE: kernel variable(int, int*)
// VARIABLE-NEXT: threads <= 1: 2 served
//
// A library of the driver for each variant.
// RUN: grep -c ^library %t/log | FileCheck %s --check-prefix=LIBRARIES
// LIBRARIES: {{^6$}}
//
// The same with a CUDA runtime inside the program.
// RUN: %{run} MNEME_JIT_REPORT=%t/static-report %t/static | diff - %t/expected
// RUN: %jit_report %t/static-report | FileCheck %s --check-prefix=ALL
//
// Kernels without an annotation are selected by name.
// RUN: %{run} MNEME_JIT_SPECIALIZE=args,grid MNEME_JIT_KERNELS='^unmarked' MNEME_JIT_REPORT=%t/some %t/app | diff - %t/expected
// RUN: %jit_report %t/some unmarked | FileCheck %s --check-prefix=UNMARKED
// UNMARKED: kernel unmarked(int*)
// UNMARKED-NEXT: grid.x = 1: 1 served
//
// With times, every second launch of a variant runs as compiled.
// RUN: %{run} MNEME_JIT_TIMES=1 MNEME_JIT_REPORT=%t/times %t/app | diff - %t/expected
// RUN: %jit_report %t/times scale | FileCheck %s --check-prefix=TIMES
// TIMES: 1 ran as compiled: disabled by the application
// TIMES-NEXT: 1 ran as compiled: to compare times
// RUN: grep -c '"pairs": 1' %t/times

#include "../Inputs/kernels.h"

__device__ int Count;
__constant__ int Step;
__attribute__((annotate("jit", 1))) __global__ void variable(int N, int *P) {
  *P = Count += Step;
}

int main() {
  int *P, I[16];
  OK(cudaMalloc(&P, sizeof(I)));
  scaleAll();
  // CHECK: scaled 48 48

  auto Show = [&](const char *What, int At) {
    OK(cudaMemcpy(I, P, sizeof(I), cudaMemcpyDeviceToHost));
    printf("%s %d\n", What, I[At]);
  };
  member<<<1, 1>>>({1, 7, 1}, P);
  Show("member", 0);
  // CHECK-NEXT: member 15
  member<<<1, 1>>>({2, 7, 2}, P);
  Show("member", 0);
  // CHECK-NEXT: member 16
  int Five = 5, One = 1;
  OK(cudaMemcpyToSymbol(Count, &Five, sizeof(Five)));
  OK(cudaMemcpyToSymbol(Step, &One, sizeof(One)));
  variable<<<1, 1>>>(1, P);
  variable<<<1, 1>>>(2, P);
  Show("variable", 0);
  // CHECK-NEXT: variable 7
  OK(cudaMemcpyFromSymbol(&Five, Count, sizeof(Five)));
  printf("copied %d\n", Five);
  // CHECK-NEXT: copied 7
  dynamic<<<1, 8, 8 * sizeof(int)>>>(P);
  Show("dynamic", 0);
  // CHECK-NEXT: dynamic 7
  unmarked<<<1, 1>>>(P);
  Show("unmarked", 0);
  // CHECK-NEXT: unmarked 1
}
