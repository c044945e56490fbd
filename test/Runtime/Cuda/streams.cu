// Launches are recorded while other streams work on, which wait for what the program does
// later, and change memory of theirs (--wait=stream).
//
// A GPU that runs one kernel at a time, as the emulated one, runs a function of the host that
// waits.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cuda_cc_static -O2 %s -o %t/static %emulated_static_libs
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// DEFINE: %{record} = %{gpu} llvm-mneme-record --device=%gpu_kind --kernel=add --wait=stream
// RUN: %{gpu} %t/app function | FileCheck %s
// RUN: %{record} -o %t/rec -- %t/app function > %t/out 2>&1
// RUN: FileCheck %s < %t/out
// RUN: FileCheck %s --check-prefix=RECORD < %t/out
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// RUN: %{record} -o %t/static.rec -- %t/static function 2>&1 | FileCheck %s --check-prefix=RECORD
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/static.rec | FileCheck %s --check-prefix=REPLAY
// CHECK-NOT: warning
// CHECK: all is well
// RECORD: {{[0-9]+}} launches seen, 4 recorded
// RECORD-NOT: did not end
// REPLAY: add grid 1: Match
// REPLAY-NEXT: add grid 2: Match
// REPLAY-NEXT: add grid 3: Match
// REPLAY-NEXT: add grid 4: Match

// Nothing of the others' memory is in the recordings.
// RUN: llvm-mneme-record show %t/rec | FileCheck %s --check-prefix=SHOW
// SHOW-COUNT-4: omitted, because no pointer leads there

// All that they wait for is too much for --wait=device, the default.
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind --kernel=add --wait-limit=2 -o %t/device -- %t/app function 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: warning: kernel '_Z3addPPii' is not recorded: other work of the device did not end within 2 s (--wait-limit)
// DEVICE: all is well

#include "../Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <thread>
#include <unistd.h>

static constexpr int N = 4096;

/// Through a pointer in memory.
__global__ void add(int **P, int V) {
  for (int I = blockIdx.x; I < N; I += gridDim.x)
    (*P)[I] += V;
}

__global__ void spin(volatile int *Flag, volatile int *Q) {
  do
    for (int I = 0; I != N; ++I)
      ++Q[I];
  while (!*Flag);
}

__global__ void fill(int *P, int V) {
  for (int I = 0; I != N; ++I)
    P[I] = V;
}

static std::atomic<bool> Works{false}, Done{false};
static volatile int *Flag;

static void wait(void *) {
  while (!*Flag)
    usleep(100);
}

/// On a stream of its own.
static void work() {
  cudaStream_t S;
  int *P, *Q, *H;
  OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
  OK(cudaMalloc(&P, N * sizeof(int)));
  OK(cudaMalloc(&Q, N * sizeof(int)));
  OK(cudaMallocHost((void **)&H, N * sizeof(int)));
  for (int Round = 1; Round == 1 || !Done; ++Round) {
    fill<<<1, 1, 0, S>>>(P, Round);
    OK(cudaMemcpyAsync(Q, P, N * sizeof(int), cudaMemcpyDeviceToDevice, S));
    OK(cudaMemcpyAsync(H, Q, N * sizeof(int), cudaMemcpyDeviceToHost, S));
    OK(cudaStreamSynchronize(S));
    CHECK(H[0] == Round && H[N - 1] == Round);
    Works = true;
  }
  OK(cudaStreamDestroy(S));
}

int main(int Argc, char **Argv) {
  // Else the driver waits for all streams to load the first kernel. It reads
  // this in the first call.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  int RunsSeveralKernels = 0;
  OK(cudaDeviceGetAttribute(&RunsSeveralKernels, cudaDevAttrConcurrentKernels,
                            0));
  const bool IsFunction =
      !RunsSeveralKernels || (Argc > 1 && !strcmp(Argv[1], "function"));
  cudaStream_t A, B;
  int *P, **PP, *Q, *H;
  OK(cudaStreamCreateWithFlags(&A, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&B, cudaStreamNonBlocking));
  OK(cudaHostAlloc((void **)&Flag, sizeof(int), cudaHostAllocMapped));
  OK(cudaMallocHost((void **)&H, N * sizeof(int)));
  OK(cudaMalloc(&P, N * sizeof(int)));
  OK(cudaMalloc(&PP, sizeof(P)));
  OK(cudaMalloc(&Q, N * sizeof(int)));
  OK(cudaMemset(P, 0, N * sizeof(int)));
  OK(cudaMemset(Q, 0, N * sizeof(int)));
  OK(cudaMemcpy(PP, &P, sizeof(P), cudaMemcpyHostToDevice));
  OK(cudaDeviceSynchronize());
  *Flag = 0;
  std::thread Other(work);
  while (!Works)
    usleep(100);
  if (IsFunction)
    OK(cudaLaunchHostFunc(A, wait, nullptr));
  else
    spin<<<1, 1, 0, A>>>(Flag, Q);
  for (int I = 1; I <= 4; ++I)
    add<<<I, 1, 0, B>>>(PP, I);
  OK(cudaMemcpyAsync(H, P, N * sizeof(int), cudaMemcpyDeviceToHost, B));
  OK(cudaStreamSynchronize(B));
  for (int I = 0; I != N; ++I)
    CHECK(H[I] == 10);
  // It has run on all the time.
  CHECK(cudaStreamQuery(A) == cudaErrorNotReady);
  Done = true;
  Other.join();
  *Flag = 1;
  OK(cudaStreamSynchronize(A));
  OK(cudaMemcpy(H, Q, N * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK((H[0] > 0) == !IsFunction && H[N - 1] == H[0]);
  printf("all is well\n");
}
