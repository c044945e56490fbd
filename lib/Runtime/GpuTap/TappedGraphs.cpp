//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TappedGraphs.h"
#include "GraphNodes.h"
#include "Shortage.h"

#include <iterator>

using namespace mneme;

// As cuda.h has them.
static constexpr unsigned long long FlagDeviceLaunch = 4;

//===----------------------------------------------------------------------===//
// Reading graphs
//===----------------------------------------------------------------------===//

/// Adds the kernels of a graph and of its child graphs to \p T, and the
/// obstacle to launching it in parts. May throw.
void TappedGraphs::read(TappedGraph &T, CUgraph G) {
  GraphNodes All;
  if (!sortNodes(*Driver, G, All))
    T.Obstacle = UnreadableGraph;
  for (CUgraphNode N : All) {
    if (T.Disabled.count(N))
      continue;
    switch (typeOf(*Driver, N)) {
    case NodeKernel:
      readKernel(T, N);
      break;
    case NodeGraph:
      read(T, childOf(*Driver, N));
      break;
    case NodeMemAlloc:
    case NodeMemFree:
      T.Obstacle = "launched by a graph that allocates memory";
      break;
    case NodeConditional:
      T.Obstacle = "launched by a graph with conditional nodes";
      break;
    }
  }
}

void TappedGraphs::readKernel(TappedGraph &T, CUgraphNode N) {
  CUkernelNodeParams P;
  auto I = KernelsByHandle.find(kernelOf(*Driver, N, P));
  bool IsKnown = I != KernelsByHandle.end();
  if (!IsKnown || !I->second.Goal->Selected) {
    ++T.Others[IsKnown ? I->second.Goal : &Targets.unknown()];
    return;
  }
  uint32_t Value[16] = {};
  GraphKernel &K = T.Kernels[N];
  K = {I->second.Stub,
       I->second.Goal,
       {{P.GridX, P.GridY, P.GridZ},
        {P.BlockX, P.BlockY, P.BlockZ},
        P.DynamicShared,
        false},
       P.Args,
       P.Context,
       nullptr};
  auto Read = [&](int Attribute) {
    return !Driver->GraphKernelNodeGetAttribute(N, Attribute, Value);
  };
  if (Read(CudaLaunchAttributeCooperative))
    K.Shape.Cooperative = Value[0];
  if (Read(CudaLaunchAttributeClusterDim) && Value[0])
    K.Shape.Cluster = {Value[0], Value[1], Value[2]};
  if (Read(CudaLaunchAttributePreferredClusterDim) && Value[0])
    K.Obstacle = findObstacle(LaunchForm::PreferredCluster);
}

/// Reads the kernels of the copy anew. May throw.
void TappedGraphs::reread(TappedGraph &T) {
  T.Kernels.clear();
  T.Others.clear();
  read(T, T.Copy);
}

//===----------------------------------------------------------------------===//
// New and destroyed graphs
//===----------------------------------------------------------------------===//

void TappedGraphs::noteKernel(const CudaRuntime &R, CUgraphNode N,
                              const void *Stub) {
  if (State.Off)
    return;
  Target &T = Targets.find(R, Stub);
  std::lock_guard<std::mutex> Guard(State.Lock);
  attempt([&] {
    if (!Driver.load() || !Driver->GraphKernelNodeGetParams)
      return;
    CUkernelNodeParams P;
    if (const void *Handle = kernelOf(*Driver, N, P)) {
      KernelsByHandle[Handle] = {Stub, &T, Driver.currentContext()};
      Handles[Stub] = Handle;
    }
  });
}

void TappedGraphs::noteCaptured(const Launch &L) {
  int Status = 0;
  unsigned long long Id;
  CUgraph G;
  const CUgraphNode *Last = nullptr;
  size_t Count = 0;
  if (!Driver->StreamGetCaptureInfo ||
      Driver->StreamGetCaptureInfo(L.Stream, &Status, &Id, &G, &Last, &Count))
    return;
  if (Status == 1 && Count == 1) // CU_STREAM_CAPTURE_STATUS_ACTIVE
    noteKernel(L.Runtime, *Last, L.Kernel);
}

void TappedGraphs::note(CUgraphExec Exec, CUgraph G, unsigned long long Flags) {
  if (State.Off)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  erase(Exec);
  if (!attempt([&] {
        if (!Driver.load() || !Driver->GraphClone)
          return;
        TappedGraph &T = Graphs[Exec];
        T = {};
        T.Flags = Flags;
        T.Owner = Driver.currentContext();
        read(T, G);
        if (Flags & FlagDeviceLaunch)
          T.Obstacle = "launched by a graph that the device may launch";
        // A node that launches another kernel may be changed to a selected one.
        if ((T.Kernels.empty() && T.Others.empty()) || !T.Obstacle.empty())
          return;
        if (CUresult E = Driver->GraphClone(&T.Copy, G)) {
          T.Copy = nullptr;
          T.Obstacle = "launched by a graph that cannot be copied: " +
                       Driver->describe(E);
        } else {
          reread(T);
        }
      }))
    erase(Exec);
}

TappedGraph *TappedGraphs::find(CUgraphExec Exec) {
  auto I = Graphs.find(Exec);
  return I == Graphs.end() ? nullptr : &I->second;
}

