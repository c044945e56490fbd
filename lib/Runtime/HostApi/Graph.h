//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Graphs of the CUDA runtime on the host device: nodes, and the capture of
/// streams into them. A launch runs a graph node by node, through the functions
/// that streams use, so its kernels are recorded like any other.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTAPI_GRAPH_H
#define MNEME_LIB_RUNTIME_HOSTAPI_GRAPH_H

#include "CudaApi.h"
#include "Shortage.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mneme {

/// What a node does. Copies share memory that the graph has allocated, and
/// child graphs, which never change once they are in a node of another graph.
struct GraphWork {
  int Type = CudaGraphNodeEmpty;
  bool IsEnabled = true; ///< Of an executable graph.
  const void *Stub = nullptr;
  LaunchShape Shape = {};
  std::vector<std::vector<char>> Args;
  std::vector<void *> Pointers; ///< To Args, once they were asked for.
  CudaMemcpy3DParms Copy = {};
  CudaMemsetParams Set = {};
  CudaHostNodeParams Host = {};
  CudaEvent *Event = nullptr;
  CudaMemAllocNodeParams Alloc = {};
  std::shared_ptr<void> Memory; ///< What Alloc got.
  void *Freed = nullptr;
  std::shared_ptr<CudaGraph> Child;
};

struct CudaGraphNode {
  CudaGraph *Owner;
  GraphWork Work;
  std::vector<CudaGraphNode *> Dependencies;
  const CudaGraphNode *Original = nullptr; ///< What it was copied from.
};

struct CudaGraph {
  CudaGraph();
  ~CudaGraph();
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;

  std::vector<std::unique_ptr<CudaGraphNode>> Nodes;
};

/// For graphs, executable graphs and captures. Recursive, as graphs own graphs.
std::recursive_mutex &graphLock();

/// Adds a node, with graphLock(). May throw, with nothing done.
CudaGraphNode *addNode(CudaGraph &G, GraphWork Work,
                       std::vector<CudaGraphNode *> Dependencies);

/// A copy whose nodes know their originals; so do those of its child graphs.
/// May throw.
std::shared_ptr<CudaGraph> copyGraph(const CudaGraph &G);

/// Makes \p Graph a handle that the application has.
void giveGraph(std::shared_ptr<CudaGraph> Graph);
/// The graph with this handle, or null.
std::shared_ptr<CudaGraph> findGraph(CudaGraph *Handle);
bool isNode(const CudaGraphNode *Node);
/// Whether these are nodes of \p G.
bool areNodesOf(const CudaGraph &G, CudaGraphNode *const *All, size_t Count);

// What the functions of the runtime that take a stream say of their work. They
// may throw.
CudaError describeKernel(GraphWork &W, const CudaKernelNodeParams *P);
void describeCopy(GraphWork &W, const CudaMemcpy3DParms &P);
void describeCopy(GraphWork &W, void *Dst, size_t DstPitch, const void *Src,
                  size_t SrcPitch, size_t Width, size_t Height, int Kind);
void describeSet(GraphWork &W, const CudaMemsetParams &P);
CudaError describeAlloc(GraphWork &W, CudaMemAllocNodeParams &P);
CudaError describeFree(GraphWork &W, void *Ptr);
CudaError describeHost(GraphWork &W, const CudaHostNodeParams &P);
CudaError describeChild(GraphWork &W, CudaGraph *Child);
CudaError describeEvent(GraphWork &W, int Type, CudaEvent *E);
CudaError describe(GraphWork &W, CudaGraphNodeParams *P);

/// Memory that an allocation node has given, and nothing has freed since.
struct GraphMemory {
  std::shared_ptr<void> Memory;
  uint64_t Size; ///< In bytes.
};
/// All of it by address, with graphLock().
std::map<void *, GraphMemory> &graphMemory();
/// \returns whether an allocation node has given \p Ptr.
bool freeGraphMemory(void *Ptr);

/// Does what the nodes of \p G do, in their order. May throw.
CudaError runGraph(const CudaGraph &G);

/// Whether work that is put into \p S becomes nodes of a graph.
bool isCapturing(CudaStream *S);
/// The same of any stream.
bool isAnyCapturing();

/// Adds what \p Describe says to the capture of \p S. \returns the call's
/// result.
int addToCapture(CudaStream *S,
                 const std::function<CudaError(GraphWork &)> &Describe);

/// The event was recorded in a stream that is captured, or is not any more.
int captureEvent(CudaEvent *E, CudaStream *S);
void forgetEvent(CudaEvent *E);
/// Whether \p E stands for nodes of a capture under way.
bool isCaptured(CudaEvent *E);
/// \p S waits for what \p E stands for: it takes part in that capture then.
int captureWait(CudaStream *S, CudaEvent *E);
/// Waiting for \p S breaks its capture. \returns an error where it is captured.
CudaError breakCapture(CudaStream *S);
/// \p S is destroyed: the capture that began there with it.
void leaveCapture(CudaStream *S);

/// An event that a graph records was reached.
void reachEvent(CudaEvent *E);
bool isEvent(CudaEvent *E);

/// Runs \p F with graphLock(). \returns its result, or
/// cudaErrorMemoryAllocation.
template <typename Fn> int withGraphs(Fn F) {
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  CudaError E = cudaErrorMemoryAllocation;
  if (!attempt([&] { E = F(); }))
    E = cudaErrorMemoryAllocation;
  return done(E);
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTAPI_GRAPH_H
