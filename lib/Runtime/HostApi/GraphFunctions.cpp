//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Graphs of the CUDA runtime on the host device: building, changing and
/// launching them. Functions whose parameters differ between CUDA 12 and 13,
/// where edges have data, have the parameters of CUDA 13.
///
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>
#include <set>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

namespace mneme {
/// An executable graph: a copy of the graph, in the order of its dependencies.
struct CudaGraphExec {
  unsigned long long Flags;
  std::shared_ptr<CudaGraph> Graph;
};
} // namespace mneme

namespace {
/// All valid handles: a stale handle is an error and must not crash.
struct GraphHandles {
  std::recursive_mutex Lock;
  std::set<const CudaGraph *> Graphs; ///< Including child graphs.
  std::map<CudaGraph *, std::shared_ptr<CudaGraph>> Given;
  std::map<CudaGraphExec *, std::shared_ptr<CudaGraphExec>> Execs;
};
} // namespace

// Never destroyed, because applications may use it while they exit.
static GraphHandles &handles() {
  alignas(GraphHandles) static char Storage[sizeof(GraphHandles)];
  static auto &H = *new (Storage) GraphHandles;
  return H;
}

std::recursive_mutex &mneme::graphLock() { return handles().Lock; }

CudaGraph::CudaGraph() {
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  handles().Graphs.insert(this);
}

CudaGraph::~CudaGraph() {
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  handles().Graphs.erase(this);
}

void mneme::giveGraph(std::shared_ptr<CudaGraph> Graph) {
  CudaGraph *Handle = Graph.get();
  handles().Given[Handle] = std::move(Graph);
}

/// Returns the descendant of \p G with this handle, or null.
static std::shared_ptr<CudaGraph> findChild(const CudaGraph &G,
                                            const CudaGraph *Handle) {
  for (const auto &N : G.Nodes) {
    if (!N->Work.Child)
      continue;
    if (N->Work.Child.get() == Handle)
      return N->Work.Child;
    if (auto Found = findChild(*N->Work.Child, Handle))
      return Found;
  }
  return nullptr;
}

std::shared_ptr<CudaGraph> mneme::findGraph(CudaGraph *Handle) {
  auto &Given = handles().Given;
  auto I = Given.find(Handle);
  if (I != Given.end())
    return I->second;
  for (const auto &[Key, G] : Given)
    if (auto Found = findChild(*G, Handle))
      return Found;
  return nullptr;
}

bool mneme::isNode(const CudaGraphNode *Node) {
  if (!Node)
    return false;
  for (const CudaGraph *G : handles().Graphs)
    for (const auto &N : G->Nodes)
      if (N.get() == Node)
        return true;
  return false;
}

bool mneme::areNodesOf(const CudaGraph &G, CudaGraphNode *const *All,
                       size_t Count) {
  // Search backwards: it usually is the newest node.
  return std::all_of(All, All + Count, [&](CudaGraphNode *Node) {
    return std::any_of(G.Nodes.rbegin(), G.Nodes.rend(),
                       [&](const auto &N) { return N.get() == Node; });
  });
}

