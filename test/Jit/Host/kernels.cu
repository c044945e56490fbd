// Kernels on the host device are compiled with what their launches have, as far as the code uses it. Device variables and the
// kernel's symbols stay the application's.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: env MNEME_JIT=0 llvm-mneme-record --no-record --device=host -- %t/app > %t/expected
// RUN: FileCheck %s < %t/expected
// RUN: env MNEME_JIT_REPORT=%t/report llvm-mneme-record --no-record --device=host -- %t/app | diff - %t/expected
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=ALL
// ALL: served=10 fell_back=1
// RUN: %jit_report %t/report scale | FileCheck %s --check-prefix=SCALE
// SCALE: host kernel scale(float*, float, int)
// SCALE-NEXT: 1 ran as compiled: disabled by the application
// SCALE-NEXT: arg 2 = 2, arg 3 = 32, block.x = 32: 2 served
// SCALE-NEXT: arg 2 = 3, arg 3 = 32, block.x = 32: 1 served
// SCALE-NEXT: arg 2 = 2, arg 3 = 32, block.x = 16: 1 served
// RUN: %jit_report %t/report member | FileCheck %s --check-prefix=MEMBER
// MEMBER: host kernel member(Options, int*)
// MEMBER-NEXT: arg 1 + 8 = 7: 2 served
// RUN: %jit_report %t/report variable | FileCheck %s --check-prefix=VARIABLE
// VARIABLE: host kernel variable(int, int*)
// VARIABLE-NEXT: {{^  }}: 2 served
// RUN: %jit_report %t/report dynamic | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: {{^  }}block.x = 8: 1 served
// DYNAMIC-NEXT: block.x = 16: 1 served
//
// Settings say which values become constants. Kernels without an annotation are selected by name.
// RUN: env MNEME_JIT_SPECIALIZE=args,grid MNEME_JIT_KERNELS='^unmarked' MNEME_JIT_REPORT=%t/some \
// RUN:   llvm-mneme-record --no-record --device=host -- %t/app | diff - %t/expected
// RUN: %jit_report %t/some scale | FileCheck %s --check-prefix=GRID
// GRID: arg 2 = 2, arg 3 = 32: 3 served
// RUN: %jit_report %t/some unmarked | FileCheck %s --check-prefix=UNMARKED
// UNMARKED: host kernel unmarked(int*)
// UNMARKED-NEXT: grid.x = 1: 1 served

#include "../Inputs/kernels.h"

__device__ int Count;
__attribute__((annotate("jit", 1))) __global__ void variable(int N, int *P) {
  *P = ++Count;
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
  int Five = 5;
  OK(cudaMemcpyToSymbol(Count, &Five, sizeof(Five)));
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
  dynamic<<<1, 16, 16 * sizeof(int)>>>(P);
  Show("dynamic", 1);
  // CHECK-NEXT: dynamic 14
  unmarked<<<1, 1>>>(P);
  Show("unmarked", 0);
  // CHECK-NEXT: unmarked 1
}
