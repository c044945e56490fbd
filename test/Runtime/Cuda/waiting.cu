// Recording waits for other work, but not for ever: what waits for something that the
// program does later goes on when the limit is reached.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc %t | FileCheck %s --check-prefix=WELL
// WELL: all is well
// DEFINE: %{how} =
// DEFINE: %{limit} = 3
// DEFINE: %{record} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --wait-limit=%{limit} --max-recordings=0 \
// DEFINE:   -o %t.%{how}.rec -- %t %{how}

// A stream is blocked by a function of the host that waits for what comes after the
// launches. Only the first of them waits; when all is over, launches are recorded.
// REDEFINE: %{how} = stream
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=STREAM
// STREAM: warning: kernel '_Z3addPii' is not recorded: other work of the device did not end within 3 s (--wait-limit)
// STREAM-NOT: warning
// STREAM: all is well
// STREAM: 110 launches seen, 1 recorded, 109 skipped
// STREAM: {{10[0-9]}} skipped: other work of the device did not end within 3 s (--wait-limit)
// RUN: llvm-mneme-record check %t.stream.rec
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.stream.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 101: Match
// REPLAY-NOT: {{.}}

// It waits for what another thread launches meanwhile, which must wait itself.
// REDEFINE: %{how} = thread
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=THREAD
// THREAD: warning: kernel '_Z3addPii' is not recorded: other work of the device did not end within 3 s (--wait-limit)
// THREAD: all is well
// THREAD: 12 launches seen, 1 recorded, 11 skipped

// A kernel that waits for what the program does when it was launched.
// REDEFINE: %{how} = kernel
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=KERNEL
// KERNEL: warning: kernel '_Z4spinPVi' is not recorded: the launch did not end within 3 s (--wait-limit)
// KERNEL: all is well
// KERNEL: 11 launches seen, 1 recorded, 10 skipped

// Another thread is in a copy that waits for what this thread does next.
// REDEFINE: %{how} = copy
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=COPY
// COPY: warning: kernel '_Z3addPii' is not recorded: a call of another thread did not end within 3 s (--wait-limit)
// COPY: all is well
// COPY: 3 launches seen, 1 recorded, 2 skipped
// COPY-NEXT: 2 skipped: a call of another thread did not end within 3 s (--wait-limit)

// The program ends while a kernel of its own keeps the device from giving memory back.
// REDEFINE: %{how} = end
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=67108864 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --wait-limit=3 --kernel=add \
// RUN:   -o %t.end.rec -- %t end 2>&1 | FileCheck %s --check-prefix=END
// END: warning: kernel '_Z3addPii' is not recorded: the device's part in writing it did not end within 3 s (--wait-limit)
// END: 2 launches seen, 0 recorded, 2 skipped

// Memory that copies take, which can only be freed when all is done: there is none as
// long as that takes.
// REDEFINE: %{how} = memory
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=67108864 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --wait-limit=3 --kernel=add \
// RUN:   -o %t.memory.rec -- %t memory 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY-NOT: warning
// MEMORY: all is well
// MEMORY: 3 launches seen, 1 recorded, 2 skipped

// Device memory runs out while the driver keeps the thread that writes recordings.
// REDEFINE: %{how} = buffers
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=67108864 MNEME_EMULATED_PINNING_WAITS=1 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind \
// RUN:   --wait=stream --wait-limit=3 --kernel=add --record-id=ordinal --max-recordings=0 -o %t.buffers.rec -- %t buffers 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: warning: kernel '_Z3addPii' is not recorded: the device's part in writing earlier recordings did not end within 3 s (--wait-limit)
// BUFFERS: all is well
// BUFFERS: 4 launches seen, 3 recorded, 1 skipped

// What is said of streams only: what the launch's own does not wait for goes on.
// REDEFINE: %{how} = stream
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --wait=stream --max-recordings=3 -o %t.stream2.rec -- %t stream 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STREAM2
// STREAM2-NOT: warning
// STREAM2: all is well
// STREAM2: 110 launches seen, 3 recorded, 107 skipped
// STREAM2-NOT: did not end
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.stream2.rec | FileCheck %s --check-prefix=REPLAY2
// REPLAY2: add grid 1: Match
// REPLAY2-NEXT: add grid 2: Match
// REPLAY2-NEXT: add grid 3: Match
// REDEFINE: %{how} = copy
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc MNEME_WAIT=stream llvm-mneme-record --device=%gpu_kind -o %t.copy2.rec -- %t copy 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COPY2
// COPY2-NOT: warning
// COPY2: 3 launches seen, 3 recorded, 0 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.copy2.rec | FileCheck %s --check-prefix=REPLAY2

