// Several devices in one program: launches are recorded with the memory of theirs, and
// replayed on any one.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cuda_cc_static -O2 %s -o %t/static %emulated_static_libs
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_DEVICES=3 MNEME_EMULATED_KERNELS=%t/app.bc
// DEFINE: %{mode} =
// DEFINE: %{app} = app
// DEFINE: %{record} = %{gpu} llvm-mneme-record --device=%gpu_kind --max-recordings=9 -o %t/%{mode}.%{app} -- %t/%{app} %{mode}
// DEFINE: %{replay} = %python %S/Inputs/replay-all.py

// One thread a device; the second device is used first.
// REDEFINE: %{mode} = threads
// RUN: %{gpu} %t/app threads | FileCheck %s --check-prefix=WELL
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=THREADS
// REDEFINE: %{app} = static
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=THREADS
// REDEFINE: %{app} = app
// WELL: all is well
// THREADS: all is well
// THREADS: 18 launches seen, 6 recorded, 12 skipped
// THREADS-NEXT: 12 skipped: same launch configuration recorded before
// RUN: llvm-mneme-record check %t/threads.app
// RUN: %{replay} llvm-mneme-replay %t/threads.app | FileCheck %s --check-prefix=REPLAY
// RUN: %{replay} "%emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc llvm-mneme-replay" %t/threads.app %gpu_kind:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY: count grid 1: Match
// REPLAY-NEXT: count grid 2: Match
// REPLAY-NEXT: count grid 3: Match
// REPLAY-NEXT: walk grid 1: Match
// REPLAY-NEXT: walk grid 2: Match
// REPLAY-NEXT: walk grid 3: Match

// Each device has its arena, the first one's is where it always is. Recordings of two
// runs go together.
// RUN: %python -c "import json, sys; k = json.load(open(sys.argv[1])); print(hex(k['VAddr']), hex(k['VASize']))" %t/threads.app/$(ls %t/threads.app \
// RUN:   | grep json | head -1) | FileCheck %s --check-prefix=ARENAS
// ARENAS: 0x7d0000000000 0x18000000000
// RUN: llvm-mneme-record copy %t/threads.app %t/copy
// RUN: llvm-mneme-record check %t/copy

// What belongs to another device, in an argument and in memory.
// REDEFINE: %{mode} = peers
// RUN: %{gpu} MNEME_EMULATED_PEERS=1 %t/app peers | FileCheck %s --check-prefix=WELL
// RUN: %{gpu} MNEME_EMULATED_PEERS=1 llvm-mneme-record --device=%gpu_kind -o %t/peers -- %t/app peers 2>&1 | FileCheck %s --check-prefix=PEERS
// PEERS-DAG: warning: kernel '_Z4addsPiS_' is not recorded: an argument points to memory of another device
// PEERS-DAG: warning: kernel '_Z4walkP4Node' is not recorded: memory points to memory of another device
// PEERS-DAG: all is well
// PEERS: 3 launches seen, 1 recorded, 2 skipped
// RUN: %{replay} llvm-mneme-replay %t/peers | FileCheck %s --check-prefix=PEERSREPLAY
// PEERSREPLAY: count grid 1: Match
// PEERSREPLAY-NOT: {{.}}

// A device that allocates nothing and launches nothing that is recorded works in
// another's memory: it can access it, and is waited for.
// REDEFINE: %{mode} = guests
// RUN: %{gpu} MNEME_EMULATED_PEERS=1 %t/app guests | FileCheck %s --check-prefix=WELL
// RUN: %{gpu} MNEME_EMULATED_PEERS=1 llvm-mneme-record --device=%gpu_kind --kernel=count -o %t/guests -- %t/app guests 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GUESTS
// RUN: %{gpu} MNEME_EMULATED_PEERS=1 llvm-mneme-record --device=%gpu_kind --kernel=count -o %t/guests.static -- %t/static guests 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GUESTS
// GUESTS-NOT: warning
// GUESTS: all is well
// GUESTS: 301 launches seen, 1 recorded, 300 skipped
// RUN: %{replay} llvm-mneme-replay %t/guests | FileCheck %s --check-prefix=PEERSREPLAY
// RUN: %{replay} llvm-mneme-replay %t/guests.static | FileCheck %s --check-prefix=PEERSREPLAY

// Where they have no way to each other, copies go through the host.
// REDEFINE: %{mode} = copy
// RUN: %{gpu} %t/app copy | FileCheck %s --check-prefix=WELL
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=COPY
// COPY: all is well
// COPY: 1 launch seen, 1 recorded, 0 skipped

// One is reset, the other's memory stays; then it has memory again.
// REDEFINE: %{mode} = reset
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=RESET
// RESET: all is well
// RESET: 3 launches seen, 3 recorded, 0 skipped
// RUN: %{replay} llvm-mneme-replay %t/reset.app | FileCheck %s --check-prefix=RESETREPLAY
// RESETREPLAY: count grid 1: Match
// RESETREPLAY-NEXT: count grid 2: Match
// RESETREPLAY-NEXT: count grid 3: Match

