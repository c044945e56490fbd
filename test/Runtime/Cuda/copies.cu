// What other threads copy and launch while a launch is recorded is not in the recording:
// it happens before or afterwards.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app -L%cuda_path/lib64/stubs -lcuda
// RUN: %cuda_cc_static -O2 %s -o %t/static -L%cuda_path/lib64/stubs -lcuda %emulated_static_libs
// DEFINE: %{how} =
// DEFINE: %{record} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc llvm-mneme-record --device=cuda --kernel=add --record-id=ordinal --max-recordings=0 \
// DEFINE:   -o %t/%{how}.rec -- %t/%{how}
// REDEFINE: %{how} = app
// RUN: %{record} > %t/app.out 2>&1
// RUN: FileCheck %s < %t/app.out
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/app.rec | FileCheck %s --check-prefix=REPLAY
// REDEFINE: %{how} = static
// RUN: %{record} > %t/static.out 2>&1
// RUN: FileCheck %s < %t/static.out
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t/static.rec | FileCheck %s --check-prefix=REPLAY
// CHECK: all is well
// CHECK: {{[0-9]+}} launches seen, 12 recorded
// REPLAY-COUNT-12: add grid 2: Match
// REPLAY-NOT: {{.}}

#include "../Inputs/check.h"
#include <atomic>
#include <cuda.h>
#include <cuda_runtime.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void add(int *P, int N) {
  for (int I = blockIdx.x; I < N; I += gridDim.x)
    P[I] += I;
}

__global__ void fill(int *P, int N, int V) {
  for (int I = 0; I < N; ++I)
    P[I] = V;
}

static constexpr int N = 3000, NumThreads = 7;
static std::atomic<bool> Done{false};
static std::atomic<int> NumWorking{0};

static void work(int Thread) {
  int *P, *Q, *Pinned;
  cudaStream_t S;
  OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
  OK(cudaMalloc(&P, N * sizeof(int)));
  OK(cudaMalloc(&Q, N * sizeof(int)));
  OK(cudaMallocHost((void **)&Pinned, N * sizeof(int)));
  std::vector<int> H(N);
  auto D = reinterpret_cast<CUdeviceptr>(P);
  int Last = 0;
  for (int Round = 1; !Done; ++Round) {
    Last = Round;
    for (int I = 0; I != N; ++I)
      H[I] = Pinned[I] = Round;
    switch (Thread) {
    case 0:
      OK(cudaMemcpy(P, H.data(), N * sizeof(int), cudaMemcpyHostToDevice));
      OK(cudaMemcpyAsync(Q, P, N * sizeof(int), cudaMemcpyDeviceToDevice, S));
      OK(cudaMemset(P, 0, 100));
      break;
    case 1:
      OK(cudaMemcpyAsync(P, Pinned, N * sizeof(int), cudaMemcpyHostToDevice, S));
      OK(cudaStreamSynchronize(S));
      OK(cudaMemsetAsync(P, 0, 100, S));
      break;
    case 2:
      CHECK(!cuMemcpyHtoD(D, H.data(), N * sizeof(int)));
      CHECK(!cuMemsetD8Async(D, 0, 100, S));
      break;
    case 3:
      fill<<<1, 1, 0, S>>>(P, N, Round);
      fill<<<1, 1, 0, S>>>(P, 25, 0);
      break;
    case 4: {
      void *To[] = {P, Q};
      const void *From[] = {Pinned, Pinned};
      size_t Sizes[] = {N * sizeof(int), N * sizeof(int)}, Index = 0;
      cudaMemcpyAttributes Attributes = {};
      Attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
      OK(cudaMemcpyBatchAsync(To, From, Sizes, 2, &Attributes, &Index, 1, S));
      OK(cudaMemsetAsync(P, 0, 100, S));
      break;
    }
    case 5:
      OK(cudaMemcpyAsync(P, Pinned, N * sizeof(int), cudaMemcpyHostToDevice, S));
      for (int I = 0; I != 25; ++I)
        CHECK(!cuStreamWriteValue32(S, D + I * sizeof(int), 0, 0));
      break;
    case 6:
      OK(cudaMemcpyAsync(P, Pinned, N * sizeof(int), cudaMemcpyHostToDevice, S));
      for (int I = 0; I != 25; ++I) {
        CUstreamBatchMemOpParams Write = {};
        Write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        Write.writeValue.address = D + I * sizeof(int);
        CHECK(!cuStreamBatchMemOp(S, 1, &Write, 0));
      }
      break;
    }
    OK(cudaStreamSynchronize(S));
    if (Round == 1)
      ++NumWorking;
  }
  OK(cudaMemcpy(H.data(), P, N * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(H[24] == 0 && H[25] == Last && H[N - 1] == Last);
  OK(cudaFree(P));
  OK(cudaFree(Q));
  OK(cudaFreeHost(Pinned));
  OK(cudaStreamDestroy(S));
}

int main() {
  int *P, H[2];
  OK(cudaMalloc(&P, N * sizeof(int)));
  OK(cudaMemset(P, 0, N * sizeof(int)));
  std::vector<std::thread> Threads;
  for (int I = 0; I != NumThreads; ++I)
    Threads.emplace_back(work, I);
  while (NumWorking != NumThreads)
    usleep(100);
  for (int I = 0; I != 12; ++I)
    add<<<2, 1>>>(P, N);
  OK(cudaDeviceSynchronize());
  Done = true;
  for (std::thread &T : Threads)
    T.join();
  OK(cudaMemcpy(H, P + N - 2, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H[0] == 12 * (N - 2) && H[1] == 12 * (N - 1));
  OK(cudaFree(P));
  printf("all is well\n");
}
