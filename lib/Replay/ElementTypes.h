//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the recorded kernel's IR says about the elements of its buffers, for
/// messages about those that differ.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_ELEMENTTYPES_H
#define LLVM_MNEME_LIB_REPLAY_ELEMENTTYPES_H

#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

struct ElementTypes {
  /// MNEME_DTYPE_* of what the kernel stores to a region; bytes where it stores
  /// nothing that is known, or several types.
  std::vector<uint32_t> OfRegion;
  /// What the IR's fast-math flags allow that rounds differently:
  /// "contraction", "reassociation and contraction"; empty: nothing.
  std::string Rounding;
};

/// Takes as long as a small pipeline.
ElementTypes inferElementTypes(const ReplayPlan &Plan);

/// The options that accept the errors of \p Failing, which are of known element
/// types, as rounding errors. Empty where some error is too large for that.
/// \param Scales  the largest finite magnitude of each buffer's recorded values.
std::string suggestTolerances(ArrayRef<BufferReport> Failing,
                              ArrayRef<double> Scales);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_ELEMENTTYPES_H
