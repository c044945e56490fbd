// Arrays and objects in device memory are read in the order of the launch's stream: what an earlier copy or kernel in it writes is
// constant in the code. If they never change, they are read once.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %jit_gpu MNEME_EMULATED_KERNELS=%t/plain.bc MNEME_JIT_REPORT=%t/report %t/app | FileCheck %s
// RUN: %jit_report %t/report sumOf | FileCheck %s --check-prefix=SUM
// SUM: kernel sumOf(int const*, int, int*)
// SUM-NEXT: contents of arg 1 = {1, 2}, threads <= 1: 2 served
// SUM-NEXT: contents of arg 1 = {7, 8}, threads <= 1: 1 served
// SUM-NEXT: contents of arg 1 = {11, 12}, threads <= 1: 1 served
// RUN: %jit_report %t/report immutable | FileCheck %s --check-prefix=IMMUTABLE
// IMMUTABLE: contents of arg 1 at {{[0-9]+}}, threads <= 1: 2 served
// RUN: %jit_report %t/report object | FileCheck %s --check-prefix=OBJECT
// OBJECT: contents of arg 1 = {3}, threads <= 1: 1 served

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__global__ void sumOf(const int *P, int N, int *To) {
  mneme::jit_array(P, N);
  int Sum = 0;
  for (int I = 0; I != N; ++I)
    Sum += P[I];
  *To = Sum;
}

__global__ void immutable(const int *P, int *To) {
  mneme::jit_array(P, 2, mneme::jit_immutable);
  *To = P[0] * P[1];
}

struct Options {
  int Factor;
};
__global__ void object(const Options *O, int *To) {
  mneme::jit_object(O);
  *To = O->Factor * 5;
}

__global__ void write(int *P) {
  P[0] = 11;
  P[1] = 12;
}

int main() {
  int *P, *To, Sum, Values[2] = {1, 2};
  Options *O, Three = {3};
  cudaStream_t S;
  OK(cudaStreamCreate(&S));
  OK(cudaMalloc(&P, sizeof(Values)));
  OK(cudaMalloc(&To, sizeof(*To)));
  OK(cudaMalloc(&O, sizeof(*O)));
  auto Show = [&](const char *What) {
    OK(cudaMemcpyAsync(&Sum, To, sizeof(Sum), cudaMemcpyDeviceToHost, S));
    OK(cudaStreamSynchronize(S));
    printf("%s %d\n", What, Sum);
  };
  OK(cudaMemcpyAsync(P, Values, sizeof(Values), cudaMemcpyHostToDevice, S));
  sumOf<<<1, 1, 0, S>>>(P, 2, To);
  sumOf<<<1, 1, 0, S>>>(P, 2, To);
  Show("sum");
  // CHECK: sum 3
  int Others[2] = {7, 8};
  OK(cudaMemcpyAsync(P, Others, sizeof(Others), cudaMemcpyHostToDevice, S));
  sumOf<<<1, 1, 0, S>>>(P, 2, To);
  Show("sum");
  // CHECK-NEXT: sum 15
  write<<<1, 1, 0, S>>>(P);
  sumOf<<<1, 1, 0, S>>>(P, 2, To);
  Show("sum");
  // CHECK-NEXT: sum 23
  immutable<<<1, 1, 0, S>>>(P, To);
  immutable<<<1, 1, 0, S>>>(P, To);
  Show("product");
  // CHECK-NEXT: product 132
  OK(cudaMemcpyAsync(O, &Three, sizeof(Three), cudaMemcpyHostToDevice, S));
  object<<<1, 1, 0, S>>>(O, To);
  Show("object");
  // CHECK-NEXT: object 15
}
