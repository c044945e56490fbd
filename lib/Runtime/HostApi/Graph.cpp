//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The work of graph nodes on the host device, and its execution.
///
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace mneme;

MNEME_API rt_cudaMemcpy3D(const CudaMemcpy3DParms *P);

//===----------------------------------------------------------------------===//
// Describing work
//===----------------------------------------------------------------------===//

CudaError mneme::describeKernel(GraphWork &W, const CudaKernelNodeParams *P) {
  HostKernel *K;
  if (!P)
    return cudaErrorInvalidValue;
  if (CudaError E = Device::get().findKernel(P->Func, K))
    return E;
  size_t Size = 0;
  const char *Buffer = findBuffer(P->Extra, Size);
  if (!K->Args.empty() && !P->Args && !Buffer)
    return cudaErrorInvalidValue;
  std::vector<std::vector<char>> Args;
  for (size_t I = 0; I != K->Args.size(); ++I) {
    const KernelArg &A = K->Args[I];
    if (Buffer && (A.Offset > Size || A.Size > Size - A.Offset))
      return cudaErrorInvalidValue;
    const char *From =
        Buffer ? Buffer + A.Offset : static_cast<const char *>(P->Args[I]);
    Args.emplace_back(From, From + A.Size);
  }
  W.Type = CudaGraphNodeKernel;
  W.Stub = P->Func;
  W.Shape.Grid = P->Grid;
  W.Shape.Block = P->Block;
  W.Shape.DynamicShared = P->DynamicShared;
  W.Args = std::move(Args);
  return cudaSuccess;
}

void mneme::describeCopy(GraphWork &W, const CudaMemcpy3DParms &P) {
  W.Type = CudaGraphNodeMemcpy;
  W.Copy = P;
}

void mneme::describeCopy(GraphWork &W, void *Dst, size_t DstPitch,
                         const void *Src, size_t SrcPitch, size_t Width,
                         size_t Height, int Kind) {
  CudaMemcpy3DParms P = {};
  P.Dst = {Dst, DstPitch, Width, Height};
  P.Src = {const_cast<void *>(Src), SrcPitch, Width, Height};
  P.Extent = {Width, Height, 1};
  P.Kind = Kind;
  describeCopy(W, P);
}

void mneme::describeSet(GraphWork &W, const CudaMemsetParams &P) {
  W.Type = CudaGraphNodeMemset;
  W.Set = P;
}

CudaError mneme::describeAlloc(GraphWork &W, CudaMemAllocNodeParams &P) {
  void *Ptr = nullptr;
  // Allocate now, because the address must be known from now on.
  if (CudaError E = Device::get().allocate(&Ptr, P.Size, KindGraph))
    return E;
  W.Memory = std::shared_ptr<void>(
      Ptr, [](void *Old) { Device::get().release(Old, 1u << KindGraph); });
  W.Type = CudaGraphNodeMemAlloc;
  P.Ptr = Ptr;
  W.Alloc = P;
  W.Alloc.AccessDescs = nullptr;
  W.Alloc.NumAccessDescs = 0;
  return cudaSuccess;
}

CudaError mneme::describeChild(GraphWork &W, CudaGraph *Child) {
  std::shared_ptr<CudaGraph> G = findGraph(Child);
  if (!G)
    return cudaErrorInvalidValue;
  W.Type = CudaGraphNodeGraph;
  W.Child = copyGraph(*G);
  return cudaSuccess;
}

CudaError mneme::describeEvent(GraphWork &W, int Type, CudaEvent *E) {
  if (!isEvent(E))
    return cudaErrorInvalidResourceHandle;
  W.Type = Type;
  W.Event = E;
  return cudaSuccess;
}

CudaError mneme::describeFree(GraphWork &W, void *Ptr) {
  Arena::Allocation A;
  if (!Device::get().find(Ptr, A) || A.Kind != KindGraph)
    return cudaErrorInvalidValue;
  W.Type = CudaGraphNodeMemFree;
  W.Freed = Ptr;
  return cudaSuccess;
}

