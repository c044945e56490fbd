// Memory that both sides use in place: managed, pinned, registered.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec && llvm-mneme-record --device=host -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=SUMMARY < %t.err
// RUN: llvm-mneme-record show %t.rec > %t.show && echo end >> %t.show
// RUN: FileCheck %s --check-prefix=MANAGED < %t.show
// RUN: FileCheck %s --check-prefix=PINNED < %t.show
// RUN: FileCheck %s --check-prefix=REGISTERED < %t.show
// RUN: FileCheck %s --check-prefix=INSIDE < %t.show
// RUN: ls %t.rec/*.json | xargs -n 1 llvm-mneme-replay --passes='default<O2>'

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <sys/mman.h>

template <int Which> __global__ void twice(int *P, int N) {
  for (int I = threadIdx.x; I < N; I += blockDim.x)
    P[I] *= 2;
}

__global__ void throughPointer(int **P, int N) {
  for (int I = threadIdx.x; I < N; I += blockDim.x)
    P[0][I] *= 2;
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
  // MANAGED: block 32x1x1
  // MANAGED: {{^ *}}buffer 0: 4.0 KiB {{.*}} changed
  // MANAGED-NEXT: {{^[a-z]}}
  twice<0><<<1, 32>>>(Managed, 1024);
  // PINNED: block 64x1x1
  // PINNED: {{^ *}}buffer 0: 4.0 KiB {{.*}} unchanged
  // PINNED-NEXT: {{^ *}}buffer 1: 4.0 KiB {{.*}} changed
  // PINNED-NEXT: {{^[a-z]}}
  twice<1><<<1, 64>>>(Pinned, 1024);
  OK(cudaHostRegister(Plain, sizeof(Plain), 0));
  int *Mapped;
  OK(cudaHostGetDevicePointer(&Mapped, Plain, 0));
  // The application's own memory, at its own address.
  // REGISTERED: block 128x1x1
  // REGISTERED: argument 0: {{.*}} -> pinned buffer
  // REGISTERED: pinned buffer {{.*}} 4.0 KiB {{.*}} changed (
  twice<2><<<1, 128>>>(Mapped, 1024);
  // Memory that has gone without a word is not there to be recorded.
  void *Gone = mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OK(cudaHostRegister(Gone, 8192, cudaHostRegisterMapped));
  munmap(Gone, 8192);
  // Found in device memory.
  int **Inside;
  OK(cudaMalloc(&Inside, 8));
  OK(cudaMemcpy(Inside, &Pinned, 8, cudaMemcpyHostToDevice));
  // INSIDE: block 256x1x1
  // INSIDE: {{^ *}}buffer 1: 4.0 KiB {{.*}} changed (
  throughPointer<<<1, 256>>>(Inside, 1024);
  // SUMMARY: 4 launches seen, 4 recorded, 0 skipped
  OK(cudaDeviceSynchronize());
  for (int I = 0; I < 1024; ++I)
    CHECK(Managed[I] == 2 * I && Pinned[I] == 4 * I && Plain[I] == 2 * I);
  // One page is page-locked once.
  EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(Plain + 512, 16, 0));
  EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(Pinned, 16, 0));
  OK(cudaHostUnregister(Plain));
  EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(Plain));
  // CHECK: all as it should be
  printf("all as it should be\n");
}