static std::shared_ptr<CudaGraphExec> findExec(CudaGraphExec *Handle) {
  auto I = handles().Execs.find(Handle);
  return I == handles().Execs.end() ? nullptr : I->second;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

CudaGraphNode *mneme::addNode(CudaGraph &G, GraphWork Work,
                              std::vector<CudaGraphNode *> Dependencies) {
  auto N = std::make_unique<CudaGraphNode>();
  N->Owner = &G;
  N->Work = std::move(Work);
  N->Dependencies = std::move(Dependencies);
  G.Nodes.push_back(std::move(N));
  return G.Nodes.back().get();
}

static GraphWork copyWork(const GraphWork &W) {
  GraphWork Copy = W;
  if (W.Child)
    Copy.Child = copyGraph(*W.Child);
  return Copy;
}

std::shared_ptr<CudaGraph> mneme::copyGraph(const CudaGraph &G) {
  auto Copy = std::make_shared<CudaGraph>();
  std::map<const CudaGraphNode *, CudaGraphNode *> CopyOf;
  for (const auto &N : G.Nodes) {
    CudaGraphNode *New = addNode(*Copy, copyWork(N->Work), N->Dependencies);
    New->Original = N.get();
    CopyOf[N.get()] = New;
  }
  for (const auto &N : Copy->Nodes)
    for (CudaGraphNode *&D : N->Dependencies)
      D = CopyOf[D];
  return Copy;
}

/// Returns the copy of \p Original in \p G or its descendants.
static CudaGraphNode *findCopy(const CudaGraph &G,
                               const CudaGraphNode *Original) {
  for (const auto &N : G.Nodes) {
    if (N->Original == Original)
      return N.get();
    if (N->Work.Child)
      if (CudaGraphNode *Found = findCopy(*N->Work.Child, Original))
        return Found;
  }
  return nullptr;
}

/// Sorts nodes topologically. \returns false if there is a cycle.
static bool sortNodes(CudaGraph &G) {
  std::vector<std::unique_ptr<CudaGraphNode>> Sorted;
  std::set<const CudaGraphNode *> Done;
  Sorted.reserve(G.Nodes.size());
  while (Sorted.size() != G.Nodes.size()) {
    size_t Before = Sorted.size();
    for (auto &N : G.Nodes)
      if (N && std::all_of(N->Dependencies.begin(), N->Dependencies.end(),
                           [&](auto *D) { return Done.count(D); })) {
        Done.insert(N.get());
        Sorted.push_back(std::move(N));
      }
    if (Sorted.size() == Before)
      return false;
  }
  G.Nodes = std::move(Sorted);
  for (const auto &N : G.Nodes)
    if (N->Work.Child && !sortNodes(*N->Work.Child))
      return false;
  return true;
}

template <typename Fn>
static int add(CudaGraphNode **Node, CudaGraph *Handle,
               CudaGraphNode *const *Dependencies, size_t Count, Fn Describe) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraph> G = findGraph(Handle);
    if (!Node || !G || (Count && !Dependencies) ||
        !areNodesOf(*G, Dependencies, Count))
      return cudaErrorInvalidValue;
    GraphWork W;
    if (CudaError E = Describe(W))
      return E;
    *Node = addNode(*G, std::move(W), {Dependencies, Dependencies + Count});
    return cudaSuccess;
  });
}

/// Calls Change(its work) for a node of type \p Type.
template <typename Fn>
static int withNode(CudaGraphNode *Node, int Type, Fn Change) {
  return withGraphs([&] {
    if (!isNode(Node) || Node->Work.Type != Type)
      return cudaErrorInvalidValue;
    return Change(Node->Work);
  });
}

template <typename Fn>
static int withExecNode(CudaGraphExec *Exec, CudaGraphNode *Node, int Type,
                        Fn Change) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraphExec> E = findExec(Exec);
    CudaGraphNode *N = E && Node ? findCopy(*E->Graph, Node) : nullptr;
    if (!N || (Type >= 0 && N->Work.Type != Type))
      return cudaErrorInvalidValue;
    return Change(N->Work);
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

