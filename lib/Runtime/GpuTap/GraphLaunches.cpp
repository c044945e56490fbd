//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphLaunches.h"
#include "Shortage.h"

#include <algorithm>
#include <utility>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Makes an executable graph of the nodes of \p G that are \p Kept.
std::string GraphLaunches::makePart(CUgraph G, const GraphNodes &All,
                                    const std::set<CUgraphNode> &Kept,
                                    Part &P) {
  CUgraph Nodes = nullptr;
  CUresult E = Driver->GraphClone(&Nodes, G);
  for (CUgraphNode N : All) {
    CUgraphNode Copy = nullptr;
    if (E || Kept.count(N))
      continue;
    E = Driver->GraphNodeFindInClone(&Copy, N, Nodes);
    if (!E)
      E = Driver->GraphDestroyNode(Copy);
  }
  if (!E)
    E = Driver->GraphInstantiate(&P.Exec, Nodes, 0);
  if (Nodes)
    Driver->GraphDestroy(Nodes);
  return E ? "launched by a graph that cannot be launched in parts: " +
                 Driver->describe(E)
           : "";
}

/// Appends the selected kernels of a node and of its child graph, if any. May
/// throw.
void GraphLaunches::listKernels(const TappedGraph &T, CUgraphNode N,
                                GraphNodes &Kernels) const {
  if (T.Kernels.count(N))
    Kernels.push_back(N);
  if (typeOf(*Driver, N) == NodeGraph)
    for (CUgraphNode Inner : sortedNodes(*Driver, childOf(*Driver, N)))
      listKernels(T, Inner, Kernels);
}

/// Appends the parts of \p G to \p Parts. \returns an empty string, or why that
/// cannot be done. May throw.
std::string GraphLaunches::split(const TappedGraph &T,
                                 const std::set<CUgraphNode> &Wanted, CUgraph G,
                                 std::vector<Part> &Parts) {
  GraphNodes All;
  if (!sortNodes(*Driver, G, All))
    return UnreadableGraph;
  Part Next;
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
    // The nodes before and after a disabled node are in different parts, so
    // that they keep their order.
    if (T.Disabled.count(N)) {
      Flush();
      continue;
    }
    GraphNodes Kernels;
    listKernels(T, N, Kernels);
    bool IsWanted = std::any_of(Kernels.begin(), Kernels.end(),
                                [&](CUgraphNode K) { return Wanted.count(K); });
    // A copy of a child graph would have its disabled nodes enabled.
    bool IsSplit = typeOf(*Driver, N) == NodeGraph &&
                   (IsWanted || holdsOneOf(*Driver, N, T.Disabled));
    if (IsWanted || IsSplit)
      Flush();
    if (IsSplit) {
      if (Error.empty())
        Error = split(T, Wanted, childOf(*Driver, N), Parts);
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

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Describes the launch that a kernel node makes.
Launch GraphLaunches::launchOf(const CudaRuntime &R, const GraphKernel &K,
                               CUstream S) const {
  const char *Obstacle = K.Obstacle;
  if (K.Context && K.Context != Driver.currentContext())
    Obstacle = "launched by a graph for several devices";
  return {{R, K.Stub, K.Shape, S, K.Args}, Obstacle};
}

/// Counts a kernel that is launched together with others.
void GraphLaunches::countKernel(const CudaRuntime &R, const GraphKernel &K,
                                CUstream S) {
  Launch L = launchOf(R, K, S);
  L.Obstacle = "launched by a graph";
  Selected.count(*K.Goal, L);
}

int GraphLaunches::launchParts(const CudaRuntime &R, const TappedGraph &T,
                               CUstream S, const std::vector<Part> &Parts) {
  int Result = 0;
  for (const Part &P : Parts) {
    auto Run = [&] { return Driver->GraphLaunch(P.Exec, S); };
    bool IsDone = false;
    for (CUgraphNode N : P.Kernels)
      if (const GraphKernel &K = T.Kernels.at(N); P.IsWanted)
        IsDone = Selected.launch(*K.Goal, launchOf(R, K, S), Run, Result);
      else
        countKernel(R, K, S);
    if (!IsDone) {
      StreamGate::Pass Pass(State.Calls, AnyStream, /*Closed=*/true);
      Result = Run();
    }
    if (Result)
      break;
  }
  return Result;
}

/// Launches \p T in parts, if one of its kernels may be recorded. \returns
/// false when nothing was launched; its kernels are counted in any case.
bool GraphLaunches::launchSplit(const CudaRuntime &R, TappedGraph &T,
                                CUstream S, int &Result) {
  std::vector<Part> Parts;
  std::string Error = T.Obstacle;
  if (Error.empty() && !attempt([&] {
        std::set<CUgraphNode> Wanted;
        for (const auto &[N, K] : T.Kernels)
          if (Selected.mayRecord(*K.Goal, launchOf(R, K, S)))
            Wanted.insert(N);
        if (!Wanted.empty())
          Error = split(T, Wanted, T.Copy, Parts);
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
  // CUDA's driver destroys parts that still run once they are done.
  if (ForHip && IsSplit)
    Driver->StreamSynchronize(S);
  for (const Part &P : Parts)
    if (P.Exec)
      Driver->GraphExecDestroy(P.Exec);
  return IsSplit;
}

int GraphLaunches::launch(const CudaRuntime &R, CUgraphExec Exec, CUstream S,
                          OriginalCall Original) {
  std::unique_lock<std::mutex> Guard(State.Lock, std::defer_lock);
  auto Forward = [&] {
    StreamGate::Pass Pass(State.Calls, AnyStream, /*Closed=*/true);
    if (Guard)
      Guard.unlock();
    return Original();
  };
  if (!State.Off)
    Guard.lock();
  if (State.Off)
    return Forward();
  TappedGraph *T = Graphs.find(Exec);
  if (!T) {
    int E = Forward();
    if (!E)
      countForeign();
    return E;
  }
  // A captured launch becomes a node of another graph.
  if (Captured.any() && Driver.isCapturing(S))
    return Forward();
  for (auto [Goal, Count] : T->Others)
    Goal->Launches.fetch_add(Count, std::memory_order_relaxed);
  if (T->Kernels.empty() && T->Obstacle == UnreadableGraph)
    Records.countSkipped(UnreadableGraph, 1);
  int Result;
  return !T->Kernels.empty() && launchSplit(R, *T, S, Result) ? Result
                                                              : Forward();
}
