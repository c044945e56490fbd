//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Divergence between the threads of a block.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_HOSTDIVERGENCE_H
#define LLVM_MNEME_LIB_DEVICE_HOST_HOSTDIVERGENCE_H

#include "llvm/ADT/BitVector.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
namespace mneme {
namespace host {

/// Which blocks the threads of a block enter together, and which values are
/// uniform.
class Divergence {
  Function &F;
  FunctionAnalysisManager FAM;
  UniformityInfo *UI = nullptr;
  DenseMap<const BasicBlock *, unsigned> Number;
  SmallVector<BasicBlock *, 32> Blocks;
  BitVector ReachesSync;
  BitVector Apart;
  bool HasEarlyExit = false;

public:
  explicit Divergence(Function &F);

  bool isDivergent(const Value &V) const { return UI->isDivergent(&V); }
  /// \returns whether some threads may run \p BB while others, which have not
  /// ended, do not. Only for blocks from which a sync point can be reached.
  bool isApart(const BasicBlock &BB) const { return Apart[Number.lookup(&BB)]; }
  /// \returns whether some threads may end, or leave the part of the kernel
  /// with sync points, before others.
  bool hasEarlyExit() const { return HasEarlyExit; }

private:
  void findReachesSync();
  void findApart();
};

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_HOSTDIVERGENCE_H
