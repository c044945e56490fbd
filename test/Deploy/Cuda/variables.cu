// A tuned kernel uses the application's variables: those in global memory by
// their addresses, and __constant__ variables as copies, which follow every write
// of the application in the order of its streams.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -emit-llvm -c %s -o %t/tuned.bc
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DTUNED -c %s -o %t/tuned.cubin
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %cuda_cc_static -O2 %s -o %t/static %emulated_static_libs
// DEFINE: %{package} = mneme-package %t/app.mneme %t/app kernel=_Z4stepPi variant=%t/tuned.cubin entry=tuned
// DEFINE: %{counter} = guard=variable name=counter bytes=4 slot=0
// DEFINE: %{app} = app
// DEFINE: %{run} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/tuned.bc \
// DEFINE:   LD_PRELOAD=%mneme_deploy MNEME_TUNED=%t/app.mneme MNEME_TUNED_REPORT=- %t/%{app}
//
// RUN: %{package} %{counter} guard=variable name=factor bytes=4
// RUN: %{run} write stream pointer reset > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// REDEFINE: %{app} = static
// RUN: %{run} write stream pointer reset > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s
// REDEFINE: %{app} = app
// CHECK: write: tuned 2 by 2, 1
// CHECK-NEXT: write: tuned 3 by 3, 2
// CHECK-NEXT: stream: tuned 3 by 3, 3
// CHECK-NEXT: stream: tuned 4 by 4, 4
// CHECK-NEXT: pointer: tuned 5 by 5, 5
// CHECK-NEXT: pointer: tuned 6 by 6, 6
// CHECK-NEXT: reset: tuned 7 by 7, 1
// CHECK: 7 served by tuned kernels, 0 fell back
//
// A graph repeats its writes, so copies have to be made before each launch from
// then on, and a graph's launches get them only if the user wants that.
// RUN: %{run} write graph > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=GRAPH,PLAIN
// RUN: env MNEME_TUNED_CAPTURE=all %{run} write graph > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=GRAPH,ALL
// GRAPH: write: tuned 3 by 3, 2
// PLAIN: graph: plain 8 by 8, 3
// ALL: graph: tuned 8 by 8, 3
// GRAPH-NEXT: graph: tuned 8 by 8, 4
// PLAIN-NEXT: graph: plain 9 by 9, 5
// ALL-NEXT: graph: tuned 9 by 9, 5
// GRAPH-NEXT: graph: tuned 9 by 9, 6
// PLAIN: 1 fell back: captured into a graph, and has copies of variables
//
// Addresses alone do not change: they are stored when a capture begins.
// RUN: %{package} %{counter}
// RUN: %{run} graph > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=FIRST
// FIRST: graph: tuned 0 by 8, 1
// FIRST: 3 served by tuned kernels, 0 fell back
// RUN: %{run} write graph > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefix=ADDRESS
// ADDRESS: write: tuned 0 by 3, 2
// ADDRESS-NEXT: graph: tuned 0 by 8, 3
// ADDRESS-NEXT: graph: tuned 0 by 8, 4
//
// 16 threads share one counter.
// RUN: %{run} threads | FileCheck %s --check-prefix=THREADS
// THREADS: threads: 1600, plain 0
//
// An application without the variable, or with another of its name.
// RUN: %{package} guard=variable name=other bytes=4 slot=0
// RUN: %{run} write > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=NO,MISSING
// RUN: %{package} guard=variable name=counter bytes=8 slot=0
// RUN: %{run} write > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=NO,SIZE
// RUN: %{package} guard=variable name=counter bytes=4 slot=1
// RUN: %{run} write > %t/out 2> %t/report
// RUN: cat %t/out %t/report | FileCheck %s --check-prefixes=NO,SLOT
// NO: write: plain 2 by 2, 1
// NO-NEXT: write: plain 3 by 3, 2
// MISSING: the application's own is launched: variable 'other' is not in the application
// SIZE: the application's own is launched: variable 'counter' has 4 bytes instead of 8
// SLOT: the application's own is launched: variable 'counter' has no slot in the image
// NO: 2 fell back: its image could not be loaded

#ifdef TUNED
extern "C" {
__constant__ int *__mneme_variables[1];
__constant__ int factor;
__global__ void tuned(int *P) {
  P[0] = 1;
  P[1] = factor;
  atomicAdd(__mneme_variables[0], 1);
}
}
#else
#include "../../Runtime/Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

__device__ int counter;
__constant__ int factor;

__global__ void step(int *P) {
  P[0] = 2;
  P[1] = factor;
  atomicAdd(&counter, 1);
}

