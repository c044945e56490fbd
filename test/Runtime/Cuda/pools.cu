// Memory of pools, in the order of streams, and pitched memory: from the arena, and
// recorded.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: %cuda_cc_static -O2 %s -o %t.static %emulated_static_libs
// RUN: rm -rf %t.*rec
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_MEMORY=0x8000000 MNEME_EMULATED_KERNELS=%t.bc
// RUN: %{gpu} %t | FileCheck %s
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t arena > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind -o %t.static.rec -- %t.static arena 2>&1 | FileCheck %s --check-prefixes=CHECK,ERR
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// Memory that a stream has freed is not there any more, once it has come to that.
// RUN: llvm-mneme-record show %t.rec | grep -A 5 'grid 3x1x1, block 1x' | grep ' buffer [0-9]*: ' | count 1
// CHECK: all is well
// ERR: 5 launches seen, 5 recorded, 0 skipped
// REPLAY: addTo grid 1: Match
// REPLAY-NEXT: addTo grid 2: Match
// REPLAY-NEXT: addTo grid 3: Match
// REPLAY-NEXT: transpose grid 3: Match
// REPLAY-NEXT: transpose grid 4: Match

#include "../Inputs/check.h"
#include <cstdint>
#include <cuda_runtime.h>
#include <thread>
#include <unistd.h>

__global__ void addTo(int *P, int N) { P[blockIdx.x] += N; }

/// Rows of one to slices of the other.
__global__ void transpose(int *To, size_t ToPitch, const int *From,
                          size_t FromPitch) {
  int X = threadIdx.x, Y = blockIdx.x;
  ((int *)((char *)To + X * ToPitch))[Y] =
      ((const int *)((const char *)From + Y * FromPitch))[X];
}

static bool inArena(const void *P) {
  return reinterpret_cast<uintptr_t>(P) - 0x7e0000000000 < 0x8000000000;
}

static volatile bool IsOpen;
static void waitUntilOpen(void *) {
  while (!IsOpen)
    usleep(1000);
}

/// Memory that a stream will free is not given to others before.
static void checkOrder(bool Arena) {
  cudaStream_t S, Other;
  OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&Other, cudaStreamNonBlocking));
  char *A, *B, *C;
  OK(cudaMallocAsync((void **)&A, 5000, S));
  OK(cudaStreamSynchronize(S));
  OK(cudaLaunchHostFunc(S, waitUntilOpen, nullptr));
  OK(cudaFreeAsync(A, S));
  OK(cudaMallocAsync((void **)&B, 5000, Other));
  CHECK(B != A);
  // In its own stream it is free.
  OK(cudaMallocAsync((void **)&C, 5000, S));
  CHECK(!Arena || C == A);
  // A thread's own stream is another one in each thread.
  char *Mine, *Others;
  OK(cudaMallocAsync((void **)&Mine, 7000, cudaStreamPerThread));
  OK(cudaLaunchHostFunc(cudaStreamPerThread, waitUntilOpen, nullptr));
  OK(cudaFreeAsync(Mine, cudaStreamPerThread));
  std::thread([&] {
    OK(cudaMallocAsync((void **)&Others, 7000, cudaStreamPerThread));
  }).join();
  CHECK(Others != Mine);
  IsOpen = true;
  OK(cudaFreeAsync(Others, S));
  OK(cudaFreeAsync(C, S));
  OK(cudaFreeAsync(B, Other));
  OK(cudaDeviceSynchronize());
  if (Arena) {
    CHECK(cudaFreeAsync(B, Other) != cudaSuccess);
    CHECK(cudaFree(B) != cudaSuccess);
    CHECK(cudaGetLastError() != cudaSuccess);
  }
  // And after that, all is there for all: 128 MiB.
  for (int I = 0; I != 10; ++I) {
    OK(cudaMallocAsync((void **)&A, 100 << 20, S));
    OK(cudaFreeAsync(A, S));
    OK(cudaStreamSynchronize(S));
    OK(cudaMalloc((void **)&B, 100 << 20));
    OK(cudaFree(B));
  }
  OK(cudaStreamDestroy(S));
  OK(cudaStreamDestroy(Other));
}

