// A kernel that is selected by its name gets code without constants after four variants. Values that come again get constants.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: env MNEME_JIT_KERNELS=. MNEME_JIT_REPORT=%t/report llvm-mneme-record --no-record --device=host -- %t/app | FileCheck %s
// RUN: %jit_report %t/report changes | FileCheck %s --check-prefix=CHANGES
// RUN: %jit_report %t/report repeats | FileCheck %s --check-prefix=REPEATS
// CHECK: 45 30
// CHANGES-COUNT-4: arg 2 = {{.*}}: 1 served
// CHANGES-NOT:     arg 2 =
// CHANGES:         without constants: 6 served
// REPEATS-COUNT-4: arg 2 = {{.*}}: 2 served
// REPEATS:         without constants: 2 served
// REPEATS-COUNT-2: arg 2 = {{.*}}: 1 served

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

__global__ void changes(int *P, int N) { P[0] += N; }
__global__ void repeats(int *P, int N) { P[1] += N; }

int main() {
  int *P, Values[2] = {};
  OK(cudaMalloc(&P, sizeof(Values)));
  OK(cudaMemcpy(P, Values, sizeof(Values), cudaMemcpyHostToDevice));
  for (int I = 0; I != 10; ++I)
    changes<<<1, 1>>>(P, I);
  for (int I = 0; I != 6; ++I)
    for (int Time = 0; Time != 2; ++Time)
      repeats<<<1, 1>>>(P, I);
  OK(cudaMemcpy(Values, P, sizeof(Values), cudaMemcpyDeviceToHost));
  printf("%d %d\n", Values[0], Values[1]);
}