static int *D, Wanted;

static void report(const char *What) {
  int H[2], Count;
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  OK(cudaMemcpyFromSymbol(&Count, counter, sizeof(Count)));
  printf("%s: %s %d by %d, %d\n", What, H[0] == 1 ? "tuned" : "plain", H[1],
         Wanted, Count);
}

static void launch(const char *What, cudaStream_t S = 0) {
  step<<<1, 1, 0, S>>>(D);
  OK(cudaGetLastError());
  OK(cudaStreamSynchronize(S));
  report(What);
}

static void write(int Value) {
  Wanted = Value;
  OK(cudaMemcpyToSymbol(factor, &Value, sizeof(Value)));
}

static std::atomic<bool> Continue;

// A write that has not happened yet delays no launch in another stream.
static void testStream() {
  cudaStream_t S, Other;
  int *Pinned;
  OK(cudaStreamCreateWithFlags(&S, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&Other, cudaStreamNonBlocking));
  OK(cudaMallocHost(&Pinned, sizeof(int)));
  *Pinned = 4;
  OK(cudaLaunchHostFunc(
      S, [](void *) { while (!Continue) std::this_thread::yield(); }, nullptr));
  OK(cudaMemcpyToSymbolAsync(factor, Pinned, sizeof(int), 0,
                             cudaMemcpyHostToDevice, S));
  int H[2], Count;
  step<<<1, 1, 0, Other>>>(D);
  OK(cudaStreamSynchronize(Other));
  Continue = true;
  OK(cudaStreamSynchronize(S));
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  OK(cudaMemcpyFromSymbol(&Count, counter, sizeof(Count)));
  printf("stream: %s %d by %d, %d\n", H[0] == 1 ? "tuned" : "plain", H[1],
         Wanted, Count);
  Wanted = 4;
  launch("stream", Other);
}

static void testPointer() {
  int Values[] = {5, 6};
  void *Address;
  OK(cudaGetSymbolAddress(&Address, factor));
  for (int &Value : Values) {
    Wanted = Value;
    OK(cudaMemcpy(Address, &Value, sizeof(Value), cudaMemcpyHostToDevice));
    launch("pointer");
  }
}

static void testGraph() {
  cudaStream_t S;
  cudaGraph_t G;
  cudaGraphExec_t Exec;
  int *Pinned;
  OK(cudaStreamCreate(&S));
  OK(cudaMallocHost(&Pinned, sizeof(int)));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  OK(cudaMemcpyToSymbolAsync(factor, Pinned, sizeof(int), 0,
                             cudaMemcpyHostToDevice, S));
  step<<<1, 1, 0, S>>>(D);
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&Exec, G, 0));
  for (Wanted = 8; Wanted != 10; ++Wanted) {
    *Pinned = Wanted;
    OK(cudaGraphLaunch(Exec, S));
    OK(cudaStreamSynchronize(S));
    report("graph");
    launch("graph");
  }
}

static void testThreads() {
  std::atomic<int> Plain{0};
  std::vector<std::thread> Threads;
  for (int T = 0; T != 16; ++T)
    Threads.emplace_back([&] {
      int *P, H[2];
      cudaStream_t S;
      OK(cudaMalloc(&P, sizeof(H)));
      OK(cudaStreamCreate(&S));
      for (int I = 0; I != 100; ++I) {
        step<<<1, 1, 0, S>>>(P);
        OK(cudaStreamSynchronize(S));
        OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
        Plain += H[0] != 1;
      }
    });
  for (std::thread &T : Threads)
    T.join();
  int Count;
  OK(cudaMemcpyFromSymbol(&Count, counter, sizeof(Count)));
  printf("threads: %d, plain %d\n", Count, Plain.load());
}

int main(int Argc, char **Argv) {
  OK(cudaMalloc(&D, 2 * sizeof(int)));
  for (int I = 1; I != Argc; ++I) {
    const char *Test = Argv[I];
    if (!strcmp(Test, "write")) {
      for (int Value : {2, 3}) {
        write(Value);
        launch("write");
      }
    } else if (!strcmp(Test, "stream")) {
      testStream();
    } else if (!strcmp(Test, "pointer")) {
      testPointer();
    } else if (!strcmp(Test, "graph")) {
      testGraph();
    } else if (!strcmp(Test, "threads")) {
      testThreads();
    } else {
      OK(cudaDeviceReset());
      OK(cudaMalloc(&D, 2 * sizeof(int)));
      write(7);
      launch("reset");
    }
    fflush(stdout);
  }
}
#endif
