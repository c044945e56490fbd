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
/// streams into them. A launch runs a graph node by node, through the same
/// functions as streams, so its kernels are recorded like any others.
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

/// The work of a node. Copies share the memory that the graph allocated, and
/// child graphs, which do not change once they are in another graph's node.
struct GraphWork {
  int Type = CudaGraphNodeEmpty;
  bool IsEnabled = true; ///< For executable graphs.
  const void *Stub = nullptr;
  LaunchShape Shape = {};
  std::vector<std::vector<char>> Args;
  std::vector<void *> Pointers; ///< To Args, if requested.
  CudaMemcpy3DParms Copy = {};
  CudaMemsetParams Set = {};
  CudaHostNodeParams Host = {};
  CudaEvent *Event = nullptr;
  CudaMemAllocNodeParams Alloc = {};
  std::shared_ptr<void> Memory; ///< Allocated for Alloc.
  void *Freed = nullptr;
  std::shared_ptr<CudaGraph> Child;
};

struct CudaGraphNode {
  CudaGraph *Owner;
  GraphWork Work;
  std::vector<CudaGraphNode *> Dependencies;
  const CudaGraphNode *Original = nullptr; ///< The node that this is a copy of.
};

struct CudaGraph {
  CudaGraph();
  ~CudaGraph();
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;

  std::vector<std::unique_ptr<CudaGraphNode>> Nodes;
};

/// Protects graphs, executable graphs and captures. Recursive, because graphs
/// own graphs.
std::recursive_mutex &graphLock();

/// Adds a node; requires graphLock(). If it throws, nothing has changed.
CudaGraphNode *addNode(CudaGraph &G, GraphWork Work,
                       std::vector<CudaGraphNode *> Dependencies);

/// Returns a copy whose nodes, including those of child graphs, refer to their
/// originals. May throw.
std::shared_ptr<CudaGraph> copyGraph(const CudaGraph &G);

/// Registers \p Graph as a handle owned by the application.
void giveGraph(std::shared_ptr<CudaGraph> Graph);
/// Returns the graph with this handle, or null.
std::shared_ptr<CudaGraph> findGraph(CudaGraph *Handle);
bool isNode(const CudaGraphNode *Node);
/// Returns true if these are nodes of \p G.
bool areNodesOf(const CudaGraph &G, CudaGraphNode *const *All, size_t Count);

// Set the work for the runtime's stream functions. They may throw.
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

/// Memory that an allocation node allocated and that has not been freed.
struct GraphMemory {
  std::shared_ptr<void> Memory;
  uint64_t Size; ///< In bytes.
};
/// Returns all such memory by address; requires graphLock().
std::map<void *, GraphMemory> &graphMemory();
/// \returns true if an allocation node allocated \p Ptr.
bool freeGraphMemory(void *Ptr);

/// Runs the nodes of \p G in order. May throw.
CudaError runGraph(const CudaGraph &G);

/// Returns true if work in \p S becomes nodes of a graph.
bool isCapturing(CudaStream *S);
/// Returns true if any stream is being captured.
bool isAnyCapturing();

/// Adds the work that \p Describe sets to the capture of \p S. \returns the
/// call's result.
int addToCapture(CudaStream *S,
                 const std::function<CudaError(GraphWork &)> &Describe);

/// captureEvent() notes that the event was recorded in a captured stream,
/// forgetEvent() that it no longer stands for nodes.
int captureEvent(CudaEvent *E, CudaStream *S);
void forgetEvent(CudaEvent *E);
/// Returns true if \p E stands for nodes of a capture in progress.
bool isCaptured(CudaEvent *E);
/// Makes \p S wait for the nodes of \p E; \p S then joins their capture.
int captureWait(CudaStream *S, CudaEvent *E);
/// Waiting for \p S invalidates its capture. \returns an error if it is
/// captured.
CudaError breakCapture(CudaStream *S);
/// Handles the destruction of \p S, which ends a capture that began in it.
void leaveCapture(CudaStream *S);

/// Handles an event that a graph records.
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
