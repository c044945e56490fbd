// Memory that the device shares with the host: managed, pinned, registered. It stays
// where the runtime has put it, and replays have memory there.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: %cuda_cc_static -O2 %s -o %t.static %emulated_static_libs
// RUN: rm -rf %t.*rec
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc
// RUN: %{gpu} %t | FileCheck %s
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// RUN: llvm-mneme-record check %t.rec
// RUN: llvm-mneme-record show %t.rec > %t.show
// RUN: FileCheck %s --check-prefix=MANAGED < %t.show
// RUN: FileCheck %s --check-prefix=PINNED < %t.show
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind -o %t.static.rec -- %t.static 2>&1 > %t.out | FileCheck %s --check-prefix=ERR
// RUN: FileCheck %s < %t.out
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.static.rec | FileCheck %s --check-prefix=REPLAY
// CHECK: all is well
// ERR: warning: kernel '_Z8sumLargeP4List' is not recorded: memory points to pinned memory, which is recorded from now on
// ERR: 11 launches seen, 10 recorded, 1 skipped
// REPLAY: follow grid 1: Match
// REPLAY-NEXT: scale grid 1: Match
// REPLAY-NEXT: scale grid 2: Match
// REPLAY-NEXT: scale grid 3: Match
// REPLAY-NEXT: sum grid 1: Match
// REPLAY-NEXT: sum grid 2: Match
// REPLAY-NEXT: sum grid 4: Match
// REPLAY-NEXT: sumAll grid 1: Match
// REPLAY-NEXT: sumChain grid 1: Match
// REPLAY-NEXT: sumLarge grid 1: Match

// On the GPU, too.
// RUN: %{gpu} %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec %gpu_kind:0 | FileCheck %s --check-prefix=REPLAY

// MANAGED: follow(Node*, int)
// MANAGED: managed buffer 1: 16 bytes
// PINNED: sum(int*, int const*, int)
// PINNED: pinned buffer

#include "../Inputs/check.h"
#include <cuda_runtime.h>

struct Node {
  int Value;
  Node *Next;
};

__global__ void follow(Node *N, int By) {
  for (; N; N = N->Next)
    N->Value *= By;
}

__global__ void scale(int *P, int By) { P[blockIdx.x] *= By; }

__global__ void sum(int *To, const int *From, int N) {
  int Sum = 0;
  for (int I = 0; I != N; ++I)
    Sum += From[I];
  To[blockIdx.x] = Sum;
}

struct List {
  int *Numbers;
  int Count, Sum;
};

__global__ void sumAll(List *L) {
  for (int I = 0; I != L->Count; ++I)
    L->Sum += L->Numbers[I];
}

__global__ void sumChain(List **L) {
  for (int I = 0; I != (*L)->Count; ++I)
    (*L)->Sum += (*L)->Numbers[I];
}

__global__ void sumLarge(List *L) {
  for (int I = 0; I != L->Count; ++I)
    L->Sum += L->Numbers[I];
}

