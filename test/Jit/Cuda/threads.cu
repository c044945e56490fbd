// 16 threads launch kernels of the JIT, write variables, set attributes and switch the JIT off and on, while ThreadSanitizer watches the
// runtime. All launches have the right results.
//
// REQUIRES: runtime-tsan
// RUN: rm -rf %t && mkdir %t && mkdir -p %servers/gpu-threads
// The emulated driver, and LLVM in it, are not instrumented: ThreadSanitizer does not see their atomics.
// RUN: echo called_from_lib:libcuda.so.1 > %t/suppressions && echo called_from_lib:libLLVM.so >> %t/suppressions
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: mneme-pass-opt --passes=mneme-deployable %t/plain.bc -o %t/shared.bc
// RUN: %cuda_cc -O1 -g -Xarch_host -fsanitize=thread -c %s -o %t/app.o
// RUN: %cuda_cc -fsanitize=thread %t/app.o -o %t/app -Wl,--no-as-needed %runtime_tsan -Wl,-rpath,%mneme_build/lib/tsan -lpthread
//
// The server is there, as long as a slow machine needs it, so that the instrumented process need not start it.
// RUN: %jit_cxx -O2 %S/../Inputs/app.cpp -o %t/other && %jit_run XDG_RUNTIME_DIR=%servers/gpu-threads MNEME_JIT_IDLE=100 %t/other 1
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/shared.bc MNEME_JIT_REPORT=%t/report XDG_RUNTIME_DIR=%servers/gpu-threads \
// DEFINE:   MNEME_JIT_SERVER=%mneme_build/bin/llvm-mneme-jitd TSAN_OPTIONS=exitcode=66:suppressions=%t/suppressions %t/app
// RUN: %{run} | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=REPORT
// RUN: env MNEME_JIT_MODE=async %{run} | FileCheck %s
// CHECK: right 1280 of 1280, counter 640
// REPORT: served={{[1-9][0-9]*}}

#include "../../Runtime/Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <mneme/jit.h>
#include <thread>
#include <vector>

__device__ int counter;
__constant__ int factor;

__attribute__((annotate("jit", 1))) __global__ void step(int N, int *P) {
  *P = factor * N;
  atomicAdd(&counter, 1);
}
__global__ void sum(const int *A, int N, int *P) {
  mneme::jit_array(A, N);
  int Sum = 0;
  for (int I = 0; I != N; ++I)
    Sum += A[I];
  *P = Sum;
}

constexpr int NumThreads = 16, Rounds = 40;
static std::atomic<int> Right{0}, Absent{NumThreads};

static void work(int Thread) {
  cudaStream_t S;
  int *P, *A, H = 0, Factor = 7, Values[] = {1, 2, 3};
  OK(cudaStreamCreate(&S));
  OK(cudaMalloc(&P, sizeof(int)));
  OK(cudaMalloc(&A, sizeof(Values)));
  OK(cudaMemcpyAsync(A, Values, sizeof(Values), cudaMemcpyHostToDevice, S));
  OK(cudaStreamSynchronize(S));
  auto Expect = [&](int Value) {
    OK(cudaMemcpyAsync(&H, P, sizeof(H), cudaMemcpyDeviceToHost, S));
    OK(cudaStreamSynchronize(S));
    Right += H == Value;
  };
  // All begin at once, and nothing but the runtime orders their first launches.
  Absent.fetch_sub(1, std::memory_order_relaxed);
  while (Absent.load(std::memory_order_relaxed))
    ;
  for (int I = 0; I != Rounds; ++I) {
    int N = 1 + (I + Thread) % 3;
    step<<<1, 1, 0, S>>>(N, P);
    Expect(7 * N);
    sum<<<1, 1, 0, S>>>(A, N, P);
    Expect(N * (N + 1) / 2);
    if (I % 8 == 0)
      OK(cudaMemcpyToSymbolAsync(factor, &Factor, sizeof(Factor), 0,
                                 cudaMemcpyHostToDevice, S));
    if (I % 8 == 1)
      OK(cudaFuncSetAttribute(
          step, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    if (Thread == 0 && I % 10 == 5)
      mneme::jit_enable(I % 20 != 5);
  }
}

int main() {
  int Factor = 7, Count = 0;
  OK(cudaMemcpyToSymbol(factor, &Factor, sizeof(Factor)));
  std::vector<std::thread> Threads;
  for (int T = 0; T != NumThreads; ++T)
    Threads.emplace_back(work, T);
  for (std::thread &T : Threads)
    T.join();
  OK(cudaMemcpyFromSymbol(&Count, counter, sizeof(Count)));
  printf("right %d of %d, counter %d\n", Right.load(), 2 * NumThreads * Rounds,
         Count);
}
