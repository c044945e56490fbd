//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that graphs launch. An executable graph cannot be read, so a copy of
/// the graph that it was made of follows its changes. A launch with a kernel
/// that may be recorded becomes launches of parts, one after the other: such a
/// kernel is a part of its own, and what lies between two of them is another.
///
//===----------------------------------------------------------------------===//

#include "DriverTap.h"
#include "Shortage.h"
#include "TapSession.h"

#include <algorithm>
#include <map>

using namespace mneme;

namespace {
// As cuda.h has them.
enum NodeType : int {
  NodeKernel = 0,
  NodeGraph = 4,
  NodeMemAlloc = 10,
  NodeMemFree = 11,
  NodeConditional = 13,
};
constexpr unsigned long long FlagDeviceLaunch = 4;
constexpr int AttributeClusterDim = 4, AttributeCooperative = 2;
} // namespace

//===----------------------------------------------------------------------===//
// Reading graphs
//===----------------------------------------------------------------------===//

using Nodes = std::vector<CUgraphNode>;

/// The edges of a graph, or with null arrays their number. Drivers before CUDA
/// 12.3 have edges without data.
static CUresult readEdges(const CudaDriver &D, CUgraph G, CUgraphNode *From,
                          CUgraphNode *To, uint64_t *Data, size_t *Count) {
  return D.GraphGetEdges ? D.GraphGetEdges(G, From, To, Data, Count)
                         : D.GraphGetPlainEdges(G, From, To, Count);
}

/// \p Sorted gets the nodes of a graph, behind those that they depend on.
/// \returns false where the driver does not tell. May throw.
static bool sortNodes(const CudaDriver &D, CUgraph G, Nodes &Sorted) {
  size_t Count = 0, NumEdges = 0;
  if (!G || D.GraphGetNodes(G, nullptr, &Count) ||
      readEdges(D, G, nullptr, nullptr, nullptr, &NumEdges))
    return false;
  Nodes All(Count), From(NumEdges), To(NumEdges);
  std::vector<uint64_t> EdgeData(NumEdges);
  if ((Count && D.GraphGetNodes(G, All.data(), &Count)) ||
      (NumEdges &&
       readEdges(D, G, From.data(), To.data(), EdgeData.data(), &NumEdges)))
    return false;
  std::map<CUgraphNode, size_t> Open; // On how many nodes each still waits.
  std::multimap<CUgraphNode, CUgraphNode> Next;
  for (size_t I = 0; I != NumEdges; ++I) {
    ++Open[To[I]];
    Next.emplace(From[I], To[I]);
  }
  Sorted.clear();
  std::copy_if(All.begin(), All.end(), std::back_inserter(Sorted),
               [&](CUgraphNode N) { return !Open.count(N); });
  for (size_t I = 0; I != Sorted.size(); ++I)
    for (auto [N, End] = Next.equal_range(Sorted[I]); N != End; ++N)
      if (!--Open[N->second])
        Sorted.push_back(N->second);
  return Sorted.size() == All.size();
}

/// The same; empty where the driver does not tell. May throw.
static Nodes sortedNodes(const CudaDriver &D, CUgraph G) {
  Nodes Sorted;
  return sortNodes(D, G, Sorted) ? Sorted : Nodes();
}

static const char *const Unreadable = "launched by a graph that cannot be read";

static int typeOf(const CudaDriver &D, CUgraphNode N) {
  int Type = -1;
  D.GraphNodeGetType(N, &Type);
  return Type;
}

static CUgraph childOf(const CudaDriver &D, CUgraphNode N) {
  CUgraph Child = nullptr;
  return D.GraphChildGraphNodeGetGraph(N, &Child) ? nullptr : Child;
}

/// What a kernel node launches, as far as one kernel differs from another.
static const void *handleOf(const CudaDriver &D, CUgraphNode N,
                            CUkernelNodeParams &P) {
  P = {};
  if (D.GraphKernelNodeGetParams(N, &P))
    return nullptr;
  return P.Function ? reinterpret_cast<const void *>(P.Function) : P.Kernel;
}

