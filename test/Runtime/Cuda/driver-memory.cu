// A program that takes memory from the driver and launches through the runtime: its
// memory comes from the arena as the runtime's does. The driver's launch of a kernel of the
// same name is one of another kernel, which has no IR.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t -L%cuda_path/lib64/stubs -lcuda
// RUN: rm -rf %t.rec
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc
// RUN: %{gpu} %t | FileCheck %s
// RUN: %{gpu} llvm-mneme-record --device=cuda --max-recordings=9 -o %t.rec -- %t arena > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// CHECK: all is well
// ERR: 7 launches seen, 7 recorded, 0 skipped
// REPLAY: bump grid 1: {{Match|.*without IR}}
// REPLAY-NEXT: bump grid 1: {{Match|.*without IR}}
// REPLAY-NEXT: bump grid 2: Match
// REPLAY-NEXT: bump grid 3: Match
// REPLAY-NEXT: bump grid 4: Match
// REPLAY-NEXT: bump grid 5: Match
// REPLAY-NEXT: bump grid 6: Match
// The host device has no driver API: calls go to the driver that is there.
// RUN: %{gpu} llvm-mneme-record --device=host -o %t.host.rec -- %t host 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: driver

#include "../Inputs/check.h"
#include <cstdint>
#include <cuda.h>
#include <cuda_runtime.h>

extern "C" __global__ void bump(int *P) { ++P[blockIdx.x]; }

static bool inArena(CUdeviceptr P) {
  return P - 0x7e0000000000 < 0x8000000000;
}

static const char Code[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry bump(.param .u64 P)\n{\nret;\n}\n";

static int bumpAt(CUdeviceptr P, int Grid) {
  int H[8] = {};
  OK(cudaMemset(reinterpret_cast<void *>(P), 0, sizeof(H)));
  bump<<<Grid, 1>>>(reinterpret_cast<int *>(P));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(H, reinterpret_cast<void *>(P), sizeof(H),
                cudaMemcpyDeviceToHost));
  return H[Grid - 1] == 1 && H[Grid] == 0;
}

int main(int Argc, char **Argv) {
  const bool Arena = Argc > 1;
  if (Arena && !strcmp(Argv[1], "host")) {
    CUdeviceptr P;
    printf("driver %d\n", cuMemAlloc(&P, 4));
    return 0;
  }
  CUdeviceptr A, B, C, D;
  // Not before there is a context.
  CHECK(cuMemAlloc(&A, 64) != CUDA_SUCCESS);
  OK(cudaFree(nullptr));
  CHECK(cuMemAlloc(&A, 64) == CUDA_SUCCESS);
  CHECK(inArena(A) == Arena);
  CHECK(bumpAt(A, 1));
  CHECK(cuMemAllocAsync(&B, 64, 0) == CUDA_SUCCESS);
  CHECK(inArena(B) == Arena);
  CHECK(bumpAt(B, 2));
  CHECK(cuMemAllocManaged(&C, 64, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  CHECK(!inArena(C));
  CHECK(bumpAt(C, 3));
  void *H;
  CHECK(cuMemHostAlloc(&H, 64, 0) == CUDA_SUCCESS);
  CHECK(bumpAt(reinterpret_cast<CUdeviceptr>(H), 4));
  CHECK(cuMemFreeHost(H) == CUDA_SUCCESS);
  CHECK(cuMemAllocHost(&H, 64) == CUDA_SUCCESS);
  CHECK(bumpAt(reinterpret_cast<CUdeviceptr>(H), 5));
  CHECK(cuMemFreeHost(H) == CUDA_SUCCESS);
  // With its own pitch: the driver's.
  size_t Pitch;
  CHECK(cuMemAllocPitch(&D, &Pitch, 100, 3, 4) == CUDA_SUCCESS);
  CHECK(Pitch >= 100 && inArena(D) == Arena);
  CHECK(bumpAt(D, 6));

  CUmodule M;
  CUfunction F;
  void *Args[] = {&A};
  CHECK(cuModuleLoadData(&M, Code) == CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&F, M, "bump") == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(F, 1, 1, 1, 1, 1, 1, 0, 0, Args, 0) == CUDA_SUCCESS);

  CHECK(cuMemFree(A) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(B, 0) == CUDA_SUCCESS);
  CHECK(cuMemFree(C) == CUDA_SUCCESS);
  CHECK(cuMemFree(D) == CUDA_SUCCESS);
  CHECK(cuMemFree(A) != CUDA_SUCCESS);
  printf("all is well\n");
}
