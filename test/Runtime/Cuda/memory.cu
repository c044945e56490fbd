// Device memory comes from the arena, and behaves as the runtime's own: alignment,
// errors, the last error, running out of it.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: %cuda_cc_static -O2 %s -o %t.static %emulated_static_libs
// RUN: rm -rf %t.*rec
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=0x8000000 llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t arena | FileCheck %s
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=0x8000000 llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t.static arena | FileCheck %s
// The same without recording.
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=0x8000000 %t runtime | FileCheck %s
// CHECK: all is well

#include "../Inputs/check.h"
#include <cstdint>
#include <cuda_runtime.h>

__global__ void kernel() {}

static bool inArena(const void *P) {
  return reinterpret_cast<uintptr_t>(P) - 0x7e0000000000 < 0x8000000000;
}

int main(int, char **Argv) {
  const bool Arena = !strcmp(Argv[1], "arena");
  char *A, *B, *Large, *Foreign;
  // Nothing, and less.
  OK(cudaFree(nullptr));
  OK(cudaMalloc(&A, 0));
  OK(cudaGetLastError());

  OK(cudaMalloc(&A, 1));
  OK(cudaMalloc(&B, 1000));
  CHECK(inArena(A) == Arena && inArena(B) == Arena);
  if (Arena) {
    CHECK(B - A == 512);
    OK(cudaMalloc(&Large, 3 << 20));
    CHECK(reinterpret_cast<uintptr_t>(Large) % (2 << 20) == 0);
    OK(cudaFree(Large));
  }
  OK(cudaMemset(B, 7, 1000));
  char H[1000];
  OK(cudaMemcpy(H, B, 1000, cudaMemcpyDeviceToHost));
  CHECK(H[999] == 7);

  // Only what was given can be given back, and once.
  EXPECT(cudaErrorInvalidValue, cudaFree(B + 1));
  EXPECT(cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaGetLastError());
  OK(cudaFree(A));
  EXPECT(cudaErrorInvalidValue, cudaFree(A));
  EXPECT(cudaErrorInvalidValue, cudaGetLastError());
  // The runtime's own memory goes back to it.
  OK(cudaMallocManaged(&Foreign, 100));
  CHECK(!inArena(Foreign));
  OK(cudaFree(Foreign));

  // More than there is: 128 MiB.
  EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&Large, size_t(1) << 40));
  EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&Large, 200 << 20));
  EXPECT(cudaErrorMemoryAllocation, cudaPeekAtLastError());
  EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
  // Memory comes back, whatever the pieces were.
  for (int Round = 0; Round != 3; ++Round) {
    char *Pieces[25];
    for (char *&P : Pieces)
      OK(cudaMalloc(&P, 4 << 20));
    for (int I = 0; I != 25; ++I)
      OK(cudaFree(Pieces[(I * 7) % 25]));
    OK(cudaMalloc(&Large, 100 << 20));
    OK(cudaMemset(Large, 1, 100 << 20));
    OK(cudaFree(Large));
  }
  OK(cudaFree(B));
  // What was freed is free.
  size_t Before, After, Total;
  OK(cudaMemGetInfo(&Before, &Total));
  OK(cudaMalloc(&Large, 100 << 20));
  OK(cudaMemGetInfo(&After, &Total));
  CHECK(Before - After == 100 << 20);
  OK(cudaFree(Large));
  OK(cudaMemGetInfo(&After, &Total));
  CHECK(Before == After && Total == 128 << 20);
  OK(cudaGetLastError());
  printf("all is well\n");
}
