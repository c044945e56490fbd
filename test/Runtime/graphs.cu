// Graphs on the host device: captured and built, changed, launched again. Their
// kernels are recorded like any other.
//
// REQUIRES: cuda-toolkit
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t | FileCheck %s
// RUN: %cuda_cc_static %s -o %t.static %cuda_static_libs
// RUN: llvm-mneme-record --device=host --no-record -- %t.static | FileCheck %s
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host -o %t.rec --kernel=add -- %t 2>&1 | FileCheck %s --check-prefix=RECORD
// RUN: %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// CHECK: all as it should be
// RECORD: 2 recorded
// REPLAY-COUNT-2: add grid 1: Match

#include "Inputs/check.h"
#include <cstdint>
#include <cuda_runtime.h>

__global__ void add(int *P, int N) { P[threadIdx.x] += N; }
__global__ void twice(int *P) { P[threadIdx.x] *= 2; }
__device__ int Variable;

static void note(void *Data) { ++*(int *)Data; }

static int first(const int *D) {
  int H;
  OK(cudaMemcpy(&H, D, sizeof(H), cudaMemcpyDeviceToHost));
  return H;
}

// Two streams, which end where the capture began.
static void captured(int *D, int *E) {
  cudaStream_t S, T;
  cudaEvent_t Fork, Join, Outside;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamCreateWithFlags(&T, cudaStreamNonBlocking));
  OK(cudaEventCreate(&Fork));
  OK(cudaEventCreate(&Join));
  OK(cudaEventCreate(&Outside));
  OK(cudaEventRecord(Outside, T));
  int Count = 0, Result = 0, Three = 3;
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus Status;
  OK(cudaStreamIsCapturing(S, &Status));
  CHECK(Status == cudaStreamCaptureStatusActive);
  OK(cudaMemsetAsync(D, 0, 64, S));
  OK(cudaEventRecord(Fork, S));
  EXPECT(cudaErrorCapturedEvent, cudaEventSynchronize(Fork));
  OK(cudaStreamWaitEvent(T, Fork, 0));
  OK(cudaMemcpyAsync(E, &Three, 4, cudaMemcpyHostToDevice, T));
  twice<<<1, 1, 0, T>>>(E);
  OK(cudaEventRecord(Join, T));
  add<<<1, 16, 0, S>>>(D, 5);
  OK(cudaLaunchHostFunc(S, note, &Count));
  OK(cudaMemcpyToSymbolAsync(Variable, &Three, 4, 0, cudaMemcpyHostToDevice, S));
  OK(cudaStreamWaitEvent(S, Join, 0));
  OK(cudaMemcpyAsync(&Result, E, 4, cudaMemcpyDeviceToHost, S));
  OK(cudaStreamDestroy(T));
  cudaGraph_t G;
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaStreamCreate(&T));
  // Nothing has run yet.
  CHECK(Count == 0 && Result == 0);
  size_t N = 0, Roots = 0, Edges = 0;
  OK(cudaGraphGetNodes(G, nullptr, &N));
  OK(cudaGraphGetRootNodes(G, nullptr, &Roots));
  OK(cudaGraphGetEdges(G, nullptr, nullptr, nullptr, &Edges));
  CHECK(N == 7 && Roots == 1 && Edges == 7);
  cudaGraphExec_t X;
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphDestroy(G));
  for (int I = 1; I != 3; ++I) {
    OK(cudaGraphLaunch(X, S));
    OK(cudaStreamSynchronize(S));
    CHECK(Count == I && Result == 6 && first(D) == 5);
  }
  OK(cudaMemcpyFromSymbol(&Result, Variable, 4));
  CHECK(Result == 3);
  OK(cudaGraphExecDestroy(X));
  EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(X, S));

  // What a capture must not do.
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  EXPECT(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(S, Outside, 0));
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(S));
  EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(S, &G));
  CHECK(!G);
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(Fork, S));
  OK(cudaStreamWaitEvent(T, Fork, 0));
  add<<<1, 1, 0, T>>>(D, 1);
  EXPECT(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(T, &G));
  EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(S, &G));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  OK(cudaEventRecord(Fork, S));
  OK(cudaStreamWaitEvent(T, Fork, 0));
  add<<<1, 1, 0, T>>>(D, 1);
  EXPECT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(S, &G));
  CHECK(first(D) == 5);
  // One that ends with its stream.
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeGlobal));
  OK(cudaStreamDestroy(S));
  cudaGetLastError();
}

