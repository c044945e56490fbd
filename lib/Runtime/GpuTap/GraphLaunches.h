//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Launches of executable graphs. If a graph has a kernel that may be recorded,
/// its launch becomes launches of parts, one after the other: each such kernel
/// is a part of its own, and the nodes between two of them are another.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_GRAPHLAUNCHES_H
#define MNEME_LIB_RUNTIME_GPUTAP_GRAPHLAUNCHES_H

#include "Captures.h"
#include "GraphNodes.h"
#include "Launch.h"
#include "Recorder.h"
#include "SelectedLaunches.h"
#include "SessionDriver.h"
#include "TapState.h"
#include "TappedGraphs.h"

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mneme {

/// Makes, counts and records launches of graphs.
class GraphLaunches {
public:
  GraphLaunches(TapState &State, SessionDriver &Driver, Captures &Captured,
                TappedGraphs &Graphs, SelectedLaunches &Selected,
                Recorder &Records)
      : State(State), Driver(Driver), Captured(Captured), Graphs(Graphs),
        Selected(Selected), Records(Records) {}

  /// Launches \p Exec in \p S, with \p Original or in parts. \returns the
  /// runtime's error. Takes the session's lock. Throws nothing.
  int launch(const CudaRuntime &R, CUgraphExec Exec, CUstream S,
             OriginalCall Original);
  /// Counts a successful launch of a graph that was made through the driver.
  void countForeign() { ++Foreign; }
  uint64_t foreign() const { return Foreign; }

private:
  /// Some nodes of a graph, which are launched together.
  struct Part {
    CUgraphExec Exec = nullptr;
    GraphNodes Kernels;    ///< The selected ones.
    bool IsWanted = false; ///< It is one kernel, which may be recorded.
  };

  bool launchSplit(const CudaRuntime &R, TappedGraph &T, CUstream S,
                   int &Result);
  int launchParts(const CudaRuntime &R, const TappedGraph &T, CUstream S,
                  const std::vector<Part> &Parts);
  std::string split(const TappedGraph &T, const std::set<CUgraphNode> &Wanted,
                    CUgraph G, std::vector<Part> &Parts);
  std::string makePart(CUgraph G, const GraphNodes &All,
                       const std::set<CUgraphNode> &Kept, Part &P);
  void listKernels(const TappedGraph &T, CUgraphNode N,
                   GraphNodes &Kernels) const;
  void countKernel(const CudaRuntime &R, const GraphKernel &K, CUstream S);
  Launch launchOf(const CudaRuntime &R, const GraphKernel &K, CUstream S) const;

  TapState &State;
  SessionDriver &Driver;
  Captures &Captured;
  TappedGraphs &Graphs;
  SelectedLaunches &Selected;
  Recorder &Records;
  std::atomic<uint64_t> Foreign{0};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_GRAPHLAUNCHES_H