int main() {
  const int N = 3000;
  // A list, of which a node lies in memory of the device.
  Node *Managed[2], *Device;
  OK(cudaMallocManaged((void **)&Managed[0], sizeof(Node)));
  OK(cudaMallocManaged((void **)&Managed[1], sizeof(Node)));
  OK(cudaMalloc((void **)&Device, sizeof(Node)));
  Node H = {3, Managed[1]};
  *Managed[0] = {1, Device};
  *Managed[1] = {2, nullptr};
  OK(cudaMemcpy(Device, &H, sizeof(H), cudaMemcpyHostToDevice));
  follow<<<1, 1>>>(Managed[0], 7);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(&H, Device, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(Managed[0]->Value == 7 && Managed[1]->Value == 14 && H.Value == 21);
  OK(cudaFree(Device));

  // The host changes it between launches.
  int *M;
  OK(cudaMallocManaged((void **)&M, 3 * N * sizeof(int)));
  for (int I = 0; I != 3 * N; ++I)
    M[I] = I;
  scale<<<2, 1>>>(M + 1, 10);
  OK(cudaDeviceSynchronize());
  CHECK(M[0] == 0 && M[1] == 10 && M[2] == 20 && M[3] == 3);
  M[1] = 5;
  scale<<<1, 1>>>(M + 1, 10);
  OK(cudaDeviceSynchronize());
  CHECK(M[1] == 50);
  OK(cudaFree(Managed[0]));
  OK(cudaFree(Managed[1]));

  // Pinned memory of three kinds, the last not at a page's begin. A fourth is for
  // copies: no launch reaches it.
  int *Mapped, *Pinned, *Registered, *Staging, *To, Sum;
  OK(cudaHostAlloc((void **)&Mapped, N * sizeof(int), cudaHostAllocMapped));
  OK(cudaMallocHost((void **)&Pinned, N * sizeof(int)));
  OK(cudaMallocHost((void **)&Staging, N * sizeof(int)));
  static int Memory[N + 100];
  Registered = Memory + 5;
  OK(cudaHostRegister(Registered, N * sizeof(int), cudaHostRegisterMapped));
  OK(cudaMalloc((void **)&To, 4 * sizeof(int)));
  OK(cudaMemset(To, 0, 4 * sizeof(int)));
  for (int I = 0; I != N; ++I) {
    Mapped[I] = 1;
    Pinned[I] = 2;
    Registered[I] = 3;
    Staging[I] = 4;
  }
  int *OnDevice;
  OK(cudaHostGetDevicePointer((void **)&OnDevice, Mapped, 0));
  sum<<<1, 1>>>(To, OnDevice, N);
  OK(cudaMemcpy(&Sum, To, sizeof(Sum), cudaMemcpyDeviceToHost));
  CHECK(Sum == N);
  sum<<<2, 1>>>(To, Pinned, N);
  OK(cudaMemcpy(&Sum, To, sizeof(Sum), cudaMemcpyDeviceToHost));
  CHECK(Sum == 2 * N);
  OK(cudaHostGetDevicePointer((void **)&OnDevice, Registered, 0));
  sum<<<4, 1>>>(To, OnDevice, N);
  OK(cudaMemcpy(&Sum, To, sizeof(Sum), cudaMemcpyDeviceToHost));
  CHECK(Sum == 3 * N);
  scale<<<3, 1>>>(Pinned + N - 3, 4);
  OK(cudaDeviceSynchronize());
  CHECK(Pinned[N - 4] == 2 && Pinned[N - 3] == 8 && Pinned[N - 1] == 8);

  // A pointer to it in memory is seen when that is written. It has been copied
  // before the launch, as it is small; so has the memory that it points to.
  List Summed = {Staging + 1, N - 1, 0}, *Lists;
  OK(cudaMalloc((void **)&Lists, sizeof(Summed)));
  OK(cudaMemcpy(Lists, &Summed, sizeof(Summed), cudaMemcpyHostToDevice));
  sumAll<<<1, 1>>>(Lists);
  OK(cudaMemcpy(&Summed, Lists, sizeof(Summed), cudaMemcpyDeviceToHost));
  CHECK(Summed.Sum == 4 * (N - 1));
  List *Chained, **Chain;
  int *End;
  OK(cudaMallocHost((void **)&Chained, sizeof(*Chained)));
  OK(cudaMallocHost((void **)&End, 2 * sizeof(int)));
  OK(cudaMalloc((void **)&Chain, sizeof(*Chain)));
  End[0] = 5;
  End[1] = 6;
  *Chained = {End, 2, 0};
  OK(cudaMemcpy(Chain, &Chained, sizeof(Chained), cudaMemcpyHostToDevice));
  sumChain<<<1, 1>>>(Chain);
  OK(cudaDeviceSynchronize());
  CHECK(Chained->Sum == 11);

  // Large memory is not copied before it is known to matter.
  size_t Free, Total;
  int *Large;
  OK(cudaMallocHost((void **)&Large, 65 << 20));
  Large[0] = Large[1] = 7;
  Summed = {Large, 2, 0};
  OK(cudaMemcpy(Lists, &Summed, sizeof(Summed), cudaMemcpyHostToDevice));
  for (int I = 0; I != 2; ++I) {
    sumLarge<<<1, 1>>>(Lists);
    OK(cudaMemGetInfo(&Free, &Total)); // waits for what is being written
  }
  OK(cudaMemcpy(&Summed, Lists, sizeof(Summed), cudaMemcpyDeviceToHost));
  CHECK(Summed.Sum == 2 * 14);
  OK(cudaFree(Lists));
  OK(cudaFree(Chain));
  OK(cudaFreeHost(Chained));
  OK(cudaFreeHost(End));
  OK(cudaFreeHost(Large));

  OK(cudaHostUnregister(Registered));
  CHECK(cudaHostUnregister(Registered));
  OK(cudaFreeHost(Mapped));
  OK(cudaFreeHost(Pinned));
  OK(cudaFreeHost(Staging));
  CHECK(cudaFreeHost(Memory));
  OK(cudaFree(M));
  OK(cudaFree(To));
  cudaGetLastError();
  printf("all is well\n");
}