// All of that one after the other, as far as the machine has devices for it: what runs on
// real ones, too.
// REDEFINE: %{mode} = arena
// RUN: %{gpu} MNEME_EMULATED_PEERS=1 %t/app | FileCheck %s --check-prefix=WELL
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc %t/app | FileCheck %s --check-prefix=WELL
// RUN: %{gpu} MNEME_EMULATED_PEERS=1 llvm-mneme-record --device=%gpu_kind -o %t/arena -- %t/app arena 2>&1 | FileCheck %s --check-prefix=WELL
// RUN: %{replay} llvm-mneme-replay %t/arena | FileCheck %s --check-prefix=ARENAREPLAY
// ARENAREPLAY-NOT: {{: [^M]|: Mis}}

// One fails: the other goes on, where the driver lets it. The emulated one does; CUDA on
// real devices then fails calls for all devices of the process, recorded or not.
// REDEFINE: %{mode} = failure
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=FAILURE
// FAILURE-DAG: warning: kernel '_Z5countPii' is not recorded: the device had failed before
// FAILURE-DAG: all is well
// FAILURE: 4 launches seen, 1 recorded, 3 skipped
// FAILURE-DAG: 1 skipped: the launch failed: {{.*(ILLEGAL_ADDRESS|IllegalAddress)}}
// FAILURE-DAG: 2 skipped: the device had failed before

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <thread>
#include <vector>

struct Node {
  Node *Next;
  int Value;
};

__device__ int Total = 7;

__global__ void count(int *P, int N) {
  for (int I = blockIdx.x; I < N; I += gridDim.x)
    P[I] += Total;
}

__global__ void bump(int *P, int N) {
  for (int I = 0; I != N; ++I)
    ++P[I];
}

__global__ void walk(Node *First) {
  if (blockIdx.x == 0)
    for (Node *N = First; N; N = N->Next)
      N->Value += 100 + atomicAdd(&Total, 1);
}

__global__ void adds(int *P, int *Q) { *P += *Q; }
__global__ void wild(int *P) { *P = 1; }

static int NumDevices;

/// Chooses a device on which Total is as it was at the beginning.
static void choose(int Device) {
  const int Seven = 7;
  OK(cudaSetDevice(Device));
  OK(cudaMemcpyToSymbol(Total, &Seven, sizeof(Seven)));
}

static Node *makeList(int Device, int Length) {
  Node *First = nullptr;
  for (int I = 0; I != Length; ++I) {
    Node H = {First, Device * 1000 + I};
    OK(cudaMalloc(&First, sizeof(Node)));
    OK(cudaMemcpy(First, &H, sizeof(H), cudaMemcpyHostToDevice));
  }
  return First;
}

static void work(int Device) {
  OK(cudaSetDevice(Device));
  int N = 5000 + Device, *P;
  OK(cudaMalloc(&P, N * sizeof(int)));
  OK(cudaMemset(P, 0, N * sizeof(int)));
  int H[2] = {50 * (Device + 1), 0};
  OK(cudaMemcpyToSymbol(Total, H, sizeof(int)));
  Node *First = makeList(Device, 3);
  for (int Round = 0; Round != 3; ++Round) {
    count<<<Device + 1, 1>>>(P, N);
    walk<<<Device + 1, 1>>>(First);
  }
  OK(cudaMemcpy(H, P + N - 1, sizeof(int), cudaMemcpyDeviceToHost));
  // Total grows by 3 a round.
  CHECK(H[0] == 3 * 50 * (Device + 1) + 0 + 3 + 6);
  OK(cudaMemcpyFromSymbol(H + 1, Total, sizeof(int)));
  CHECK(H[1] == 50 * (Device + 1) + 9);
  for (Node *N = First, Copy; N; N = Copy.Next) {
    OK(cudaMemcpy(&Copy, N, sizeof(Copy), cudaMemcpyDeviceToHost));
    CHECK(Copy.Value / 1000 == Device && Copy.Value % 1000 >= 300);
    OK(cudaFree(N));
  }
  OK(cudaFree(P));
}

static bool canAccess(int Device, int Peer) {
  int Can;
  OK(cudaDeviceCanAccessPeer(&Can, Device, Peer));
  return Can;
}

static void enable(int Peer) {
  cudaError_t E = cudaDeviceEnablePeerAccess(Peer, 0);
  CHECK(!E || E == cudaErrorPeerAccessAlreadyEnabled);
  cudaGetLastError();
}