// Nodes of all types, in an order that only their dependencies say.
static void built(int *D, int *E) {
  cudaGraph_t G, Child;
  cudaGraphNode_t Set, Add, Twice, Copy, Host, Inner, Empty, Sub;
  OK(cudaGraphCreate(&G, 0));
  int N = 7, Count = 0;
  void *AddArgs[] = {&D, &N}, *TwiceArgs[] = {&D};
  cudaKernelNodeParams K = {};
  K.func = (void *)twice;
  K.gridDim = 1;
  K.blockDim = 4;
  K.kernelParams = TwiceArgs;
  OK(cudaGraphAddKernelNode(&Twice, G, nullptr, 0, &K));
  K.func = (void *)add;
  K.kernelParams = AddArgs;
  OK(cudaGraphAddKernelNode(&Add, G, nullptr, 0, &K));
  cudaMemsetParams M = {};
  M.dst = D;
  M.value = 100;
  M.elementSize = 4;
  M.width = 16;
  M.height = 1;
  OK(cudaGraphAddMemsetNode(&Set, G, nullptr, 0, &M));
  cudaGraphNode_t From[] = {Set, Add}, To[] = {Add, Twice};
  OK(cudaGraphAddDependencies(G, From, To, nullptr, 2));
  OK(cudaGraphAddMemcpyNode1D(&Copy, G, &Twice, 1, E, D, 16, cudaMemcpyDeviceToDevice));
  cudaHostNodeParams H = {note, &Count};
  OK(cudaGraphAddHostNode(&Host, G, &Copy, 1, &H));
  OK(cudaGraphAddEmptyNode(&Empty, G, &Host, 1));

  // A child graph is a copy.
  OK(cudaGraphCreate(&Child, 0));
  int One = 1;
  void *ChildArgs[] = {&E, &One};
  K.kernelParams = ChildArgs;
  OK(cudaGraphAddKernelNode(&Inner, Child, nullptr, 0, &K));
  OK(cudaGraphAddChildGraphNode(&Sub, G, &Copy, 1, Child));
  OK(cudaGraphDestroy(Child));
  EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(Child));
  cudaGraphNodeType Type;
  OK(cudaGraphNodeGetType(Sub, &Type));
  CHECK(Type == cudaGraphNodeTypeGraph);

  cudaGraphExec_t X;
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, nullptr));
  CHECK(first(D) == 214 && first(E) == 215 && Count == 1);

  // Arguments were copied, and are changed on request.
  N = 8;
  OK(cudaGraphLaunch(X, nullptr));
  CHECK(first(D) == 214);
  K.kernelParams = AddArgs;
  OK(cudaGraphExecKernelNodeSetParams(X, Add, &K));
  OK(cudaGraphLaunch(X, nullptr));
  CHECK(first(D) == 216);
  OK(cudaGraphNodeSetEnabled(X, Twice, 0));
  OK(cudaGraphLaunch(X, nullptr));
  CHECK(first(D) == 108);
  M.value = 0;
  OK(cudaGraphMemsetNodeSetParams(Set, &M));
  cudaGraphExecUpdateResultInfo Info;
  OK(cudaGraphExecUpdate(X, G, &Info));
  OK(cudaGraphLaunch(X, nullptr));
  CHECK(first(D) == 14 && first(E) == 15);
  cudaKernelNodeParams Got;
  OK(cudaGraphKernelNodeGetParams(Add, &Got));
  CHECK(Got.func == (void *)add && Got.blockDim.x == 4 &&
        *(int *)Got.kernelParams[1] == 7);
  OK(cudaGraphDestroyNode(Host));
  EXPECT(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(X, G, &Info));
  CHECK(Info.result == cudaGraphExecUpdateErrorTopologyChanged);
  From[0] = Twice;
  To[0] = Set;
  OK(cudaGraphAddDependencies(G, From, To, nullptr, 1));
  cudaGraphExec_t Y;
  EXPECT(cudaErrorInvalidValue, cudaGraphInstantiate(&Y, G, 0));
  OK(cudaGraphExecDestroy(X));
  OK(cudaGraphDestroy(G));
  cudaGetLastError();
}

