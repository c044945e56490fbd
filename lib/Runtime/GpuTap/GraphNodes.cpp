//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphNodes.h"

#include <algorithm>
#include <iterator>
#include <map>

using namespace mneme;

/// The edges of a graph, or with null arrays their number. Drivers before CUDA
/// 12.3 have edges without data.
static CUresult readEdges(const CudaDriver &D, CUgraph G, CUgraphNode *From,
                          CUgraphNode *To, uint64_t *Data, size_t *Count) {
  return D.GraphGetEdges ? D.GraphGetEdges(G, From, To, Data, Count)
                         : D.GraphGetPlainEdges(G, From, To, Count);
}

bool mneme::sortNodes(const CudaDriver &D, CUgraph G, GraphNodes &Sorted) {
  size_t Count = 0, NumEdges = 0;
  if (!G || D.GraphGetNodes(G, nullptr, &Count) ||
      readEdges(D, G, nullptr, nullptr, nullptr, &NumEdges))
    return false;
  GraphNodes All(Count), From(NumEdges), To(NumEdges);
  std::vector<uint64_t> EdgeData(NumEdges);
  if ((Count && D.GraphGetNodes(G, All.data(), &Count)) ||
      (NumEdges &&
       readEdges(D, G, From.data(), To.data(), EdgeData.data(), &NumEdges)))
    return false;
  std::map<CUgraphNode, size_t> Open; // The edges to nodes not sorted yet.
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

GraphNodes mneme::sortedNodes(const CudaDriver &D, CUgraph G) {
  GraphNodes Sorted;
  return sortNodes(D, G, Sorted) ? Sorted : GraphNodes();
}

int mneme::typeOf(const CudaDriver &D, CUgraphNode N) {
  int Type = -1;
  D.GraphNodeGetType(N, &Type);
  return Type;
}

CUgraph mneme::childOf(const CudaDriver &D, CUgraphNode N) {
  CUgraph Child = nullptr;
  return D.GraphChildGraphNodeGetGraph(N, &Child) ? nullptr : Child;
}

const void *mneme::kernelOf(const CudaDriver &D, CUgraphNode N,
                            CUkernelNodeParams &P) {
  P = {};
  if (D.GraphKernelNodeGetParams(N, &P))
    return nullptr;
  return P.Function ? reinterpret_cast<const void *>(P.Function) : P.Kernel;
}

CUgraphNode mneme::findInClone(const CudaDriver &D, CUgraphNode Original,
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

bool mneme::holdsOneOf(const CudaDriver &D, CUgraphNode N,
                       const std::set<CUgraphNode> &Set) {
  if (Set.count(N))
    return true;
  if (Set.empty() || typeOf(D, N) != NodeGraph)
    return false;
  GraphNodes Inner = sortedNodes(D, childOf(D, N));
  return std::any_of(Inner.begin(), Inner.end(),
                     [&](CUgraphNode I) { return holdsOneOf(D, I, Set); });
}