CudaError mneme::describeHost(GraphWork &W, const CudaHostNodeParams &P) {
  if (!P.Fn)
    return cudaErrorInvalidValue;
  W.Type = CudaGraphNodeHost;
  W.Host = P;
  return cudaSuccess;
}

CudaError mneme::describe(GraphWork &W, CudaGraphNodeParams *P) {
  if (!P)
    return cudaErrorInvalidValue;
  switch (P->Type) {
  case CudaGraphNodeKernel:
    return describeKernel(W, &P->Kernel);
  case CudaGraphNodeMemcpy:
    describeCopy(W, P->Copy.Params);
    return cudaSuccess;
  case CudaGraphNodeMemset:
    describeSet(W, P->Set);
    return cudaSuccess;
  case CudaGraphNodeHost:
    return describeHost(W, P->Host);
  case CudaGraphNodeGraph:
    return describeChild(W, P->Child);
  case CudaGraphNodeEmpty:
    W.Type = CudaGraphNodeEmpty;
    return cudaSuccess;
  case CudaGraphNodeWaitEvent:
  case CudaGraphNodeEventRecord:
    return describeEvent(W, P->Type, P->Event);
  case CudaGraphNodeMemAlloc:
    return describeAlloc(W, P->Alloc);
  case CudaGraphNodeMemFree:
    return describeFree(W, P->Freed);
  default:
    return cudaErrorNotSupported;
  }
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static CudaError runSet(const CudaMemsetParams &P) {
  size_t Size = P.ElementSize, Row;
  if ((Size != 1 && Size != 2 && Size != 4) ||
      __builtin_mul_overflow(P.Width, Size, &Row))
    return cudaErrorInvalidValue;
  char Pattern[16384];
  for (size_t I = 0; I != sizeof(Pattern); I += Size)
    memcpy(Pattern + I, &P.Value, Size);
  for (size_t Y = 0; Y != P.Height; ++Y)
    for (size_t X = 0, Bytes; X != Row; X += Bytes) {
      Bytes = std::min(sizeof(Pattern), Row - X);
      if (CudaError E =
              Device::get().copy(static_cast<char *>(P.Dst) + Y * P.Pitch + X,
                                 Pattern, Bytes, cudaMemcpyHostToDevice))
        return E;
    }
  return cudaSuccess;
}

// Never destroyed, because applications may use it while they exit.
std::map<void *, GraphMemory> &mneme::graphMemory() {
  using Map = std::map<void *, GraphMemory>;
  alignas(Map) static char Storage[sizeof(Map)];
  static auto &M = *new (Storage) Map;
  return M;
}

bool mneme::freeGraphMemory(void *Ptr) {
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  return graphMemory().erase(Ptr);
}

/// May throw.
static CudaError runWork(const GraphWork &W) {
  switch (W.Type) {
  case CudaGraphNodeKernel: {
    std::vector<void *> Args;
    for (const std::vector<char> &A : W.Args)
      Args.push_back(const_cast<char *>(A.data()));
    return Device::get().launch(W.Stub, W.Shape, Args.data());
  }
  case CudaGraphNodeMemcpy:
    return CudaError(rt_cudaMemcpy3D(&W.Copy));
  case CudaGraphNodeMemset:
    return runSet(W.Set);
  case CudaGraphNodeHost:
    if (!Device::get().sticky())
      W.Host.Fn(W.Host.UserData);
    return cudaSuccess;
  case CudaGraphNodeGraph:
    return runGraph(*W.Child);
  case CudaGraphNodeEventRecord:
    reachEvent(W.Event);
    return cudaSuccess;
  case CudaGraphNodeMemAlloc: {
    std::lock_guard<std::recursive_mutex> Guard(graphLock());
    graphMemory()[W.Alloc.Ptr] = {W.Memory, W.Alloc.Size};
    return cudaSuccess;
  }
  case CudaGraphNodeMemFree:
    return freeGraphMemory(W.Freed) ? cudaSuccess : cudaErrorInvalidValue;
  default:
    return cudaSuccess;
  }
}

CudaError mneme::runGraph(const CudaGraph &G) {
  for (const auto &N : G.Nodes)
    if (N->Work.IsEnabled)
      if (CudaError E = runWork(N->Work))
        return E;
  return cudaSuccess;
}
