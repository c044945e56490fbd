// Arrays and objects: what they contain at the launch is constant in the code, so a launch after a change gets other code. If they
// never change, they are read once. Code that may write to them keeps reading them.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: env MNEME_JIT_REPORT=%t/report llvm-mneme-record --no-record --device=host -- %t/app | FileCheck %s
// RUN: %jit_report %t/report changing | FileCheck %s --check-prefix=CHANGING
// CHANGING: contents of arg 1 = {1, 2}: 2 served
// CHANGING-NEXT: contents of arg 1 = {1, 5}: 1 served
// CHANGING-NEXT: contents of arg 1 = {1, 5, 6}: 1 served
// RUN: %jit_report %t/report immutable | FileCheck %s --check-prefix=IMMUTABLE
// IMMUTABLE: contents of arg 1 at {{[0-9]+}}: 2 served
// RUN: %jit_report %t/report object | FileCheck %s --check-prefix=OBJECT
// OBJECT: contents of arg 1 = {3}: 1 served
// RUN: %jit_report %t/report written | FileCheck %s --check-prefix=WRITTEN
// WRITTEN: argument 1 is not a constant: the code may write to it
// WRITTEN-NEXT: {{^  }}: 2 served

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__device__ int sum(const int *P, int N) {
  int Sum = 0;
  for (int I = 0; I != N; ++I)
    Sum += P[I];
  return Sum;
}

__global__ void changing(const int *P, int N, int *Out) {
  mneme::jit_array(P, N);
  *Out = sum(P, N);
}
__global__ void immutable(const int *P, int *Out) {
  mneme::jit_array(P, 2, mneme::jit_immutable);
  *Out = sum(P, 2);
}
struct Object {
  int N;
};
__global__ void object(const Object *O, int *Out) {
  mneme::jit_object(O);
  *Out = O->N;
}
__global__ void written(int *P, int *Out) {
  mneme::jit_array(P, 1);
  *Out = ++*P;
}

int main() {
  int *P, *Out;
  OK(cudaMalloc(&P, 3 * sizeof(int)));
  OK(cudaMalloc(&Out, sizeof(int)));
  auto Set = [&](int A, int B, int C) {
    int Values[] = {A, B, C};
    OK(cudaMemcpy(P, Values, sizeof(Values), cudaMemcpyHostToDevice));
  };
  auto Show = [&] {
    int Value;
    OK(cudaMemcpy(&Value, Out, sizeof(Value), cudaMemcpyDeviceToHost));
    printf("%d\n", Value);
  };
  Set(1, 2, 3);
  for (int I : {1, 2}) {
    changing<<<1, 1>>>(P, 2, Out);
    Show();
  }
  // CHECK: 3
  // CHECK-NEXT: 3
  Set(1, 5, 6);
  changing<<<1, 1>>>(P, 2, Out);
  Show();
  // CHECK-NEXT: 6
  changing<<<1, 1>>>(P, 3, Out);
  Show();
  // CHECK-NEXT: 12
  // A promise, broken here: the code has the first contents.
  for (int I : {7, 8}) {
    Set(I, I, I);
    immutable<<<1, 1>>>(P, Out);
    Show();
  }
  // CHECK-NEXT: 14
  // CHECK-NEXT: 14
  Set(3, 0, 0);
  object<<<1, 1>>>(reinterpret_cast<Object *>(P), Out);
  Show();
  // CHECK-NEXT: 3
  for (int I : {1, 2}) {
    written<<<1, 1>>>(P, Out);
    Show();
  }
  // CHECK-NEXT: 4
  // CHECK-NEXT: 5
}
