//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The application's executable graphs and the kernels that they launch. An
/// executable graph cannot be read: a copy of the graph that it was made of
/// follows its changes.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_TAPPEDGRAPHS_H
#define MNEME_LIB_RUNTIME_GPUTAP_TAPPEDGRAPHS_H

#include "CudaTypes.h"
#include "KernelTargets.h"
#include "Launch.h"
#include "Recorder.h"
#include "SessionDriver.h"
#include "TapState.h"
#include "Vendor.h"

#include <map>
#include <set>
#include <string>

namespace mneme {

/// A kernel node that launches a selected kernel.
struct GraphKernel {
  const void *Stub;
  Target *Goal;
  LaunchShape Shape;
  void **Args; ///< Owned by the node.
  CUcontext Context;
  const char *Obstacle; ///< Why it cannot be recorded, or null.
};

/// An executable graph, as far as it is known.
struct TappedGraph {
  unsigned long long Flags = 0;
  /// The context in which the graph was made, and with which it is destroyed.
  CUcontext Owner = nullptr;
  CUgraph Copy = nullptr; ///< Equivalent to the graph. Null with an obstacle.
  std::string Obstacle;   ///< Why it cannot be launched in parts.
  std::set<CUgraphNode> Disabled;             ///< Nodes of the copy.
  std::map<CUgraphNode, GraphKernel> Kernels; ///< The selected ones.
  /// The number of nodes for each other kernel.
  std::map<Target *, uint64_t> Others;
};

/// Follows what the application does with executable graphs. Functions throw
/// nothing.
class TappedGraphs {
public:
  TappedGraphs(TapState &State, SessionDriver &Driver, KernelTargets &Targets)
      : State(State), Driver(Driver), Targets(Targets) {}

  // Called by the application's threads: these take the session's lock.

  /// \p N was added for a kernel, or changed to launch it.
  void noteKernel(const CudaRuntime &R, CUgraphNode N, const void *Stub);
  /// A launch in a captured stream has become a node.
  void noteCaptured(const Launch &L);
  /// \p Exec was made of \p G.
  void note(CUgraphExec Exec, CUgraph G, unsigned long long Flags);
  /// \p Exec is going to be destroyed.
  void forget(CUgraphExec Exec);
  /// \p Exec was updated to do what \p G does.
  void update(CUgraphExec Exec, CUgraph G);
  /// A node of \p Exec was changed: \p Change(graphs, graph, node of the copy)
  /// does the same with the copy. \p Change returns false where it cannot. Then
  /// launches of the graph are not recorded any more.
  template <typename Fn>
  void change(CUgraphExec Exec, CUgraphNode N, Fn Change) {
    change(
        Exec, N,
        [](TappedGraphs &S, TappedGraph &T, CUgraphNode Copy, void *F) {
          return (*static_cast<Fn *>(F))(S, T, Copy);
        },
        &Change);
  }
  /// The same for changes that no copy can follow.
  void spoil(CUgraphExec Exec, CUgraphNode N) {
    change(Exec, N, nullptr, nullptr);
  }

  // For the Change of change(), with the session's lock held: these change a
  // node of the copy, or return false where they cannot.

  bool changeKernel(CUgraphNode N, const KernelNodeParams &P);
  bool changeCopy(CUgraphNode N, const CudaMemcpy3DParms &P);
  bool changeSet(CUgraphNode N, const MemsetNodeParams &P);
  bool changeHost(CUgraphNode N, const CudaHostNodeParams &P);

  // With the session's lock held.

  /// The graph, or null if it is not known.
  TappedGraph *find(CUgraphExec Exec);
  /// Before \p Gone is destroyed.
  void forget(CUcontext Gone);

private:
  using GraphChange = bool (*)(TappedGraphs &, TappedGraph &, CUgraphNode,
                               void *);
  using GraphMap = std::map<CUgraphExec, TappedGraph>;
  /// What a kernel node of a graph launches.
  struct GraphTarget {
    const void *Stub;
    Target *Goal;
    CUcontext Owner; ///< The context in which the node was made.
  };

  void change(CUgraphExec Exec, CUgraphNode N, GraphChange Change,
              void *Closure);
  void read(TappedGraph &T, CUgraph G);
  void readKernel(TappedGraph &T, CUgraphNode N);
  void reread(TappedGraph &T);
  GraphMap::iterator erase(GraphMap::iterator I);
  void erase(CUgraphExec Exec);

  TapState &State;
  SessionDriver &Driver;
  KernelTargets &Targets;
  /// By the driver's handle of a kernel.
  std::map<const void *, GraphTarget> KernelsByHandle;
  /// The driver's handles of these kernels, by launch stub.
  std::map<const void *, const void *> Handles;
  GraphMap Graphs;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_TAPPEDGRAPHS_H