static void peers() {
  int *P, *Q, H = 1;
  Node *Near, *Far, N = {nullptr, 5};
  OK(cudaSetDevice(1));
  OK(cudaMalloc(&Q, 4));
  OK(cudaMemcpy(Q, &H, 4, cudaMemcpyHostToDevice));
  OK(cudaMalloc(&Far, sizeof(N)));
  OK(cudaMemcpy(Far, &N, sizeof(N), cudaMemcpyHostToDevice));
  OK(cudaSetDevice(0));
  enable(1);
  OK(cudaMalloc(&P, 4));
  OK(cudaMemcpy(P, &H, 4, cudaMemcpyHostToDevice));
  adds<<<1, 1>>>(P, Q);
  count<<<1, 1>>>(P, 1);
  OK(cudaMalloc(&Near, sizeof(N)));
  N.Next = Far;
  OK(cudaMemcpy(Near, &N, sizeof(N), cudaMemcpyHostToDevice));
  walk<<<1, 1>>>(Near);
  // As a device does that can access the other's memory.
  OK(cudaMemcpy(Near, Far, sizeof(N), cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(&N, Near, sizeof(N), cudaMemcpyDeviceToHost));
  CHECK(!N.Next && N.Value == 5 + 100 + 8);
  OK(cudaMemcpy(&H, P, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 9);
}

static void guests() {
  constexpr int N = 1 << 14, Rounds = 300;
  int *P, H[2];
  choose(0);
  OK(cudaMalloc(&P, 2 * N * sizeof(int)));
  OK(cudaMemset(P, 0, 2 * N * sizeof(int)));
  OK(cudaDeviceSynchronize());
  OK(cudaSetDevice(1));
  enable(0);
  for (int I = 0; I != Rounds; ++I)
    bump<<<1, 1>>>(P + N, N);
  OK(cudaSetDevice(0));
  count<<<1, 1>>>(P, N);
  OK(cudaDeviceSynchronize());
  OK(cudaSetDevice(1));
  OK(cudaDeviceSynchronize());
  OK(cudaSetDevice(0));
  OK(cudaMemcpy(H, P + N - 1, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H[0] == 7 && H[1] == Rounds);
  OK(cudaFree(P));
}

static void copy() {
  std::vector<int> From(1000, 3), To(1000);
  int *P, *Q;
  const int Here = NumDevices - 2, There = NumDevices - 1;
  choose(Here);
  OK(cudaMalloc(&Q, 4000));
  OK(cudaMemcpy(Q, From.data(), 4000, cudaMemcpyHostToDevice));
  count<<<1, 1>>>(Q, 1000);
  OK(cudaDeviceSynchronize());
  OK(cudaSetDevice(There));
  OK(cudaMalloc(&P, 4000));
  OK(cudaMemcpyPeer(P, There, Q, Here, 4000));
  OK(cudaMemcpy(To.data(), P, 4000, cudaMemcpyDeviceToHost));
  CHECK(To[0] == 10 && To[999] == 10);
  // Another device's memory can be freed from anywhere.
  OK(cudaFree(Q));
  OK(cudaFree(P));
}

static void reset() {
  int *P[2], H;
  for (int Device = 0; Device != 2; ++Device) {
    choose(Device);
    OK(cudaMalloc(&P[Device], 4));
    OK(cudaMemset(P[Device], 0, 4));
    count<<<1 + Device, 1>>>(P[Device], 1);
    OK(cudaDeviceSynchronize());
  }
  OK(cudaSetDevice(0));
  OK(cudaDeviceReset());
  OK(cudaSetDevice(1));
  OK(cudaMemcpy(&H, P[1], 4, cudaMemcpyDeviceToHost));
  CHECK(H == 7);
  OK(cudaFree(P[1]));
  OK(cudaSetDevice(0));
  OK(cudaMalloc(&P[0], 4));
  OK(cudaMemset(P[0], 0, 4));
  count<<<3, 1>>>(P[0], 1);
  OK(cudaMemcpy(&H, P[0], 4, cudaMemcpyDeviceToHost));
  CHECK(H == 7);
  OK(cudaFree(P[0]));
}

static void failure() {
  int *P[2], H;
  for (int Device = 0; Device != 2; ++Device) {
    OK(cudaSetDevice(Device));
    OK(cudaMalloc(&P[Device], 4));
    OK(cudaMemset(P[Device], 0, 4));
    OK(cudaDeviceSynchronize());
  }
  wild<<<1, 1>>>(nullptr);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  count<<<1, 1>>>(P[1], 1);
  count<<<2, 1>>>(P[1], 1);
  OK(cudaSetDevice(0));
  count<<<1, 1>>>(P[0], 1);
  OK(cudaMemcpy(&H, P[0], 4, cudaMemcpyDeviceToHost));
  CHECK(H == 7);
}

static void threads() {
  OK(cudaSetDevice(NumDevices > 1));
  int *First;
  OK(cudaMalloc(&First, 4));
  std::vector<std::thread> Threads;
  for (int I = 0; I != NumDevices && I != 3; ++I)
    Threads.emplace_back(work, I);
  for (std::thread &T : Threads)
    T.join();
  OK(cudaFree(First));
}

static void all() {
  threads();
  if (NumDevices > 1)
    copy();
  if (NumDevices > 1 && canAccess(1, 0))
    guests();
  if (NumDevices > 1)
    reset();
}

int main(int Argc, char **Argv) {
  OK(cudaGetDeviceCount(&NumDevices));
  const char *Mode = Argc > 1 ? Argv[1] : "arena";
  struct {
    const char *Name;
    void (*Run)();
  } Modes[] = {{"arena", all},   {"threads", threads}, {"peers", peers},
               {"guests", guests}, {"copy", copy},     {"reset", reset},
               {"failure", failure}};
  for (const auto &M : Modes)
    if (!strcmp(M.Name, Mode))
      M.Run();
  printf("all is well\n");
}