// A graph that differs deep inside changes nothing.
static void updated(int *D) {
  cudaGraph_t G, Fewer, Child, Smaller;
  cudaGraphNode_t Set, Sub, Node;
  cudaGraphExec_t X;
  cudaGraphExecUpdateResultInfo Info;
  cudaMemsetParams M = {D, 0, 1, 4, 1, 1};
  OK(cudaGraphCreate(&Child, 0));
  OK(cudaGraphAddMemsetNode(&Set, Child, nullptr, 0, &M));
  OK(cudaGraphAddEmptyNode(&Node, Child, &Set, 1));
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddChildGraphNode(&Sub, G, nullptr, 0, Child));
  OK(cudaGraphAddChildGraphNode(&Node, G, &Sub, 1, Child));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphCreate(&Smaller, 0));
  M.value = 2;
  OK(cudaGraphMemsetNodeSetParams(Set, &M));
  OK(cudaGraphAddMemsetNode(&Set, Smaller, nullptr, 0, &M));
  OK(cudaGraphCreate(&Fewer, 0));
  OK(cudaGraphAddChildGraphNode(&Sub, Fewer, nullptr, 0, Child));
  OK(cudaGraphAddChildGraphNode(&Node, Fewer, &Sub, 1, Smaller));
  EXPECT(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(X, Fewer, &Info));
  CHECK(Info.errorNode == Node);
  OK(cudaGraphLaunch(X, nullptr));
  CHECK(first(D) == 1);
}

// What cannot be done is refused, and nothing is changed.
static void refused(int *D) {
  cudaGraph_t G;
  cudaGraphNode_t Host, Set, Node;
  cudaGraphExec_t X;
  int Count = 0;
  cudaHostNodeParams H = {note, &Count}, Null = {};
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddHostNode(&Host, G, nullptr, 0, &H));
  EXPECT(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(Host, &Null));
  cudaGraphNodeParams P = {};
  P.type = cudaGraphNodeTypeHost;
  EXPECT(cudaErrorInvalidValue, cudaGraphAddNode(&Node, G, nullptr, nullptr, 0, &P));
  // A row that is longer than all memory, and one whose size wraps.
  for (size_t Width : {size_t(1) << 44, SIZE_MAX / 4 + 2}) {
    cudaMemsetParams M = {D, 0, 1, 4, Width, 1};
    OK(cudaGraphAddMemsetNode(&Set, G, &Host, 1, &M));
    OK(cudaGraphInstantiate(&X, G, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(X, nullptr));
    OK(cudaGraphDestroyNode(Set));
  }
  CHECK(Count == 2);
  OK(cudaGraphDestroy(G));
}