// What it does wait for has the time that there is.
// REDEFINE: %{how} = own
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --wait=stream --wait-limit=3 -o %t.own.rec -- %t own 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OWN
// OWN: warning: kernel '_Z3addPii' is not recorded: other work of the stream did not end within 3 s (--wait-limit)
// OWN: all is well
// OWN: 4 launches seen, 2 recorded, 2 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.own.rec | FileCheck %s --check-prefix=OWNREPLAY
// OWNREPLAY: add grid 3: Match
// OWNREPLAY-NEXT: add grid 4: Match
// RUN: rm -rf %t.kernel2.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --wait=stream --wait-limit=3 --kernel=spin -o %t.kernel2.rec \
// RUN:   -- %t kernel 2>&1 | FileCheck %s --check-prefix=KERNEL2
// KERNEL2: warning: kernel '_Z4spinPVi' is not recorded: the launch did not end within 3 s (--wait-limit)
// KERNEL2: all is well

// RUN: not llvm-mneme-record --wait=all -o %t.x -- %t 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: --wait='all': expected one of device, stream
// RUN: not llvm-mneme-record --device=host --wait=stream -o %t.x -- %t 2>&1 | FileCheck %s --check-prefix=FORGPUS
// FORGPUS: error: --wait and --device=host: it is for GPUs

// The limit comes from the environment, too, and ends no launch that has the time.
// REDEFINE: %{how} = slow
// REDEFINE: %{limit} = 0
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=SLOW
// SLOW-NOT: warning
// SLOW: all is well
// SLOW: 2 launches seen, 2 recorded, 0 skipped
// RUN: rm -rf %t.slow.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc MNEME_WAIT_LIMIT=0.25 llvm-mneme-record --device=%gpu_kind -o %t.slow.rec -- %t slow 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ENV
// ENV: is not recorded: other work of the device did not end within 0.25 s (--wait-limit)
// ENV: all is well

#include "../Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <thread>
#include <unistd.h>

__global__ void add(int *P, int V) {
  if (blockIdx.x == 0)
    *P += V;
}

__global__ void spin(volatile int *P) {
  while (!*P)
    ;
}

static std::atomic<bool> Ready{false};

static void wait(void *) {
  while (!Ready)
    usleep(100);
}

static int *D, H;
static cudaStream_t S;

/// It may take a while until it is known that the device has come to rest: two
/// seconds in all on a busy machine.
static void launchSoon(int Blocks) {
  for (int I = 0; I != 10; ++I) {
    usleep(2000 << I);
    add<<<Blocks, 1>>>(D, 1);
  }
}

static void stream() {
  OK(cudaLaunchHostFunc(S, wait, nullptr));
  for (int I = 1; I <= 100; ++I)
    add<<<I, 1>>>(D, 1);
  // Memory comes and goes meanwhile.
  int *P;
  OK(cudaMalloc(&P, 4 << 20));
  Ready = true;
  OK(cudaDeviceSynchronize());
  OK(cudaFree(P));
  launchSoon(101);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 110);
}

static void thread() {
  OK(cudaLaunchHostFunc(S, wait, nullptr));
  std::atomic<bool> Begins{false};
  std::thread Other([&] {
    Begins = true;
    // Meanwhile, the other launch begins to wait.
    usleep(2000000);
    add<<<2, 1>>>(D, 10);
    Ready = true;
  });
  while (!Begins)
    ;
  add<<<1, 1>>>(D, 1);
  Other.join();
  OK(cudaDeviceSynchronize());
  launchSoon(3);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 21);
}

static void kernel() {
  int *Flag;
  OK(cudaMallocHost((void **)&Flag, 4));
  *Flag = 0;
  spin<<<1, 1, 0, S>>>(Flag);
  *(volatile int *)Flag = 1;
  OK(cudaStreamSynchronize(S));
  launchSoon(1);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 10);
}

