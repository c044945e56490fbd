// Memory that both sides use in place: managed, pinned, registered.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec && llvm-mneme-record --device=host -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.err
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// RUN: ls %t.rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O2>'

#include "Inputs/check.h"
#include <cuda_runtime.h>

template <int Which> __global__ void twice(int *P, int N) {
  for (int I = threadIdx.x; I < N; I += blockDim.x)
    P[I] *= 2;
}

static int Plain[1024];

int main() {
  int *Managed, *Pinned, *Staging;
  OK(cudaMallocManaged(&Managed, 4096));
  OK(cudaMallocHost(&Pinned, 4096));
  // Never given to a kernel, so not part of a recording.
  OK(cudaMallocHost(&Staging, 1 << 20));
  for (int I = 0; I < 1024; ++I)
    Managed[I] = Pinned[I] = Plain[I] = Staging[I] = I;
  // The managed buffer only, then with the pinned one.
  // SHOW: block 32x1x1
  // SHOW: buffer 0: 4.0 KiB {{.*}} changed
  // SHOW-NOT: buffer 1
  twice<0><<<1, 32>>>(Managed, 1024);
  // SHOW: block 64x1x1
  // SHOW: buffer 0: 4.0 KiB {{.*}} unchanged
  // SHOW: buffer 1: 4.0 KiB {{.*}} changed
  // SHOW-NOT: buffer 2
  twice<1><<<1, 64>>>(Pinned, 1024);
  OK(cudaHostRegister(Plain, sizeof(Plain), 0));
  int *Mapped;
  OK(cudaHostGetDevicePointer(&Mapped, Plain, 0));
  // SUMMARY: mneme: warning: kernel '_Z5twiceILi2EEvPii' is not recorded: an argument points to registered host memory
  // SUMMARY: 3 launches seen, 2 recorded, 1 skipped
  // SUMMARY: 1 skipped: an argument points to registered host memory
  twice<2><<<1, 128>>>(Mapped, 1024);
  OK(cudaDeviceSynchronize());
  for (int I = 0; I < 1024; ++I)
    CHECK(Managed[I] == 2 * I && Pinned[I] == 2 * I && Plain[I] == 2 * I);
  // CHECK: all as it should be
  printf("all as it should be\n");
}
