//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Graphs of the emulated CUDA driver: a launch runs their nodes one after the
/// other.
///
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <map>
#include <set>

using namespace emulated;
using llvm::mneme::LaunchConfig;

extern "C" {
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  CUresult Symbol Parameters;
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
}

namespace {
enum NodeType {
  Kernel = 0,
  Memcpy = 1,
  Memset = 2,
  Host = 3,
  Child = 4,
  Conditional = 13
};

struct Handles {
  std::mutex Lock;
  std::map<CUgraph, std::shared_ptr<Graph>> Graphs;
  std::map<CUgraphExec, std::shared_ptr<Graph>> Execs;
};
} // namespace

static Handles &handles() {
  static Handles &H = *new Handles;
  return H;
}

static GraphNode *nodeOf(CUgraphNode N) {
  return reinterpret_cast<GraphNode *>(N);
}

static Graph *graphOf(CUgraph G) { return reinterpret_cast<Graph *>(G); }

GraphNode *Graph::add(int Type, const CUgraphNode *Before, size_t Count) {
  Nodes.push_back(std::make_unique<GraphNode>());
  GraphNode *N = Nodes.back().get();
  N->Owner = this;
  N->Type = Type;
  for (size_t I = 0; I != Count; ++I)
    N->Before.push_back(nodeOf(Before[I]));
  return N;
}

GraphNode *emulated::addCaptured(Graph &G, int Type) {
  CUgraphNode Last = nullptr;
  if (!G.Nodes.empty())
    Last = reinterpret_cast<CUgraphNode>(G.Nodes.back().get());
  return G.add(Type, &Last, Last ? 1 : 0);
}

CUgraph emulated::giveGraph(std::shared_ptr<Graph> G) {
  std::lock_guard<std::mutex> Guard(handles().Lock);
  auto Handle = reinterpret_cast<CUgraph>(G.get());
  handles().Graphs[Handle] = std::move(G);
  return Handle;
}

static std::shared_ptr<Graph> copyGraph(const Graph &G) {
  auto Copy = std::make_shared<Graph>();
  std::map<const GraphNode *, GraphNode *> CopyOf;
  for (const auto &N : G.Nodes) {
    GraphNode *New = Copy->add(N->Type, nullptr, 0);
    *New = *N;
    New->Owner = Copy.get();
    New->Original = N.get();
    if (N->Kernel.F)
      New->Kernel.Bytes = std::make_shared<std::vector<char>>(*N->Kernel.Bytes);
    if (N->Child)
      New->Child = copyGraph(*N->Child);
    CopyOf[N.get()] = New;
  }
  for (const auto &N : Copy->Nodes)
    for (GraphNode *&B : N->Before)
      B = CopyOf[B];
  return Copy;
}

static GraphNode *findCopy(Graph &G, const GraphNode *Original, bool Below) {
  for (const auto &N : G.Nodes) {
    if (N->Original == Original)
      return N.get();
    if (N->Child && Below)
      if (GraphNode *Inner = findCopy(*N->Child, Original, Below))
        return Inner;
  }
  return nullptr;
}

/// The newest node first where the edges leave the order open, so that a
/// missing edge shows.
template <typename Fn> static void forEachInOrder(const Graph &G, Fn Call) {
  std::set<const GraphNode *> Done;
  while (Done.size() != G.Nodes.size())
    for (const auto &N : llvm::reverse(G.Nodes))
      if (!Done.count(N.get()) &&
          llvm::all_of(N->Before, [&](auto *B) { return Done.count(B); })) {
        Done.insert(N.get());
        Call(*N);
      }
}

static void enqueue(const Graph &G, Queue &Q) {
  forEachInOrder(G, [&](const GraphNode &N) {
    if (!N.IsEnabled)
      return;
    if (N.Child)
      return enqueue(*N.Child, Q);
    if (N.Kernel.F) {
      KernelCall Call = N.Kernel;
      Call.Bytes = std::make_shared<std::vector<char>>(*N.Kernel.Bytes);
      Q.enqueue([Call] { return Call.run(); });
    } else if (N.Work) {
      Q.enqueue(N.Work);
    }
  });
}