static void copy() {
  OK(cudaLaunchHostFunc(0, wait, nullptr));
  std::thread Other([] { OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost)); });
  // It cannot be seen from outside that the copy has begun.
  usleep(1000000);
  add<<<1, 1, 0, S>>>(D, 1);
  add<<<2, 1, 0, S>>>(D, 1);
  Ready = true;
  Other.join();
  OK(cudaDeviceSynchronize());
  add<<<3, 1>>>(D, 1);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 3);
}

static void end() {
  int *Flag;
  OK(cudaMallocHost((void **)&Flag, 4));
  *Flag = 0;
  OK(cudaMalloc(&D, 24 << 20));
  add<<<1, 1>>>(D, 1);
  spin<<<1, 1, 0, S>>>(Flag);
  exit(0);
}

static void memory() {
  int *Flag, *P;
  OK(cudaMallocHost((void **)&Flag, 4));
  *Flag = 0;
  OK(cudaMalloc(&P, 24 << 20));
  add<<<1, 1>>>(D, 1);
  spin<<<1, 1, 0, S>>>(Flag);
  void *More = nullptr;
  EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&More, 30 << 20));
  EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
  *(volatile int *)Flag = 1;
  OK(cudaDeviceSynchronize());
  OK(cudaMalloc(&More, 30 << 20));
  OK(cudaFree(More));
  OK(cudaFree(P));
  OK(cudaFreeHost(Flag));
  add<<<1, 1>>>(D, 1);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 2);
}

static void buffers() {
  int *P;
  add<<<1, 1>>>(D, 1);
  OK(cudaMalloc(&P, 24 << 20));
  OK(cudaMemset(P, 0, 4));
  OK(cudaLaunchHostFunc(S, wait, nullptr));
  // The thread needs larger buffers for the first of these. While it holds the
  // copies, the device has no room for those of the second.
  add<<<1, 1>>>(P, 1);
  add<<<1, 1>>>(P, 1);
  Ready = true;
  OK(cudaDeviceSynchronize());
  add<<<1, 1>>>(P, 1);
  OK(cudaMemcpy(&H, P, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 3);
  OK(cudaFree(P));
}

static void own() {
  OK(cudaLaunchHostFunc(S, wait, nullptr));
  add<<<1, 1, 0, S>>>(D, 1);
  add<<<2, 1, 0, S>>>(D, 1);
  int *P;
  OK(cudaMalloc(&P, 4));
  OK(cudaMemset(P, 0, 4));
  add<<<3, 1>>>(P, 1);
  Ready = true;
  OK(cudaStreamSynchronize(S));
  add<<<4, 1, 0, S>>>(D, 1);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 3);
  OK(cudaFree(P));
}

static void slow() {
  // The first one takes its time.
  add<<<2, 1>>>(D, 2);
  OK(cudaLaunchHostFunc(S, [](void *) { usleep(1000000); }, nullptr));
  add<<<1, 1>>>(D, 5);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 7);
  OK(cudaDeviceSynchronize());
}

/// What any GPU can do, recorded or not. No copy() is: while a copy waits for a
/// function of the host, NVIDIA's driver lets no other thread launch anything.
static void all() {
  auto Again = [] {
    Ready = false;
    OK(cudaMemset(D, 0, 4));
    OK(cudaDeviceSynchronize());
  };
  stream();
  Again();
  thread();
  Again();
  own();
  Again();
  slow();
}

int main(int Argc, char **Argv) {
  // Else the driver waits for all streams to load the first kernel.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  OK(cudaMalloc(&D, 4));
  OK(cudaMemset(D, 0, 4));
  OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
  struct {
    const char *Name;
    void (*Run)();
  } Modes[] = {{"stream", stream},
               {"thread", thread},
               {"kernel", kernel},
               {"copy", copy},
               {"end", end},
               {"memory", memory},
               {"buffers", buffers},
               {"own", own},
               {"slow", slow},
               {"arena", all}};
  for (const auto &M : Modes)
    if (!strcmp(M.Name, Argc > 1 ? Argv[1] : "arena"))
      M.Run();
  OK(cudaStreamDestroy(S));
  OK(cudaFree(D));
  printf("all is well\n");
}