MNEME_API rt_cudaGraphCreate(CudaGraph **G, unsigned Flags) {
  return withGraphs([&] {
    if (!G || Flags)
      return cudaErrorInvalidValue;
    auto New = std::make_shared<CudaGraph>();
    giveGraph(New);
    *G = New.get();
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphDestroy(CudaGraph *G) {
  return withGraphs([&] {
    return handles().Given.erase(G) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

MNEME_API rt_cudaGraphClone(CudaGraph **Clone, CudaGraph *Handle) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraph> G = findGraph(Handle);
    if (!Clone || !G)
      return cudaErrorInvalidValue;
    std::shared_ptr<CudaGraph> Copy = copyGraph(*G);
    *Clone = Copy.get();
    giveGraph(std::move(Copy));
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphNodeFindInClone(CudaGraphNode **Found,
                                      CudaGraphNode *Node, CudaGraph *Clone) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraph> G = findGraph(Clone);
    CudaGraphNode *N = G && Node ? findCopy(*G, Node) : nullptr;
    if (!Found || !N)
      return cudaErrorInvalidValue;
    *Found = N;
    return cudaSuccess;
  });
}

/// Returns a list in the way of CUDA's functions: at most *Count elements,
/// padded with null; if \p To is null, only the number of elements.
template <typename T>
static void giveList(const std::vector<T> &All, T *To, size_t *Count) {
  if (To)
    for (size_t I = 0; I != *Count; ++I)
      To[I] = I < All.size() ? All[I] : T();
  if (!To || *Count > All.size())
    *Count = All.size();
}

template <typename Fn>
static int giveNodes(CudaGraph *Handle, CudaGraphNode **Nodes, size_t *Count,
                     Fn Wanted) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraph> G = findGraph(Handle);
    if (!G || !Count)
      return cudaErrorInvalidValue;
    std::vector<CudaGraphNode *> All;
    for (const auto &N : G->Nodes)
      if (Wanted(*N))
        All.push_back(N.get());
    giveList(All, Nodes, Count);
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphGetNodes(CudaGraph *G, CudaGraphNode **Nodes,
                               size_t *Count) {
  return giveNodes(G, Nodes, Count, [](const auto &) { return true; });
}

MNEME_API rt_cudaGraphGetRootNodes(CudaGraph *G, CudaGraphNode **Nodes,
                                   size_t *Count) {
  return giveNodes(G, Nodes, Count,
                   [](const auto &N) { return N.Dependencies.empty(); });
}

/// All edges are of the default kind: zeros.
static void giveEdgeData(uint64_t *Data, const size_t *Count) {
  if (Data)
    std::fill_n(Data, *Count, 0);
}

MNEME_API rt_cudaGraphGetEdges(CudaGraph *Handle, CudaGraphNode **From,
                               CudaGraphNode **To, uint64_t *Data,
                               size_t *Count) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraph> G = findGraph(Handle);
    if (!G || !Count || !From != !To)
      return cudaErrorInvalidValue;
    std::vector<CudaGraphNode *> Froms, Tos;
    for (const auto &N : G->Nodes)
      for (CudaGraphNode *D : N->Dependencies) {
        Froms.push_back(D);
        Tos.push_back(N.get());
      }
    size_t Room = *Count;
    giveList(Froms, From, Count);
    giveList(Tos, To, &Room);
    giveEdgeData(From ? Data : nullptr, Count);
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphNodeGetDependencies(CudaGraphNode *Node,
                                          CudaGraphNode **Nodes, uint64_t *Data,
                                          size_t *Count) {
  return withGraphs([&] {
    if (!isNode(Node) || !Count)
      return cudaErrorInvalidValue;
    giveList(Node->Dependencies, Nodes, Count);
    giveEdgeData(Nodes ? Data : nullptr, Count);
    return cudaSuccess;
  });
}

static bool dependsOn(const CudaGraphNode &N, const CudaGraphNode *On) {
  return std::count(N.Dependencies.begin(), N.Dependencies.end(), On);
}

MNEME_API rt_cudaGraphNodeGetDependentNodes(CudaGraphNode *Node,
                                            CudaGraphNode **Nodes,
                                            uint64_t *Data, size_t *Count) {
  return withGraphs([&] {
    if (!isNode(Node) || !Count)
      return cudaErrorInvalidValue;
    std::vector<CudaGraphNode *> All;
    for (const auto &N : Node->Owner->Nodes)
      if (dependsOn(*N, Node))
        All.push_back(N.get());
    giveList(All, Nodes, Count);
    giveEdgeData(Nodes ? Data : nullptr, Count);
    return cudaSuccess;
  });
}

template <typename Fn>
static int changeEdges(CudaGraph *G, CudaGraphNode *const *From,
                       CudaGraphNode *const *To, size_t Count, Fn Change) {
  return withGraphs([&] {
    if (!findGraph(G) || (Count && (!From || !To)) ||
        !areNodesOf(*G, From, Count) || !areNodesOf(*G, To, Count))
      return cudaErrorInvalidValue;
    for (size_t I = 0; I != Count; ++I)
      if (From[I] == To[I])
        return cudaErrorInvalidValue;
    for (size_t I = 0; I != Count; ++I)
      if (!Change(To[I]->Dependencies, From[I]))
        return cudaErrorInvalidValue;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphAddDependencies(CudaGraph *G, CudaGraphNode *const *From,
                                      CudaGraphNode *const *To, const void *,
                                      size_t Count) {
  return changeEdges(G, From, To, Count, [](auto &Nodes, CudaGraphNode *On) {
    if (std::count(Nodes.begin(), Nodes.end(), On))
      return false;
    Nodes.push_back(On);
    return true;
  });
}

MNEME_API rt_cudaGraphRemoveDependencies(CudaGraph *G,
                                         CudaGraphNode *const *From,
                                         CudaGraphNode *const *To, const void *,
                                         size_t Count) {
  return changeEdges(G, From, To, Count, [](auto &Nodes, CudaGraphNode *On) {
    auto I = std::find(Nodes.begin(), Nodes.end(), On);
    if (I == Nodes.end())
      return false;
    Nodes.erase(I);
    return true;
  });
}

MNEME_API rt_cudaGraphNodeGetType(CudaGraphNode *Node, int *Type) {
  return withGraphs([&] {
    if (!isNode(Node) || !Type)
      return cudaErrorInvalidValue;
    *Type = Node->Work.Type;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphDestroyNode(CudaGraphNode *Node) {
  return withGraphs([&] {
    if (!isNode(Node))
      return cudaErrorInvalidValue;
    auto &Nodes = Node->Owner->Nodes;
    for (const auto &N : Nodes) {
      auto &D = N->Dependencies;
      D.erase(std::remove(D.begin(), D.end(), Node), D.end());
    }
    Nodes.erase(std::find_if(Nodes.begin(), Nodes.end(),
                             [&](const auto &N) { return N.get() == Node; }));
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphDebugDotPrint(CudaGraph *Handle, const char *Path,
                                    unsigned) {
  static const char *const Types[] = {
      "kernel",     "memcpy",       "memset", "host", "graph",     "empty",
      "wait event", "event record", "",       "",     "mem alloc", "mem free"};
  return withGraphs([&] {
    std::shared_ptr<CudaGraph> G = findGraph(Handle);
    FILE *F = G && Path ? fopen(Path, "we") : nullptr;
    if (!F)
      return cudaErrorInvalidValue;
    fprintf(F, "digraph {\n");
    for (const auto &N : G->Nodes) {
      fprintf(F, "  \"%p\" [label=\"%s\"];\n", (void *)N.get(),
              Types[N->Work.Type]);
      for (CudaGraphNode *D : N->Dependencies)
        fprintf(F, "  \"%p\" -> \"%p\";\n", (void *)D, (void *)N.get());
    }
    fprintf(F, "}\n");
    return fclose(F) ? cudaErrorOperatingSystem : cudaSuccess;
  });
}

//===----------------------------------------------------------------------===//
// Nodes by type
//===----------------------------------------------------------------------===//

#define DEPENDENCIES                                                           \
  CudaGraphNode **Node, CudaGraph *G, CudaGraphNode *const *Dependencies,      \
      size_t Count
#define ADD(...)                                                               \
  return add(Node, G, Dependencies, Count,                                     \
             [&](GraphWork &W) -> CudaError { __VA_ARGS__; })

/// Defines the functions that add, read and change nodes of a type whose
/// parameters are a structure. FILL sets the work from the parameters, TELL the
/// parameters from the work.
#define NODE(Name, Params, FILL, TELL)                                         \
  static CudaError fill##Name(GraphWork &W, const Params *P) {                 \
    if (!P)                                                                    \
      return cudaErrorInvalidValue;                                            \
    FILL;                                                                      \
  }                                                                            \
  MNEME_API rt_cudaGraphAdd##Name##Node(DEPENDENCIES, const Params *P) {       \
    ADD(return fill##Name(W, P));                                              \
  }                                                                            \
  MNEME_API rt_cudaGraph##Name##NodeGetParams(CudaGraphNode *Node,             \
                                              Params *P) {                     \
    return withNode(Node, CudaGraphNode##Name, [&](GraphWork &W) {             \
      if (!P)                                                                  \
        return cudaErrorInvalidValue;                                          \
      TELL;                                                                    \
      return cudaSuccess;                                                      \
    });                                                                        \
  }                                                                            \
  MNEME_API rt_cudaGraph##Name##NodeSetParams(CudaGraphNode *Node,             \
                                              const Params *P) {               \
    return withNode(Node, CudaGraphNode##Name,                                 \
                    [&](GraphWork &W) { return fill##Name(W, P); });           \
  }                                                                            \
  MNEME_API rt_cudaGraphExec##Name##NodeSetParams(                             \
      CudaGraphExec *Exec, CudaGraphNode *Node, const Params *P) {             \
    return withExecNode(Exec, Node, CudaGraphNode##Name,                       \
                        [&](GraphWork &W) { return fill##Name(W, P); });       \
  }

/// Returns the array that cudaGraphKernelNodeGetParams yields, which is valid
/// until the node changes.
static void **pointersTo(GraphWork &W) {
  W.Pointers.clear();
  for (std::vector<char> &A : W.Args)
    W.Pointers.push_back(A.data());
  return W.Pointers.data();
}

NODE(Kernel, CudaKernelNodeParams, return describeKernel(W, P),
     (*P = {W.Stub, W.Shape.Grid, W.Shape.Block,
            unsigned(W.Shape.DynamicShared), pointersTo(W), nullptr}))
NODE(Memcpy, CudaMemcpy3DParms, describeCopy(W, *P);
     return cudaSuccess, (*P = W.Copy))
NODE(Memset, CudaMemsetParams, describeSet(W, *P);
     return cudaSuccess, (*P = W.Set))
NODE(Host, CudaHostNodeParams, return describeHost(W, *P), (*P = W.Host))
#undef NODE

MNEME_API rt_cudaGraphAddEmptyNode(DEPENDENCIES) {
  ADD((void)W; return cudaSuccess);
}

#define COPY_1D void *Dst, const void *Src, size_t Size, int Kind

MNEME_API rt_cudaGraphAddMemcpyNode1D(DEPENDENCIES, COPY_1D) {
  ADD(describeCopy(W, Dst, Size, Src, Size, Size, 1, Kind); return cudaSuccess);
}

MNEME_API rt_cudaGraphMemcpyNodeSetParams1D(CudaGraphNode *Node, COPY_1D) {
  return withNode(Node, CudaGraphNodeMemcpy, [&](GraphWork &W) {
    describeCopy(W, Dst, Size, Src, Size, Size, 1, Kind);
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphExecMemcpyNodeSetParams1D(CudaGraphExec *Exec,
                                                CudaGraphNode *Node, COPY_1D) {
  return withExecNode(Exec, Node, CudaGraphNodeMemcpy, [&](GraphWork &W) {
    describeCopy(W, Dst, Size, Src, Size, Size, 1, Kind);
    return cudaSuccess;
  });
}

/// Describes a copy between a variable and \p Other, which is the source if
/// \p ToSymbol is set.
static CudaError describeSymbolCopy(GraphWork &W, const void *Symbol,
                                    const void *Other, size_t Size,
                                    size_t Offset, int Kind, bool ToSymbol) {
  Variable V;
  if (CudaError E = Device::get().findVariable(Symbol, V))
    return E;
  if (Offset > V.Size || Size > V.Size - Offset)
    return cudaErrorInvalidValue;
  void *Ptr = reinterpret_cast<char *>(V.Address) + Offset;
  if (ToSymbol)
    describeCopy(W, Ptr, Size, Other, Size, Size, 1, Kind);
  else
    describeCopy(W, const_cast<void *>(Other), Size, Ptr, Size, Size, 1, Kind);
  return cudaSuccess;
}

/// Defines the functions for one direction. PARAMS are Symbol and Other in
/// their order.
#define SYMBOL_COPY(Direction, IsTo, PARAMS)                                   \
  MNEME_API rt_cudaGraphAddMemcpyNode##Direction(                              \
      DEPENDENCIES, PARAMS, size_t Size, size_t Offset, int Kind) {            \
    ADD(return describeSymbolCopy(W, Symbol, Other, Size, Offset, Kind,        \
                                  IsTo));                                      \
  }                                                                            \
  MNEME_API rt_cudaGraphMemcpyNodeSetParams##Direction(                        \
      CudaGraphNode *Node, PARAMS, size_t Size, size_t Offset, int Kind) {     \
    return withNode(Node, CudaGraphNodeMemcpy, [&](GraphWork &W) {             \
      return describeSymbolCopy(W, Symbol, Other, Size, Offset, Kind, IsTo);   \
    });                                                                        \
  }                                                                            \
  MNEME_API rt_cudaGraphExecMemcpyNodeSetParams##Direction(                    \
      CudaGraphExec *Exec, CudaGraphNode *Node, PARAMS, size_t Size,           \
      size_t Offset, int Kind) {                                               \
    return withExecNode(Exec, Node, CudaGraphNodeMemcpy, [&](GraphWork &W) {   \
      return describeSymbolCopy(W, Symbol, Other, Size, Offset, Kind, IsTo);   \
    });                                                                        \
  }
#define TO_SYMBOL const void *Symbol, const void *Other
#define FROM_SYMBOL void *Other, const void *Symbol
SYMBOL_COPY(ToSymbol, true, TO_SYMBOL)
SYMBOL_COPY(FromSymbol, false, FROM_SYMBOL)
#undef SYMBOL_COPY
#undef TO_SYMBOL
#undef FROM_SYMBOL
#undef COPY_1D

MNEME_API rt_cudaGraphAddChildGraphNode(DEPENDENCIES, CudaGraph *Child) {
  ADD(return describeChild(W, Child));
}

MNEME_API rt_cudaGraphChildGraphNodeGetGraph(CudaGraphNode *Node,
                                             CudaGraph **Child) {
  return withNode(Node, CudaGraphNodeGraph, [&](GraphWork &W) {
    if (!Child)
      return cudaErrorInvalidValue;
    *Child = W.Child.get();
    return cudaSuccess;
  });
}

static size_t numberOf(const CudaGraph &G, const CudaGraphNode *Node) {
  return std::find_if(G.Nodes.begin(), G.Nodes.end(),
                      [&](const auto &N) { return N.get() == Node; }) -
         G.Nodes.begin();
}

/// Returns true if two graphs, and recursively their child graphs, have nodes
/// of the same types with the same dependencies. Otherwise sets \p Different to
/// the first differing node of \p From, or to null if \p From has fewer nodes.
static bool haveSameShape(const CudaGraph &To, const CudaGraph &From,
                          const CudaGraphNode *&Different) {
  const CudaGraphNode *Inner;
  for (size_t I = 0; I != From.Nodes.size(); ++I) {
    const CudaGraphNode &New = *From.Nodes[I];
    Different = &New;
    if (I == To.Nodes.size())
      return false;
    const CudaGraphNode &Old = *To.Nodes[I];
    if (Old.Work.Type != New.Work.Type ||
        Old.Dependencies.size() != New.Dependencies.size())
      return false;
    for (size_t D = 0; D != Old.Dependencies.size(); ++D)
      if (numberOf(To, Old.Dependencies[D]) !=
          numberOf(From, New.Dependencies[D]))
        return false;
    if (Old.Work.Child &&
        !haveSameShape(*Old.Work.Child, *New.Work.Child, Inner))
      return false;
  }
  Different = nullptr;
  return To.Nodes.size() == From.Nodes.size();
}

/// Replaces the work of the nodes of \p To by that of \p From, which must have
/// the same shape.
static void takeWork(CudaGraph &To, CudaGraph &From) {
  for (size_t I = 0; I != From.Nodes.size(); ++I) {
    GraphWork &Old = To.Nodes[I]->Work, &New = From.Nodes[I]->Work;
    if (Old.Child)
      takeWork(*Old.Child, *New.Child);
    // Keep the child graph: its nodes have the originals by which the
    // application refers to them.
    New.Child = std::move(Old.Child);
    Old = std::move(New);
  }
}

MNEME_API rt_cudaGraphExecChildGraphNodeSetParams(CudaGraphExec *Exec,
                                                  CudaGraphNode *Node,
                                                  CudaGraph *Child) {
  return withExecNode(Exec, Node, CudaGraphNodeGraph, [&](GraphWork &W) {
    std::shared_ptr<CudaGraph> G = findGraph(Child);
    if (!G)
      return cudaErrorInvalidValue;
    std::shared_ptr<CudaGraph> Sorted = copyGraph(*G);
    const CudaGraphNode *Different;
    if (!sortNodes(*Sorted) || !haveSameShape(*W.Child, *Sorted, Different))
      return cudaErrorInvalidValue;
    takeWork(*W.Child, *Sorted);
    return cudaSuccess;
  });
}

/// Defines the functions of nodes that record an event or wait for one.
#define EVENT_NODE(Name, Type)                                                 \
  MNEME_API rt_cudaGraphAdd##Name##Node(DEPENDENCIES, CudaEvent *Event) {      \
    ADD(return describeEvent(W, Type, Event));                                 \
  }                                                                            \
  MNEME_API rt_cudaGraph##Name##NodeGetEvent(CudaGraphNode *Node,              \
                                             CudaEvent **Event) {              \
    return withNode(Node, Type, [&](GraphWork &W) {                            \
      if (!Event)                                                              \
        return cudaErrorInvalidValue;                                          \
      *Event = W.Event;                                                        \
      return cudaSuccess;                                                      \
    });                                                                        \
  }                                                                            \
  MNEME_API rt_cudaGraph##Name##NodeSetEvent(CudaGraphNode *Node,              \
                                             CudaEvent *Event) {               \
    return withNode(Node, Type, [&](GraphWork &W) {                            \
      return describeEvent(W, Type, Event);                                    \
    });                                                                        \
  }                                                                            \
  MNEME_API rt_cudaGraphExec##Name##NodeSetEvent(                              \
      CudaGraphExec *Exec, CudaGraphNode *Node, CudaEvent *Event) {            \
    return withExecNode(Exec, Node, Type, [&](GraphWork &W) {                  \
      return describeEvent(W, Type, Event);                                    \
    });                                                                        \
  }
EVENT_NODE(EventRecord, CudaGraphNodeEventRecord)
EVENT_NODE(EventWait, CudaGraphNodeWaitEvent)
#undef EVENT_NODE

MNEME_API rt_cudaGraphAddMemAllocNode(DEPENDENCIES, CudaMemAllocNodeParams *P) {
  ADD(return P ? describeAlloc(W, *P) : cudaErrorInvalidValue);
}

MNEME_API rt_cudaGraphMemAllocNodeGetParams(CudaGraphNode *Node,
                                            CudaMemAllocNodeParams *P) {
  return withNode(Node, CudaGraphNodeMemAlloc, [&](GraphWork &W) {
    if (!P)
      return cudaErrorInvalidValue;
    *P = W.Alloc;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphAddMemFreeNode(DEPENDENCIES, void *Ptr) {
  ADD(return describeFree(W, Ptr));
}

MNEME_API rt_cudaGraphMemFreeNodeGetParams(CudaGraphNode *Node, void **Ptr) {
  return withNode(Node, CudaGraphNodeMemFree, [&](GraphWork &W) {
    if (!Ptr)
      return cudaErrorInvalidValue;
    *Ptr = W.Freed;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphAddNode(CudaGraphNode **Node, CudaGraph *G,
                              CudaGraphNode *const *Dependencies, const void *,
                              size_t Count, CudaGraphNodeParams *P) {
  ADD(return describe(W, P));
}

/// Replaces the work of a node by \p P, which must be of the same type.
static CudaError redescribe(GraphWork &W, CudaGraphNodeParams *P) {
  if (!P || P->Type != W.Type || W.Type == CudaGraphNodeMemAlloc)
    return cudaErrorInvalidValue;
  return describe(W, P);
}

MNEME_API rt_cudaGraphNodeSetParams(CudaGraphNode *Node,
                                    CudaGraphNodeParams *P) {
  return withGraphs([&] {
    return isNode(Node) ? redescribe(Node->Work, P) : cudaErrorInvalidValue;
  });
}

MNEME_API rt_cudaGraphExecNodeSetParams(CudaGraphExec *Exec,
                                        CudaGraphNode *Node,
                                        CudaGraphNodeParams *P) {
  return withExecNode(Exec, Node, -1,
                      [&](GraphWork &W) { return redescribe(W, P); });
}

/// Only the attributes of cooperative launches and of clusters have an effect
/// here.
MNEME_API rt_cudaGraphKernelNodeSetAttribute(CudaGraphNode *Node, int Id,
                                             const uint32_t *Value) {
  return withNode(Node, CudaGraphNodeKernel, [&](GraphWork &W) {
    if (!Value)
      return cudaErrorInvalidValue;
    setShapeAttribute(W.Shape, Id, Value);
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphKernelNodeGetAttribute(CudaGraphNode *Node, int Id,
                                             uint32_t *Value) {
  return withNode(Node, CudaGraphNodeKernel, [&](GraphWork &W) {
    if (!Value)
      return cudaErrorInvalidValue;
    memset(Value, 0, sizeof(CudaLaunchAttribute::Words));
    if (Id == CudaLaunchAttributeCooperative)
      *Value = W.Shape.Cooperative;
    if (Id == CudaLaunchAttributeClusterDim)
      memcpy(Value, &W.Shape.Cluster, sizeof(W.Shape.Cluster));
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphKernelNodeCopyAttributes(CudaGraphNode *To,
                                               CudaGraphNode *From) {
  return withNode(To, CudaGraphNodeKernel, [&](GraphWork &W) {
    if (!isNode(From) || From->Work.Type != CudaGraphNodeKernel)
      return cudaErrorInvalidValue;
    W.Shape.Cooperative = From->Work.Shape.Cooperative;
    W.Shape.Cluster = From->Work.Shape.Cluster;
    return cudaSuccess;
  });
}
#undef ADD
#undef DEPENDENCIES

//===----------------------------------------------------------------------===//
// Executable graphs
//===----------------------------------------------------------------------===//

MNEME_API rt_cudaGraphInstantiate(CudaGraphExec **Exec, CudaGraph *Handle,
                                  unsigned long long Flags) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraph> G = findGraph(Handle);
    if (!Exec || !G)
      return cudaErrorInvalidValue;
    auto New = std::make_shared<CudaGraphExec>();
    *New = {Flags, copyGraph(*G)};
    if (!sortNodes(*New->Graph))
      return cudaErrorInvalidValue;
    *Exec = New.get();
    handles().Execs[New.get()] = New;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphInstantiateWithParams(CudaGraphExec **Exec, CudaGraph *G,
                                            CudaGraphInstantiateParams *P) {
  if (!P)
    return done(cudaErrorInvalidValue);
  P->ErrorNode = nullptr;
  int E = rt_cudaGraphInstantiate(Exec, G, P->Flags);
  P->Result = E != 0; // cudaGraphInstantiateError
  return E;
}

MNEME_API rt_cudaGraphExecGetFlags(CudaGraphExec *Exec,
                                   unsigned long long *Flags) {
  return withGraphs([&] {
    std::shared_ptr<CudaGraphExec> E = findExec(Exec);
    if (!E || !Flags)
      return cudaErrorInvalidValue;
    *Flags = E->Flags;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphExecDestroy(CudaGraphExec *Exec) {
  return withGraphs([&] {
    return handles().Execs.erase(Exec) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

MNEME_API rt_cudaGraphNodeSetEnabled(CudaGraphExec *Exec, CudaGraphNode *Node,
                                     unsigned IsEnabled) {
  return withExecNode(Exec, Node, -1, [&](GraphWork &W) {
    if (W.Type > CudaGraphNodeMemset)
      return cudaErrorInvalidValue;
    W.IsEnabled = IsEnabled;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphNodeGetEnabled(CudaGraphExec *Exec, CudaGraphNode *Node,
                                     unsigned *IsEnabled) {
  return withExecNode(Exec, Node, -1, [&](GraphWork &W) {
    if (!IsEnabled || W.Type > CudaGraphNodeMemset)
      return cudaErrorInvalidValue;
    *IsEnabled = W.IsEnabled;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphExecUpdate(CudaGraphExec *Exec, CudaGraph *Handle,
                                 CudaGraphExecUpdateResult *Result) {
  constexpr int UpdateError = 1, TopologyChanged = 2;
  return withGraphs([&] {
    if (!Result)
      return cudaErrorInvalidValue;
    *Result = {UpdateError, nullptr, nullptr};
    std::shared_ptr<CudaGraphExec> E = findExec(Exec);
    std::shared_ptr<CudaGraph> G = findGraph(Handle);
    if (!E || !G)
      return cudaErrorInvalidValue;
    std::shared_ptr<CudaGraph> Sorted = copyGraph(*G);
    Result->Result = TopologyChanged;
    if (!sortNodes(*Sorted))
      return cudaErrorGraphExecUpdateFailure;
    const CudaGraphNode *Different;
    if (!haveSameShape(*E->Graph, *Sorted, Different)) {
      if (Different)
        Result->ErrorNode = const_cast<CudaGraphNode *>(Different->Original);
      return cudaErrorGraphExecUpdateFailure;
    }
    takeWork(*E->Graph, *Sorted);
    Result->Result = 0;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaGraphUpload(CudaGraphExec *Exec, CudaStream *S) {
  return withGraphs([&] {
    return findExec(Exec) && isStream(S) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

MNEME_API rt_cudaGraphLaunch(CudaGraphExec *Exec, CudaStream *S) {
  std::shared_ptr<CudaGraphExec> E;
  {
    std::lock_guard<std::recursive_mutex> Guard(graphLock());
    E = findExec(Exec);
  }
  if (!E || !isStream(S))
    return done(E ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      W.Type = CudaGraphNodeGraph;
      W.Child = copyGraph(*E->Graph);
      return cudaSuccess;
    });
  // Without the lock, because kernels take time and host nodes may use graphs.
  CudaError Result = cudaErrorMemoryAllocation;
  if (!attempt([&] { Result = runGraph(*E->Graph); }))
    Result = cudaErrorMemoryAllocation;
  // As for a launch, the next call returns errors of its kernels.
  return Device::get().setError(Result);
}

//===----------------------------------------------------------------------===//
// Memory of graphs
//===----------------------------------------------------------------------===//

MNEME_API rt_cudaDeviceGraphMemTrim(int Id) {
  return done(Id ? cudaErrorInvalidDevice : cudaSuccess);
}

/// Returns bytes: memory allocated by live graphs, and memory from other graphs
/// that has not been freed.
MNEME_API rt_cudaDeviceGetGraphMemAttribute(int Id, int Attribute,
                                            uint64_t *Value) {
  return withGraphs([&] {
    if (Id || Attribute < 0 || Attribute > 3 || !Value)
      return Id ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    std::map<void *, uint64_t> Sizes;
    for (const CudaGraph *G : handles().Graphs)
      for (const auto &N : G->Nodes)
        if (N->Work.Memory)
          Sizes[N->Work.Memory.get()] = N->Work.Alloc.Size;
    for (const auto &[Ptr, M] : graphMemory())
      Sizes[Ptr] = M.Size;
    *Value = 0;
    for (const auto &[Ptr, Size] : Sizes)
      *Value += Size;
    return cudaSuccess;
  });
}

/// High watermarks can be reset; they always equal the current values.
MNEME_API rt_cudaDeviceSetGraphMemAttribute(int Id, int, const void *Value) {
  return done(Id       ? cudaErrorInvalidDevice
              : !Value ? cudaErrorInvalidValue
                       : cudaSuccess);
}