extern "C" {

CUresult cuGraphCreate(CUgraph *G, unsigned) {
  *G = giveGraph(std::make_shared<Graph>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph G) {
  std::lock_guard<std::mutex> Guard(handles().Lock);
  return handles().Graphs.erase(G) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphClone(CUgraph *Clone, CUgraph G) {
  for (const auto &N : graphOf(G)->Nodes)
    if (N->Type == Conditional)
      return CUDA_ERROR_NOT_SUPPORTED;
  *Clone = giveGraph(copyGraph(*graphOf(G)));
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph G, CUgraphNode *Nodes, size_t *Count) {
  const auto &All = graphOf(G)->Nodes;
  for (size_t I = 0; Nodes && I != *Count; ++I)
    Nodes[I] = reinterpret_cast<CUgraphNode>(All[I].get());
  *Count = All.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph G, CUgraphNode *From, CUgraphNode *To,
                         size_t *Count) {
  *Count = 0;
  for (const auto &N : graphOf(G)->Nodes)
    for (GraphNode *B : N->Before) {
      if (From) {
        From[*Count] = reinterpret_cast<CUgraphNode>(B);
        To[*Count] = reinterpret_cast<CUgraphNode>(N.get());
      }
      ++*Count;
    }
  return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges_v2(CUgraph G, CUgraphNode *From, CUgraphNode *To,
                            void *, size_t *Count) {
  return cuGraphGetEdges(G, From, To, Count);
}

CUresult cuGraphDestroyNode(CUgraphNode Node) {
  auto &Nodes = nodeOf(Node)->Owner->Nodes;
  for (const auto &N : Nodes)
    llvm::erase(N->Before, nodeOf(Node));
  llvm::erase_if(Nodes, [&](const auto &N) { return N.get() == nodeOf(Node); });
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode N, int *Type) {
  *Type = nodeOf(N)->Type;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *Found, CUgraphNode N,
                                CUgraph Clone) {
  *Found = reinterpret_cast<CUgraphNode>(
      findCopy(*graphOf(Clone), nodeOf(N), /*Below=*/false));
  return *Found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode N, CUgraph *G) {
  *G = reinterpret_cast<CUgraph>(nodeOf(N)->Child.get());
  return *G ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult setKernel(GraphNode &N, const CUkernelNodeParams &P) {
  LaunchConfig Config;
  Config.Grid = {P.GridX, P.GridY, P.GridZ};
  Config.Block = {P.BlockX, P.BlockY, P.BlockZ};
  Config.DynamicShared = P.DynamicShared;
  return readCall(P.Function, Config, P.Args, P.Extra, N.Kernel);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *Node, CUgraph G,
                                 const CUgraphNode *Before, size_t Count,
                                 const CUkernelNodeParams *P) {
  GraphNode *N = graphOf(G)->add(Kernel, Before, Count);
  *Node = reinterpret_cast<CUgraphNode>(N);
  return setKernel(*N, *P);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode Node,
                                       CUkernelNodeParams *P) {
  GraphNode &N = *nodeOf(Node);
  if (!N.Kernel.F)
    return CUDA_ERROR_INVALID_VALUE;
  N.Pointers = N.Kernel.pointers();
  const LaunchConfig &C = N.Kernel.Config;
  *P = {};
  P->Function = reinterpret_cast<CUfunction>(N.Kernel.F);
  P->GridX = C.Grid.X;
  P->GridY = C.Grid.Y;
  P->GridZ = C.Grid.Z;
  P->BlockX = C.Block.X;
  P->BlockY = C.Block.Y;
  P->BlockZ = C.Block.Z;
  P->DynamicShared = C.DynamicShared;
  P->Args = N.Pointers.data();
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode Node,
                                       const CUkernelNodeParams *P) {
  return setKernel(*nodeOf(Node), *P);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode Node, int Attribute,
                                       void *Value) {
  constexpr int Cooperative = 2;
  int Is = Attribute == Cooperative && nodeOf(Node)->Kernel.Config.Cooperative;
  std::memset(Value, 0, 64);
  std::memcpy(Value, &Is, sizeof(Is));
  return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode Node, const CUmemcpy3D *P) {
  CUmemcpy3D C = *P;
  nodeOf(Node)->Work = [C]() -> CUresult {
    auto At = [&](const CUmemcpySide &S, size_t Y, size_t Z) {
      return reinterpret_cast<char *>(S.Device) + S.XInBytes +
             ((S.Z + Z) * S.Height + S.Y + Y) * S.Pitch;
    };
    for (size_t Z = 0; Z != C.Depth; ++Z)
      for (size_t Y = 0; Y != C.Height; ++Y)
        std::memcpy(At(C.To, Y, Z), At(C.From, Y, Z), C.WidthInBytes);
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *Node, CUgraph G,
                              const CUgraphNode *Before, size_t Count,
                              const CUmemcpy3D *P, CUcontext) {
  *Node = reinterpret_cast<CUgraphNode>(graphOf(G)->add(Memcpy, Before, Count));
  return cuGraphMemcpyNodeSetParams(*Node, P);
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode Node,
                                    const CUmemsetNodeParams *P) {
  CUmemsetNodeParams M = *P;
  nodeOf(Node)->Work = [M]() -> CUresult {
    for (size_t Y = 0; Y != M.Height; ++Y)
      for (size_t X = 0; X != M.Width; ++X)
        std::memcpy(reinterpret_cast<char *>(M.To) + Y * M.Pitch +
                        X * M.ElementSize,
                    &M.Value, M.ElementSize);
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *Node, CUgraph G,
                              const CUgraphNode *Before, size_t Count,
                              const CUmemsetNodeParams *P, CUcontext) {
  *Node = reinterpret_cast<CUgraphNode>(graphOf(G)->add(Memset, Before, Count));
  return cuGraphMemsetNodeSetParams(*Node, P);
}

CUresult cuGraphHostNodeSetParams(CUgraphNode Node, const CUhostNodeParams *P) {
  CUhostNodeParams H = *P;
  nodeOf(Node)->Work = [H]() -> CUresult {
    H.Function(H.Data);
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

CUresult cuGraphAddHostNode(CUgraphNode *Node, CUgraph G,
                            const CUgraphNode *Before, size_t Count,
                            const CUhostNodeParams *P) {
  *Node = reinterpret_cast<CUgraphNode>(graphOf(G)->add(Host, Before, Count));
  return cuGraphHostNodeSetParams(*Node, P);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *Node, CUgraph G,
                                  const CUgraphNode *Before, size_t Count,
                                  CUgraph Inner) {
  GraphNode *N = graphOf(G)->add(Child, Before, Count);
  N->Child = copyGraph(*graphOf(Inner));
  *Node = reinterpret_cast<CUgraphNode>(N);
  return CUDA_SUCCESS;
}

/// One that never runs its graphs.
CUresult cuGraphAddNode_v2(CUgraphNode *Node, CUgraph G,
                           const CUgraphNode *Before, const void *,
                           size_t Count, const int *Params) {
  *Node =
      reinterpret_cast<CUgraphNode>(graphOf(G)->add(*Params, Before, Count));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *Exec, CUgraph G,
                                     unsigned long long) {
  std::shared_ptr<Graph> Copy = copyGraph(*graphOf(G));
  *Exec = reinterpret_cast<CUgraphExec>(Copy.get());
  std::lock_guard<std::mutex> Guard(handles().Lock);
  handles().Execs[*Exec] = std::move(Copy);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec Exec) {
  std::lock_guard<std::mutex> Guard(handles().Lock);
  return handles().Execs.erase(Exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphLaunch(CUgraphExec Exec, CUstream S) {
  std::shared_ptr<Graph> G;
  {
    std::lock_guard<std::mutex> Guard(handles().Lock);
    auto I = handles().Execs.find(Exec);
    if (I == handles().Execs.end())
      return CUDA_ERROR_INVALID_HANDLE;
    G = I->second;
  }
  std::shared_ptr<Queue> Q = findQueue(S);
  if (!Q)
    return CUDA_ERROR_INVALID_HANDLE;
  enqueue(*G, *Q);
  return CUDA_SUCCESS;
}

/// Nodes correspond by their numbers.
CUresult cuGraphExecUpdate_v2(CUgraphExec Exec, CUgraph G, void *) {
  const auto &To = reinterpret_cast<Graph *>(Exec)->Nodes;
  const auto &From = graphOf(G)->Nodes;
  if (To.size() != From.size())
    return 910; // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
  for (size_t I = 0; I != To.size(); ++I) {
    To[I]->Kernel = From[I]->Kernel;
    To[I]->Work = From[I]->Work;
  }
  return CUDA_SUCCESS;
}

static CUgraphNode inExec(CUgraphExec Exec, CUgraphNode N) {
  return reinterpret_cast<CUgraphNode>(
      findCopy(*reinterpret_cast<Graph *>(Exec), nodeOf(N), /*Below=*/true));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec Exec, CUgraphNode N,
                                           const CUkernelNodeParams *P) {
  return cuGraphKernelNodeSetParams_v2(inExec(Exec, N), P);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec Exec, CUgraphNode N,
                                        const CUmemcpy3D *P, CUcontext) {
  return cuGraphMemcpyNodeSetParams(inExec(Exec, N), P);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec Exec, CUgraphNode N,
                                        const CUmemsetNodeParams *P,
                                        CUcontext) {
  return cuGraphMemsetNodeSetParams(inExec(Exec, N), P);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec Exec, CUgraphNode N,
                                      const CUhostNodeParams *P) {
  return cuGraphHostNodeSetParams(inExec(Exec, N), P);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec Exec, CUgraphNode N,
                               unsigned IsEnabled) {
  nodeOf(inExec(Exec, N))->IsEnabled = IsEnabled;
  return CUDA_SUCCESS;
}

} // extern "C"