// Copies between devices become nodes.
static void copied(int *D, int *E) {
  cudaStream_t S;
  cudaGraph_t G;
  cudaGraphExec_t X;
  int One = 1, Two = 2;
  OK(cudaStreamCreate(&S));
  OK(cudaMemcpy(D, &One, 4, cudaMemcpyHostToDevice));
  OK(cudaMemset(E, 0, 8));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
  OK(cudaMemcpyPeerAsync(E, 0, D, 0, 4, S));
  cudaMemcpy3DPeerParms P = {};
  P.srcPtr = make_cudaPitchedPtr(D, 4, 4, 1);
  P.dstPtr = make_cudaPitchedPtr(E + 1, 4, 4, 1);
  P.extent = make_cudaExtent(4, 1, 1);
  OK(cudaMemcpy3DPeerAsync(&P, S));
#if CUDART_VERSION >= 13000
  // It does not know whether its stream is captured.
  void *To = E;
  const void *From = D;
  size_t Size = 4, Zero = 0;
  cudaMemcpyAttributes How = {};
  How.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  EXPECT(cudaErrorNotSupported, cudaMemcpyBatchAsync(&To, &From, &Size, 1, &How, &Zero, 1, S));
#endif
  OK(cudaStreamEndCapture(S, &G));
  CHECK(first(E) == 0 && first(E + 1) == 0);
  OK(cudaMemcpy(D, &Two, 4, cudaMemcpyHostToDevice));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, S));
  CHECK(first(E) == 2 && first(E + 1) == 2);
}

// Memory that a graph allocates has its address from the beginning.
static void allocated(int *D) {
  cudaStream_t S;
  cudaGraph_t G;
  cudaGraphExec_t X;
  int *P, Result = 0;
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
  OK(cudaMallocAsync(&P, 64, S));
  OK(cudaMemsetAsync(P, 0, 64, S));
  add<<<1, 16, 0, S>>>(P, 9);
  OK(cudaMemcpyAsync(&Result, P, 4, cudaMemcpyDeviceToHost, S));
  OK(cudaFreeAsync(P, S));
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&X, G, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  OK(cudaGraphLaunch(X, S));
  OK(cudaStreamSynchronize(S));
  CHECK(Result == 9);
  unsigned long long Used;
  OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &Used));
  CHECK(Used == 64);
  OK(cudaGraphExecDestroy(X));
  OK(cudaGraphDestroy(G));
  OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &Used));
  CHECK(Used == 0);

  // It lives until it is freed, also behind the graph.
  int *Q, *R;
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
  OK(cudaMallocAsync(&P, 64, S));
  OK(cudaMallocAsync(&Q, 64, S));
  OK(cudaMemsetAsync(P, 1, 64, S));
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, S));
  OK(cudaGraphExecDestroy(X));
  OK(cudaGraphDestroy(G));
  OK(cudaMalloc(&R, 64));
  CHECK(R != P && R != Q && first(P) == 0x01010101);
  OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &Used));
  CHECK(Used == 128);
  OK(cudaFree(P));
  EXPECT(cudaErrorInvalidValue, cudaFree(P));
  cudaGraphNode_t Free;
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddMemFreeNode(&Free, G, nullptr, 0, Q));
  OK(cudaGraphInstantiate(&X, G, 0));
  OK(cudaGraphLaunch(X, S));
  OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &Used));
  CHECK(Used == 0);
}

// A node keeps no pointer to the list of accesses that it was added with.
static void allocationParameters() {
  cudaMemAllocNodeParams P = {}, Read;
  P.poolProps.allocType = cudaMemAllocationTypePinned;
  P.poolProps.location = {cudaMemLocationTypeDevice, 0};
  cudaMemAccessDesc Access = {P.poolProps.location, cudaMemAccessFlagsProtReadWrite};
  P.accessDescs = &Access;
  P.accessDescCount = 1;
  P.bytesize = 64;
  cudaGraph_t G;
  cudaGraphNode_t Node;
  OK(cudaGraphCreate(&G, 0));
  OK(cudaGraphAddMemAllocNode(&Node, G, nullptr, 0, &P));
  OK(cudaGraphMemAllocNodeGetParams(Node, &Read));
  CHECK(P.dptr && Read.dptr == P.dptr && Read.bytesize == 64);
  CHECK(!Read.accessDescs && Read.accessDescCount == 0);
  OK(cudaGraphDestroy(G));
}

int main() {
  int *D, *E;
  OK(cudaMalloc(&D, 64));
  OK(cudaMalloc(&E, 64));
  captured(D, E);
  built(D, E);
  allocated(D);
  allocationParameters();
  updated(D);
  refused(D);
  copied(D, E);
  printf("all as it should be\n");
}
