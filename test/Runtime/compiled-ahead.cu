// While a program waits for a kernel, those that follow in the source are compiled, too, by other processes of the launcher.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK-COUNT-20: sum 1
// CHECK: mneme: 21 launches seen, 21 recorded, 0 skipped
// RUN: llvm-mneme-record check %t/rec
//
// Two processes ask for the same kernels in different orders.
// RUN: llvm-mneme-record --any-executable --device=host -o %t/two -- sh -c '%t/app & %t/app reverse; wait' 2>&1 | FileCheck %s --check-prefix=TWO
// TWO-COUNT-40: sum 1
// TWO: mneme: 42 launches seen, 21 recorded, 21 skipped

#include <cstdio>

template <int I> __global__ void set(int *P) { *P = I + 1; }
__global__ void last(int *P) { *P += 1; }

int *P;

template <int I> void run() {
  int Value = 0;
  set<I><<<1, 1>>>(P);
  cudaMemcpy(&Value, P, sizeof(Value), cudaMemcpyDeviceToHost);
  printf("sum %d\n", Value == I + 1);
}

template <int... I> void runAll(bool Reverse) {
  void (*Runs[])() = {run<I>...};
  for (int K = 0; K != sizeof...(I); ++K)
    Runs[Reverse ? sizeof...(I) - 1 - K : K]();
}

int main(int Argc, char **) {
  cudaMalloc(&P, sizeof(int));
  runAll<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19>(
      Argc > 1);
  last<<<1, 1>>>(P);
  cudaDeviceSynchronize();
}
