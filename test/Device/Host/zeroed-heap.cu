// Memory from the device's heap that a kernel sets to zero: device code has no calloc, and
// optimization for the host does not introduce it.
//
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t | FileCheck %s
// CHECK: sum 6

#include <cstdio>
#include <cuda_runtime.h>

__global__ void zeroed(int *Sum, size_t N) {
  int *P = static_cast<int *>(malloc(N * sizeof(int)));
  memset(P, 0, N * sizeof(int));
  P[*Sum] += 2;
  for (size_t I = 0; I != N; ++I)
    *Sum += P[I];
  free(P);
}

int main() {
  int *D, H = 4;
  cudaMalloc(&D, sizeof(H));
  cudaMemcpy(D, &H, sizeof(H), cudaMemcpyHostToDevice);
  zeroed<<<1, 1>>>(D, 100);
  cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost);
  printf("sum %d\n", H);
}
