// Memory that the application changes while it is recorded: some state of it is
// recorded, and what the database holds is what it says. Memory that nobody may read
// is not.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app -lpthread
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: the program goes on
// CHECK: 4 launches seen, 4 recorded, 0 skipped
// RUN: llvm-mneme-record check %t/rec

#include "Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <thread>

__global__ void store(int *P) { *P = 1; }

int main() {
  const size_t Words = 2 << 20, Page = 1024;
  unsigned *H, Random = 1;
  OK(cudaHostAlloc((void **)&H, 4 * Words, cudaHostAllocMapped));
  for (size_t I = 0; I != Words; ++I) // Does not compress.
    H[I] = Random = Random * 1664525 + 1013904223;
  int *D;
  OK(cudaMalloc(&D, 4));
  const size_t Bytes = 64 << 10;
  void *Closed = mmap(nullptr, Bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OK(cudaHostRegister(Closed, Bytes, cudaHostRegisterMapped));
  CHECK(!mprotect((char *)Closed + Bytes / 2, Bytes / 2, PROT_NONE));

  std::atomic<bool> IsOver{false};
  std::thread Writer([&] {
    while (!IsOver)
      for (size_t I = 7; I < Words; I += Page)
        ++H[I];
  });
  for (int Blocks = 1; Blocks <= 4; ++Blocks)
    store<<<Blocks, 1>>>(D);
  OK(cudaDeviceSynchronize());
  IsOver = true;
  Writer.join();
  printf("the program goes on\n");
}
