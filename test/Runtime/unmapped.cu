// A program that unmaps or protects device memory runs as without the recorder, which cannot record it.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --no-record --device=host --quiet -- %t > %t.plain
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t > %t.out 2> %t.err
// RUN: cmp %t.plain %t.out
// RUN: FileCheck %s < %t.plain
// CHECK: usable 0
// CHECK-NEXT: protected 0
// CHECK-NEXT: unmapped 700
// RUN: FileCheck %s --check-prefix=SKIPPED < %t.err
// SKIPPED: 4 launches seen, 1 recorded, 3 skipped
// SKIPPED: 3 skipped: the application has unmapped or protected device memory

#include <cstdio>
#include <cuda_runtime.h>
#include <sys/mman.h>

__global__ void fill(int *P) { P[threadIdx.x] = blockIdx.x; }

static int launch(int *P, int Blocks) {
  fill<<<Blocks, 32>>>(P);
  return cudaDeviceSynchronize();
}

int main() {
  constexpr size_t Size = 1 << 20;
  char *Other;
  int *P;
  cudaMalloc(&P, Size);
  cudaMalloc(&Other, 3 * Size);
  launch(P, 1);
  // The kernel does not use it.
  munmap(Other + Size, Size);
  printf("usable %d\n", launch(P, 2));
  mprotect(Other, Size, PROT_NONE);
  printf("protected %d\n", launch(P, 3));
  munmap(P, Size);
  printf("unmapped %d\n", launch(P, 4));
}