static void checkPitch() {
  int *From, *To;
  size_t Pitch;
  OK(cudaMallocPitch((void **)&From, &Pitch, 5 * sizeof(int), 3));
  CHECK(Pitch >= 20 && Pitch % 32 == 0);
  size_t Again;
  OK(cudaMallocPitch((void **)&To, &Again, 5 * sizeof(int), 1));
  CHECK(Again == Pitch);
  OK(cudaFree(To));
  cudaPitchedPtr P;
  OK(cudaMalloc3D(&P, make_cudaExtent(3 * sizeof(int), 5, 2)));
  CHECK(P.xsize == 12 && P.ysize == 5 && P.pitch >= 12 && P.pitch % 32 == 0);
  To = static_cast<int *>(P.ptr);
  OK(cudaMemset(To, 0, 10 * P.pitch));
  OK(cudaMemset(From, 0, 3 * Pitch));
  for (int Row = 0; Row != 3; ++Row) {
    int H[5];
    for (int I = 0; I != 5; ++I)
      H[I] = 10 * Row + I;
    OK(cudaMemcpy((char *)From + Row * Pitch, H, sizeof(H),
                  cudaMemcpyHostToDevice));
  }
  transpose<<<3, 5>>>(To, P.pitch, From, Pitch);
  for (int Row = 0; Row != 5; ++Row) {
    int H[3];
    OK(cudaMemcpy(H, (char *)To + Row * P.pitch, sizeof(H),
                  cudaMemcpyDeviceToHost));
    for (int I = 0; I != 3; ++I)
      CHECK(H[I] == 10 * I + Row);
  }
  transpose<<<4, 3>>>(From, Pitch, To, P.pitch);
  OK(cudaFree(From));
  OK(cudaFree(To));
  // Too much.
  CHECK(cudaMallocPitch((void **)&From, &Pitch, size_t(-1) / 2, 2));
  CHECK(cudaMalloc3D(&P, make_cudaExtent(1 << 20, 1 << 20, 1 << 20)));
  cudaGetLastError();
}

int main(int Argc, char **) {
  const bool Arena = Argc > 1;
  cudaStream_t S;
  OK(cudaStreamCreate(&S));
  int *A, *B, H[3] = {1, 2, 3};
  OK(cudaMallocAsync((void **)&A, 4096, S));
  OK(cudaMemset(A, 0, 4096));
  CHECK(inArena(A) == Arena);
  addTo<<<1, 1, 0, S>>>(A, 1);
  cudaMemPool_t Pool;
  cudaMemPoolProps Props = {};
  Props.allocType = cudaMemAllocationTypePinned;
  Props.location.type = cudaMemLocationTypeDevice;
  OK(cudaMemPoolCreate(&Pool, &Props));
  OK(cudaMallocFromPoolAsync((void **)&B, 100, Pool, S));
  CHECK(inArena(B) == Arena);
  OK(cudaStreamSynchronize(S));
  OK(cudaMemcpy(B, H, sizeof(H), cudaMemcpyHostToDevice));
  addTo<<<2, 1, 0, S>>>(B, 5);
  OK(cudaStreamSynchronize(S));
  OK(cudaMemcpy(H, B, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H[0] == 6 && H[1] == 7 && H[2] == 3);
  OK(cudaFreeAsync(B, S));
  addTo<<<3, 1, 0, S>>>(A, 2);
  OK(cudaStreamSynchronize(S));
  OK(cudaMemcpy(H, A, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H[0] == 3 && H[1] == 2 && H[2] == 2);
  OK(cudaFree(A));
  OK(cudaMemPoolDestroy(Pool));
  checkPitch();
  checkOrder(Arena);

  // Memory that other processes are to see stays the runtime's.
  Props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  OK(cudaMemPoolCreate(&Pool, &Props));
  OK(cudaMallocFromPoolAsync((void **)&B, 100, Pool, S));
  CHECK(!inArena(B));
  OK(cudaFreeAsync(B, S));
  OK(cudaStreamSynchronize(S));
  OK(cudaMemPoolDestroy(Pool));
  printf("all is well\n");
}