TappedGraphs::GraphMap::iterator TappedGraphs::erase(GraphMap::iterator I) {
  if (I->second.Copy)
    Driver->GraphDestroy(I->second.Copy);
  return Graphs.erase(I);
}

void TappedGraphs::erase(CUgraphExec Exec) {
  auto I = Graphs.find(Exec);
  if (I != Graphs.end())
    erase(I);
}

void TappedGraphs::forget(CUgraphExec Exec) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  erase(Exec);
}

void TappedGraphs::forget(CUcontext Gone) {
  for (auto I = Graphs.begin(); I != Graphs.end();)
    I = I->second.Owner == Gone ? erase(I) : std::next(I);
  for (auto I = Handles.begin(); I != Handles.end();)
    I = KernelsByHandle.at(I->second).Owner == Gone ? Handles.erase(I)
                                                    : std::next(I);
  for (auto I = KernelsByHandle.begin(); I != KernelsByHandle.end();)
    I = I->second.Owner == Gone ? KernelsByHandle.erase(I) : std::next(I);
}

void TappedGraphs::update(CUgraphExec Exec, CUgraph G) {
  unsigned long long Flags = 0;
  if (TapState::Forked)
    return;
  {
    std::lock_guard<std::mutex> Guard(State.Lock);
    if (const TappedGraph *T = find(Exec))
      Flags = T->Flags;
  }
  note(Exec, G, Flags);
}

//===----------------------------------------------------------------------===//
// Changes of executable graphs
//===----------------------------------------------------------------------===//

void TappedGraphs::change(CUgraphExec Exec, CUgraphNode N, GraphChange Change,
                          void *Closure) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  TappedGraph *T = find(Exec);
  if (T && !attempt([&] {
        CUgraphNode Copy = T->Copy ? findInClone(*Driver, N, T->Copy) : nullptr;
        if (Copy && Change && Change(*this, *T, Copy, Closure))
          reread(*T);
        else
          T->Obstacle = "launched by an executable graph after a change that "
                        "is not supported";
      }))
    erase(Exec);
}

bool TappedGraphs::changeKernel(CUgraphNode N, const KernelNodeParams &P) {
  CUkernelNodeParams New;
  auto I = Handles.find(P.Func);
  const void *Old = kernelOf(*Driver, N, New);
  if (!Old || I == Handles.end())
    return false;
  if (Old != I->second) {
    // The new handle is of the same kind, function or kernel, as the old one.
    void *Handle = const_cast<void *>(I->second);
    (New.Function ? *reinterpret_cast<void **>(&New.Function) : New.Kernel) =
        Handle;
  }
  New.GridX = P.Grid.X;
  New.GridY = P.Grid.Y;
  New.GridZ = P.Grid.Z;
  New.BlockX = P.Block.X;
  New.BlockY = P.Block.Y;
  New.BlockZ = P.Block.Z;
  New.DynamicShared = P.DynamicShared;
  New.Args = P.Args;
  New.Extra = P.Extra;
  return !Driver->GraphKernelNodeSetParams(N, &New);
}

/// One side of a copy without arrays.
static CUmemcpySide sideOf(const CudaPitchedPtr &P, const CudaPos &Pos,
                           bool IsHost, bool IsDevice) {
  CUmemcpySide S = {};
  S.XInBytes = Pos.X;
  S.Y = Pos.Y;
  S.Z = Pos.Z;
  S.MemoryType = IsHost ? 1 : IsDevice ? 2 : 4;
  S.Host = P.Ptr;
  S.Device = reinterpret_cast<CUdeviceptr>(P.Ptr);
  S.Pitch = P.Pitch;
  S.Height = P.YSize;
  return S;
}

bool TappedGraphs::changeCopy(CUgraphNode N, const CudaMemcpy3DParms &P) {
  // Positions in arrays are in elements, whose size only the array knows.
  if (P.SrcArray || P.DstArray)
    return false;
  bool IsDefault = P.Kind == cudaMemcpyDefault;
  bool FromHost =
      P.Kind == cudaMemcpyHostToHost || P.Kind == cudaMemcpyHostToDevice;
  bool ToHost =
      P.Kind == cudaMemcpyHostToHost || P.Kind == cudaMemcpyDeviceToHost;
  CUmemcpy3D New = {};
  New.From = sideOf(P.Src, P.SrcPos, FromHost, !FromHost && !IsDefault);
  New.To = sideOf(P.Dst, P.DstPos, ToHost, !ToHost && !IsDefault);
  New.WidthInBytes = P.Extent.Width;
  New.Height = P.Extent.Height;
  New.Depth = P.Extent.Depth;
  return !Driver->GraphMemcpyNodeSetParams(N, &New);
}

bool TappedGraphs::changeSet(CUgraphNode N, const MemsetNodeParams &P) {
  CUmemsetNodeParams New = {reinterpret_cast<CUdeviceptr>(P.Dst),
                            P.Pitch,
                            P.Value,
                            P.ElementSize,
                            P.Width,
                            P.Height};
  return !Driver->GraphMemsetNodeSetParams(N, &New);
}

bool TappedGraphs::changeHost(CUgraphNode N, const CudaHostNodeParams &P) {
  CUhostNodeParams New = {P.Fn, P.UserData};
  return !Driver->GraphHostNodeSetParams(N, &New);
}
