// 16 threads launch, write variables, capture, set attributes and open libraries,
// while ThreadSanitizer watches the runtime. All launches have the right results.
//
// REQUIRES: runtime-tsan
// RUN: rm -rf %t && mkdir %t
// The emulated driver is not instrumented: ThreadSanitizer does not see its atomics.
// RUN: echo called_from_lib:libcuda.so.1 > %t/suppressions
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc_static -O1 -shared -fPIC -DLIBRARY -Xarch_host -fsanitize=thread %s -o %t/liblater.so
// RUN: %cuda_cc -O1 -g -Xarch_host -fsanitize=thread -c %s -o %t/app.o
// RUN: %cuda_cc -fsanitize=thread %t/app.o -o %t/app -Wl,--no-as-needed %runtime_tsan \
// RUN:   -Wl,-rpath,%mneme_build/lib/tsan -lpthread
// DEFINE: %{kernel} = variant=%t/tuned.cubin entry=tuned guard=variable name=counter bytes=4 slot=0 \
// DEFINE:   guard=variable name=factor bytes=4
// RUN: mneme-package %t/app.mneme %t/app kernel=_Z4stepPi %{kernel} guard=grid low=1 \
// RUN:   variant=%t/tuned.cubin entry=simple guard=grid low=2 kernel=_Z4fillPi variant=%t/tuned.cubin entry=simple
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc MNEME_TUNED=%t/app.mneme \
// DEFINE:   MNEME_TUNED_REPORT=- \
// DEFINE:   TSAN_OPTIONS=exitcode=66:suppressions=%t/suppressions %t/app %t/liblater.so
// RUN: %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// CHECK-NOT: WARNING: ThreadSanitizer
// CHECK: right 2000 of 2000, counter 640
// CHECK: mneme: launches: {{[0-9]+}} served by tuned kernels
// CHECK-NOT: WARNING: ThreadSanitizer
// RUN: env MNEME_TUNED_VERIFY_RATE=0.05 %{run} > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s

#ifdef TUNED
extern "C" {
__constant__ int *__mneme_variables[1];
__constant__ int factor;
__global__ void tuned(int *P) {
  *P = factor;
  atomicAdd(__mneme_variables[0], 1);
}
__global__ void simple(int *P) { *P = 7; }
}
#elif defined(LIBRARY)
__global__ void later() {}
void *keep() { return reinterpret_cast<void *>(later); }
#else
#include "../../Runtime/Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <thread>
#include <vector>

__device__ int counter;
__constant__ int factor;

__global__ void step(int *P) {
  *P = gridDim.x == 1 ? factor : 7;
  if (gridDim.x == 1)
    atomicAdd(&counter, 1);
}
__global__ void fill(int *P) { *P = 7; }

constexpr int NumThreads = 16;
static std::atomic<int> Right{0}, Absent{NumThreads};
static const char *Library;

static void work(int Thread) {
  constexpr int Rounds = 40;
  cudaStream_t S;
  int *P, H, Factor = 7;
  OK(cudaStreamCreate(&S));
  OK(cudaMalloc(&P, sizeof(int)));
  auto Expect7 = [&] {
    OK(cudaStreamSynchronize(S));
    OK(cudaMemcpy(&H, P, sizeof(H), cudaMemcpyDeviceToHost));
    Right += H == 7;
    OK(cudaMemset(P, 0, sizeof(int)));
  };
  // All begin at once, and nothing but the runtime orders their first launches.
  Absent.fetch_sub(1, std::memory_order_relaxed);
  while (Absent.load(std::memory_order_relaxed))
    std::this_thread::yield();
  for (int I = 0; I != Rounds; ++I) {
    step<<<1, 1, 0, S>>>(P);
    Expect7();
    step<<<2, 1, 0, S>>>(P);
    Expect7();
    fill<<<1, 1, 0, S>>>(P);
    Expect7();
    switch (Thread) {
    case 0: // The same value: launches in other threads may read it.
      OK(cudaMemcpyToSymbol(factor, &Factor, sizeof(Factor)));
      break;
    case 1:
    case 2: {
      cudaGraph_t G;
      cudaGraphExec_t Exec;
      OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
      fill<<<1, 1, 0, S>>>(P);
      OK(cudaStreamEndCapture(S, &G));
      OK(cudaGraphInstantiate(&Exec, G, 0));
      OK(cudaGraphLaunch(Exec, S));
      Expect7();
      OK(cudaGraphExecDestroy(Exec));
      OK(cudaGraphDestroy(G));
      break;
    }
    case 3:
      OK(cudaFuncSetAttribute(
          fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024 * I));
      break;
    case 4:
      if (I == 10)
        CHECK(dlopen(Library, RTLD_NOW));
      break;
    }
  }
}

int main(int, char **Argv) {
  Library = Argv[1];
  int Factor = 7, Count;
  OK(cudaMemcpyToSymbol(factor, &Factor, sizeof(Factor)));
  std::vector<std::thread> Threads;
  for (int T = 0; T != NumThreads; ++T)
    Threads.emplace_back(work, T);
  for (std::thread &T : Threads)
    T.join();
  OK(cudaMemcpyFromSymbol(&Count, counter, sizeof(Count)));
  printf("right %d of 2000, counter %d\n", Right.load(), Count);
}
#endif
