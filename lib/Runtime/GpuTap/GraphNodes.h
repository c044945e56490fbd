//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads graphs and their nodes through the driver.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_GRAPHNODES_H
#define MNEME_LIB_RUNTIME_GPUTAP_GRAPHNODES_H

#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <set>
#include <vector>

namespace mneme {

/// CUgraphNodeType
enum GraphNodeType : int {
  NodeKernel = 0,
  NodeGraph = 4,
  NodeMemAlloc = 10,
  NodeMemFree = 11,
  NodeConditional = 13,
};

using GraphNodes = std::vector<CUgraphNode>;

/// Why a graph that sortNodes() cannot read is not recorded.
inline const char *const UnreadableGraph =
    "launched by a graph that cannot be read";

/// \p Sorted gets the nodes of a graph in an order in which each comes after
/// those that it depends on. \returns false when the driver does not list them.
/// May throw.
bool sortNodes(const CudaDriver &D, CUgraph G, GraphNodes &Sorted);
/// The same; \returns no nodes when the driver does not list them. May throw.
GraphNodes sortedNodes(const CudaDriver &D, CUgraph G);

/// A GraphNodeType or another type; -1 when the driver does not tell.
int typeOf(const CudaDriver &D, CUgraphNode N);
/// The graph of a node of type NodeGraph, or null.
CUgraph childOf(const CudaDriver &D, CUgraphNode N);
/// The handle of the kernel that a node launches, or null. \p P gets the node's
/// parameters.
const void *kernelOf(const CudaDriver &D, CUgraphNode N, CUkernelNodeParams &P);
/// The node for \p Original in the copy \p Clone or its child graphs, or null.
/// May throw.
CUgraphNode findInClone(const CudaDriver &D, CUgraphNode Original,
                        CUgraph Clone);
/// Whether \p Set contains \p N or a node of its child graph. May throw.
bool holdsOneOf(const CudaDriver &D, CUgraphNode N,
                const std::set<CUgraphNode> &Set);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_GRAPHNODES_H
