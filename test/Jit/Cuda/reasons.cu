// Whatever prevents that a launch gets code of its own, the kernel as compiled runs, and the reason is counted.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/plain.bc
// RUN: mneme-pass-opt --passes=mneme-deployable %t/plain.bc -o %t/shared.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{run} = %jit_gpu MNEME_EMULATED_KERNELS=%t/plain.bc:%t/shared.bc MNEME_JIT_REPORT=%t/report %t/app
// RUN: %{run} 2> %t/err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING < %t/err
// WARNING: mneme: warning: '_Z6hiddenPi': does not compile: variable '_ZL7counter' exists only in device code; it runs as compiled
// WARNING-NOT: mneme:
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=ALL
// ALL: served=4 fell_back=5
// RUN: %jit_report %t/report fill | FileCheck %s --check-prefix=FILL
// FILL: 1 ran as compiled: captured into a graph
// FILL-NEXT: 1 ran as compiled: launched with an attribute that Mneme does not know
// FILL-NEXT: 1 ran as compiled: the launch of the code failed
// FILL-NEXT: arg 1 = 5, threads <= 1: 2 served
// FILL-NEXT: arg 1 = 5, threads <= 4096: 0 served
// RUN: %jit_report %t/report hidden | FileCheck %s --check-prefix=HIDDEN
// HIDDEN: 1 ran as compiled: does not compile
// RUN: %jit_report %t/report array | FileCheck %s --check-prefix=ARRAY
// ARRAY: 1 ran as compiled: the contents of an array or object cannot be read
// RUN: %jit_report %t/report shared | FileCheck %s --check-prefix=SHARED
// SHARED: threads <= 1: 1 served
//
// Without a server, all launches run as compiled.
// RUN: env MNEME_JIT_SERVER=/none %{run} 2> %t/err | FileCheck %s
// RUN: %jit_report %t/report | FileCheck %s --check-prefix=NONE
// NONE: served=0
// RUN: FileCheck %s --check-prefix=SERVER < %t/err
// SERVER: no compile server: '/none' does not exist; it runs as compiled

#include "../../Runtime/Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/jit.h>

__attribute__((annotate("jit", 1))) __global__ void fill(int N, int *P) {
  *P = N;
}

static __device__ int counter;
__attribute__((annotate("jit"))) __global__ void hidden(int *P) {
  *P = ++counter;
}

__global__ void array(const int *A, int *P) {
  mneme::jit_array(A, 2);
  *P = A ? A[0] : 9;
}

__attribute__((annotate("jit"))) __global__ void shared(int *P) {
  extern __shared__ int Values[];
  Values[20000] = 4;
  *P = Values[20000];
}

int main() {
  int *P, H;
  OK(cudaMalloc(&P, sizeof(H)));
  auto Show = [&](const char *What) {
    OK(cudaMemcpy(&H, P, sizeof(H), cudaMemcpyDeviceToHost));
    printf("%s %d\n", What, H);
  };
  fill<<<1, 1>>>(5, P);
  Show("filled");
  // CHECK: filled 5
  cudaStream_t S;
  cudaGraph_t Graph;
  cudaGraphExec_t Exec;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  fill<<<1, 1, 0, S>>>(6, P);
  OK(cudaStreamEndCapture(S, &Graph));
  OK(cudaGraphInstantiate(&Exec, Graph, 0));
  OK(cudaGraphLaunch(Exec, S));
  OK(cudaStreamSynchronize(S));
  Show("graph");
  // CHECK-NEXT: graph 6
  // Invalid for the kernel as compiled, too: the code is of use afterwards.
  fill<<<1, 4096>>>(5, P);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  // CHECK-NEXT: cudaErrorInvalidConfiguration
  fill<<<1, 1>>>(5, P);
  // Of a graph's node: this launch ignores it.
  cudaLaunchAttribute A = {};
  A.id = cudaLaunchAttributeDeviceUpdatableKernelNode;
  cudaLaunchConfig_t C = {};
  C.gridDim = C.blockDim = 1;
  C.attrs = &A;
  C.numAttrs = 1;
  OK(cudaLaunchKernelEx(&C, fill, 7, P));
  Show("attribute");
  // CHECK-NEXT: attribute 7
  hidden<<<1, 1>>>(P);
  Show("hidden");
  // CHECK-NEXT: hidden 1
  // The first time, there is code without constants.
  array<<<1, 1>>>(nullptr, P);
  array<<<1, 1>>>(nullptr, P);
  Show("array");
  // CHECK-NEXT: array 9
  // Attributes are the code's, too.
  OK(cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                          96 << 10));
  shared<<<1, 1, 96 << 10>>>(P);
  Show("shared");
  // CHECK-NEXT: shared 4
}
