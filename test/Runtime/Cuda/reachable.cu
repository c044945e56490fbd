// --reachable on a GPU: pointers in memory that begins anywhere are found, and a
// kernel that finds its way in another manner is not recorded.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind --reachable -o %t/rec -- %t/app > %t/out 2> %t/err
// RUN: FileCheck %s < %t/out
// RUN: FileCheck %s --check-prefix=ERR < %t/err
// CHECK: 5 7
// ERR: warning: kernel '_Z6hiddenm' is not recorded: it changes memory that --reachable leaves out
// ERR: 2 launches seen, 1 recorded, 1 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: follow grid 1: Match

#include "../Inputs/check.h"
#include <cstdint>
#include <cuda_runtime.h>

__global__ void follow(int *const *P) { **P = 5; }
__global__ void hidden(uint64_t Secret) {
  *reinterpret_cast<int *>(~Secret) = 7;
}

int main() {
  int *A, *B, H[2];
  OK(cudaMalloc((void **)&A, 64));
  OK(cudaMalloc((void **)&B, 64));
  OK(cudaMemset(A, 1, 64));
  OK(cudaMemset(B, 1, 64));
  alignas(8) static char Memory[4096];
  char *Begin = Memory + 4;
  int **P = reinterpret_cast<int **>(Memory + 64);
  *P = A;
  OK(cudaHostRegister(Begin, 2048, cudaHostRegisterMapped));
  follow<<<1, 1>>>(P);
  hidden<<<1, 1>>>(~reinterpret_cast<uint64_t>(B));
  OK(cudaMemcpy(&H[0], A, 4, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(&H[1], B, 4, cudaMemcpyDeviceToHost));
  printf("%d %d\n", H[0], H[1]);
}