/// \p Original in the copy \p Clone or in its child graphs.
static CUgraphNode findInClone(const CudaDriver &D, CUgraphNode Original,
                               CUgraph Clone) {
  CUgraphNode Found = nullptr;
  if (!D.GraphNodeFindInClone(&Found, Original, Clone) && Found)
    return Found;
  for (CUgraphNode N : sortedNodes(D, Clone))
    if (typeOf(D, N) == NodeGraph)
      if (CUgraph Child = childOf(D, N))
        if (CUgraphNode Inner = findInClone(D, Original, Child))
          return Inner;
  return nullptr;
}

/// Whether \p Set has \p N or a node of its child graph. May throw.
static bool holdsOneOf(const CudaDriver &D, CUgraphNode N,
                       const std::set<CUgraphNode> &Set) {
  if (Set.count(N))
    return true;
  if (Set.empty() || typeOf(D, N) != NodeGraph)
    return false;
  Nodes Inner = sortedNodes(D, childOf(D, N));
  return std::any_of(Inner.begin(), Inner.end(),
                     [&](CUgraphNode I) { return holdsOneOf(D, I, Set); });
}

/// Notes the kernels of a graph and of its child graphs, and what keeps it from
/// being launched in parts. May throw.
void TapSession::readGraph(TappedGraph &T, CUgraph G) {
  Nodes All;
  if (!sortNodes(*Driver, G, All))
    T.Obstacle = Unreadable;
  for (CUgraphNode N : All) {
    if (T.Disabled.count(N))
      continue;
    switch (typeOf(*Driver, N)) {
    case NodeKernel:
      readKernel(T, N);
      break;
    case NodeGraph:
      readGraph(T, childOf(*Driver, N));
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

void TapSession::readKernel(TappedGraph &T, CUgraphNode N) {
  CUkernelNodeParams P;
  auto I = GraphKernels.find(handleOf(*Driver, N, P));
  if (I == GraphKernels.end() || !I->second.Goal->Selected) {
    ++T.Others[I == GraphKernels.end() ? &Unknown : I->second.Goal];
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
  if (!Driver->GraphKernelNodeGetAttribute(N, AttributeCooperative, Value))
    K.Shape.Cooperative = Value[0];
  if (!Driver->GraphKernelNodeGetAttribute(N, AttributeClusterDim, Value) &&
      (Value[0] > 1 || Value[1] > 1 || Value[2] > 1))
    K.Obstacle = "launched with clusters of blocks";
}

/// Notes what is launched anew. May throw.
void TapSession::rereadGraph(TappedGraph &T, CUgraph G) {
  T.Kernels.clear();
  T.Others.clear();
  readGraph(T, G);
}

//===----------------------------------------------------------------------===//
// What the application makes
//===----------------------------------------------------------------------===//

void TapSession::noteKernelNode(const CudaRuntime &R, CUgraphNode N,
                                const void *Stub) {
  if (Off)
    return;
  Target &T = targetOf({R, Stub, {}, nullptr, nullptr, nullptr});
  std::lock_guard<std::mutex> Guard(Lock);
  attempt([&] {
    if (!loadDriver() || !Driver->GraphKernelNodeGetParams)
      return;
    CUkernelNodeParams P;
    if (const void *Handle = handleOf(*Driver, N, P)) {
      GraphKernels[Handle] = {Stub, &T, currentContext()};
      KernelHandles[Stub] = Handle;
    }
  });
}

/// A launch in \p S has become a node, if that is captured.
void TapSession::noteCaptured(const Launch &L) {
  int Status = 0;
  unsigned long long Id;
  CUgraph G;
  const CUgraphNode *Last = nullptr;
  size_t Count = 0;
  if (!Driver->StreamGetCaptureInfo ||
      Driver->StreamGetCaptureInfo(L.Stream, &Status, &Id, &G, &Last, &Count))
    return;
  if (Status == 1 && Count == 1) // CU_STREAM_CAPTURE_STATUS_ACTIVE
    noteKernelNode(L.Runtime, *Last, L.Stub);
}

void TapSession::noteGraph(CUgraphExec Exec, CUgraph G,
                           unsigned long long Flags) {
  if (Off)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  forgetCopy(Exec);
  if (!attempt([&] {
        if (!loadDriver() || !Driver->GraphClone)
          return;
        TappedGraph &T = TappedGraphs[Exec];
        T = {};
        T.Flags = Flags;
        T.Owner = currentContext();
        readGraph(T, G);
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
          rereadGraph(T, T.Copy);
        }
      }))
    TappedGraphs.erase(Exec);
}

/// With the lock.
void TapSession::forgetCopy(CUgraphExec Exec) {
  auto I = TappedGraphs.find(Exec);
  if (I == TappedGraphs.end())
    return;
  if (I->second.Copy)
    Driver->GraphDestroy(I->second.Copy);
  TappedGraphs.erase(I);
}

void TapSession::forgetGraph(CUgraphExec Exec) {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  forgetCopy(Exec);
}

/// With the lock: forgets what goes with a context.
void TapSession::forgetGraphs(CUcontext Gone) {
  for (auto I = TappedGraphs.begin(); I != TappedGraphs.end();) {
    CUgraphExec Exec = I->first;
    bool IsGone = I++->second.Owner == Gone;
    if (IsGone)
      forgetCopy(Exec);
  }
  for (auto I = KernelHandles.begin(); I != KernelHandles.end();)
    I = GraphKernels.at(I->second).Owner == Gone ? KernelHandles.erase(I)
                                                 : std::next(I);
  for (auto I = GraphKernels.begin(); I != GraphKernels.end();)
    I = I->second.Owner == Gone ? GraphKernels.erase(I) : std::next(I);
}

void TapSession::updateGraph(CUgraphExec Exec, CUgraph G) {
  unsigned long long Flags = 0;
  if (Forked)
    return;
  {
    std::lock_guard<std::mutex> Guard(Lock);
    auto I = TappedGraphs.find(Exec);
    if (I != TappedGraphs.end())
      Flags = I->second.Flags;
  }
  noteGraph(Exec, G, Flags);
}

void TapSession::changeNode(CUgraphExec Exec, CUgraphNode N, GraphChange Change,
                            void *Closure) {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = TappedGraphs.find(Exec);
  if (I == TappedGraphs.end())
    return;
  TappedGraph &T = I->second;
  bool IsDone = false;
  if (!attempt([&] {
        CUgraphNode Copy = T.Copy ? findInClone(*Driver, N, T.Copy) : nullptr;
        IsDone = Copy && Change && Change(*this, T, Copy, Closure);
        if (!IsDone)
          T.Obstacle = "launched by an executable graph after a change that "
                       "is not supported";
        if (IsDone)
          rereadGraph(T, T.Copy);
      }))
    forgetCopy(Exec);
}

bool TapSession::changeKernel(TappedGraph &, CUgraphNode N,
                              const CudaKernelNodeParams &P) {
  CUkernelNodeParams New;
  auto I = KernelHandles.find(P.Func);
  const void *Old = handleOf(*Driver, N, New);
  if (!Old || I == KernelHandles.end())
    return false;
  if (Old != I->second) {
    // Which of the two it is, the old one has said.
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

bool TapSession::changeCopy(CUgraphNode N, const CudaMemcpy3DParms &P) {
  // Their positions are in elements, whose size only the array knows.
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

bool TapSession::changeSet(CUgraphNode N, const CudaMemsetParams &P) {
  CUmemsetNodeParams New = {reinterpret_cast<CUdeviceptr>(P.Dst),
                            P.Pitch,
                            P.Value,
                            P.ElementSize,
                            P.Width,
                            P.Height};
  return !Driver->GraphMemsetNodeSetParams(N, &New);
}

bool TapSession::changeHost(CUgraphNode N, const CudaHostNodeParams &P) {
  CUhostNodeParams New = {P.Fn, P.UserData};
  return !Driver->GraphHostNodeSetParams(N, &New);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Describes the launch that a kernel node is.
Launch TapSession::launchOf(const CudaRuntime &R, const GraphKernel &K,
                            CUstream S) const {
  const char *Obstacle = K.Obstacle;
  if (K.Context && K.Context != currentContext())
    Obstacle = "launched by a graph for several devices";
  return {R, K.Stub, K.Shape, S, K.Args, Obstacle};
}

/// Whether a launch of a kernel may be recorded now. May throw.
bool TapSession::mayRecord(const CudaRuntime &R, const GraphKernel &K,
                           CUstream S) {
  Target &T = loadTarget(*K.Goal, launchOf(R, K, S));
  return T.Problem.empty() && Records.mayWant(T.K, K.Shape, K.Args);
}

/// Makes an executable graph of the nodes of \p G that are \p Kept.
std::string TapSession::makePart(CUgraph G, const std::vector<CUgraphNode> &All,
                                 const std::set<CUgraphNode> &Kept,
                                 GraphPart &P) {
  CUgraph Part = nullptr;
  CUresult E = Driver->GraphClone(&Part, G);
  for (CUgraphNode N : All) {
    CUgraphNode Copy = nullptr;
    if (E || Kept.count(N))
      continue;
    E = Driver->GraphNodeFindInClone(&Copy, N, Part);
    if (!E)
      E = Driver->GraphDestroyNode(Copy);
  }
  if (!E)
    E = Driver->GraphInstantiate(&P.Exec, Part, 0);
  if (Part)
    Driver->GraphDestroy(Part);
  return E ? "launched by a graph that cannot be launched in parts: " +
                 Driver->describe(E)
           : "";
}

/// Adds the selected kernels of a node and, where that is one, of its child
/// graph. May throw.
void TapSession::listKernels(const TappedGraph &T, CUgraphNode N,
                             std::vector<CUgraphNode> &Kernels) const {
  if (T.Kernels.count(N))
    Kernels.push_back(N);
  if (typeOf(*Driver, N) == NodeGraph)
    for (CUgraphNode Inner : sortedNodes(*Driver, childOf(*Driver, N)))
      listKernels(T, Inner, Kernels);
}

/// Adds the parts of \p G to \p Parts: a wanted kernel is one by itself.
/// \returns why that cannot be done. May throw.
std::string TapSession::splitGraph(const TappedGraph &T,
                                   const std::set<CUgraphNode> &Wanted,
                                   CUgraph G, std::vector<GraphPart> &Parts) {
  Nodes All;
  if (!sortNodes(*Driver, G, All))
    return Unreadable;
  GraphPart Next;
  std::set<CUgraphNode> Kept;
  std::string Error;
  auto Flush = [&] {
    if (!Kept.empty() && Error.empty()) {
      Parts.push_back(std::move(Next));
      Error = makePart(G, All, Kept, Parts.back());
    }
    Next = {};
    Kept.clear();
  };
  for (CUgraphNode N : All) {
    // What depends on it still comes after what it depends on: parts run one
    // after the other.
    if (T.Disabled.count(N)) {
      Flush();
      continue;
    }
    Nodes Kernels;
    listKernels(T, N, Kernels);
    bool IsWanted = std::any_of(Kernels.begin(), Kernels.end(),
                                [&](CUgraphNode K) { return Wanted.count(K); });
    // A copy does not know which of its nodes are disabled.
    bool IsSplit = typeOf(*Driver, N) == NodeGraph &&
                   (IsWanted || holdsOneOf(*Driver, N, T.Disabled));
    if (IsWanted || IsSplit)
      Flush();
    if (IsSplit) {
      if (Error.empty())
        Error = splitGraph(T, Wanted, childOf(*Driver, N), Parts);
      continue;
    }
    Kept.insert(N);
    Next.Kernels.insert(Next.Kernels.end(), Kernels.begin(), Kernels.end());
    Next.IsWanted = IsWanted;
    if (IsWanted)
      Flush();
  }
  Flush();
  return Error;
}

/// Counts a kernel of which nothing is recorded now.
void TapSession::countKernel(const CudaRuntime &R, const GraphKernel &K,
                             CUstream S) {
  Launch L = launchOf(R, K, S);
  L.Obstacle = "launched by a graph";
  int Unused;
  launchSelected(*K.Goal, L, nullptr, nullptr, Unused);
}

int TapSession::launchParts(const CudaRuntime &R, const TappedGraph &T,
                            CUstream S, const std::vector<GraphPart> &Parts) {
  int Result = 0;
  for (const GraphPart &P : Parts) {
    auto Run = [&] { return Driver->GraphLaunch(P.Exec, S); };
    bool IsDone = false;
    for (CUgraphNode N : P.Kernels)
      if (const GraphKernel &K = T.Kernels.at(N); P.IsWanted)
        IsDone = launchSelected(
            *K.Goal, launchOf(R, K, S),
            [](void *F) { return (*static_cast<decltype(Run) *>(F))(); }, &Run,
            Result);
      else
        countKernel(R, K, S);
    if (!IsDone) {
      Gate::Pass Pass(Calls, lineOf(AnyStream), /*Closed=*/true);
      Result = Run();
    }
    if (Result)
      break;
  }
  return Result;
}

/// Launches \p T in parts, if one of its kernels may be recorded. \returns
/// false when nothing was launched; its kernels are counted in any case.
bool TapSession::launchSplit(const CudaRuntime &R, TappedGraph &T, CUstream S,
                             int &Result) {
  std::vector<GraphPart> Parts;
  std::string Error = T.Obstacle;
  if (Error.empty() && !attempt([&] {
        std::set<CUgraphNode> Wanted;
        for (const auto &[N, K] : T.Kernels)
          if (mayRecord(R, K, S))
            Wanted.insert(N);
        if (!Wanted.empty())
          Error = splitGraph(T, Wanted, T.Copy, Parts);
      }))
    Error = outOfMemory();
  bool IsSplit = Error.empty() && !Parts.empty();
  if (IsSplit)
    Result = launchParts(R, T, S, Parts);
  else
    for (const auto &[N, K] : T.Kernels)
      if (Error.empty())
        countKernel(R, K, S);
      else
        Records.countUnknown(K.Goal->Name, Error);
  // Those that still run are destroyed when they are done.
  for (const GraphPart &P : Parts)
    if (P.Exec)
      Driver->GraphExecDestroy(P.Exec);
  return IsSplit;
}

int TapSession::launchGraph(const CudaRuntime &R, CUgraphExec Exec, CUstream S,
                            Call Original, void *Closure) {
  std::unique_lock<std::mutex> Guard(Lock, std::defer_lock);
  auto Forward = [&] {
    Gate::Pass Pass(Calls, lineOf(AnyStream), /*Closed=*/true);
    if (Guard)
      Guard.unlock();
    return Original(Closure);
  };
  if (!Off)
    Guard.lock();
  if (Off)
    return Forward();
  auto I = TappedGraphs.find(Exec);
  if (I == TappedGraphs.end()) {
    int E = Forward();
    if (!E)
      countForeignLaunch(ForeignLaunch::AsGraph);
    return E;
  }
  // It becomes a node of another graph.
  if (Captures && isCapturing(S))
    return Forward();
  TappedGraph &T = I->second;
  for (auto [Goal, Count] : T.Others)
    Goal->Launches.fetch_add(Count, std::memory_order_relaxed);
  if (T.Kernels.empty() && T.Obstacle == Unreadable)
    Records.countSkipped(Unreadable, 1);
  int Result;
  return !T.Kernels.empty() && launchSplit(R, T, S, Result) ? Result
                                                            : Forward();
}
