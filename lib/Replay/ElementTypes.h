//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Element types of buffers according to the recorded kernel's IR, for messages
/// about mismatches.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_ELEMENTTYPES_H
#define LLVM_MNEME_LIB_REPLAY_ELEMENTTYPES_H

#include "llvm/IR/ConstantRange.h"
#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

/// What the values that a kernel loads decide, and what the IR says of them.
struct LoadedValues {
  /// Where the kernel writes, where it reads, how often a loop runs.
  bool FindsWrites = false, FindsReads = false, EndsLoops = false;
  /// Of integers; unset if there are none.
  std::optional<ConstantRange> Range;

  bool findMemory() const { return FindsWrites || FindsReads; }
  bool decideAll() const { return FindsWrites && FindsReads && EndsLoops; }
  void merge(const LoadedValues &Other);
};

/// A member of the records in a region.
struct RecordMember {
  uint32_t Offset;
  uint32_t Size;
  uint32_t DType; ///< MNEME_DTYPE_BYTES if unknown, or if it has several types.
  bool IsRead;
  LoadedValues Values;
};

struct RecordLayout {
  uint32_t Size = 0;                 ///< 0 if unknown.
  std::vector<RecordMember> Members; ///< That the kernel accesses, in order.
};

struct ElementTypes {
  /// MNEME_DTYPE_* of the values that the kernel stores to each region;
  /// MNEME_DTYPE_BYTES if unknown or if there are several types.
  std::vector<uint32_t> OfRegion;
  /// The same for the values that the kernel loads or stores.
  std::vector<uint32_t> OfAccess;
  /// Regions that the kernel may load from, by a pointer that is attributed to
  /// them.
  std::vector<bool> IsRead;
  /// Regions that the kernel may store to, by such a pointer.
  std::vector<bool> IsWritten;
  /// Of the values that the kernel loads from each region.
  std::vector<LoadedValues> OfLoads;
  /// Of each region, as the kernel addresses it.
  std::vector<RecordLayout> Records;
  /// The kernel may read memory by pointers that are attributed to no region.
  bool ReadsUnknown = false;
  /// It may write such memory, as through the handle of a surface.
  bool WritesUnknown = false;
  /// The IR's fast-math flags promise that there are no NaNs or infinities.
  bool PromisesFinite = false;
  /// Bytes with which the kernel addresses what it stores to each region: the
  /// size of its records. 0 if unknown.
  std::vector<uint32_t> StrideOfRegion;
  /// Transformations with different rounding that the IR's fast-math flags
  /// permit: "contraction", "reassociation and contraction"; empty if none.
  std::string Rounding;
};

/// Takes as long as a small pipeline.
/// \param FollowsValues  set OfLoads and Records, too.
ElementTypes inferElementTypes(const ReplayPlan &Plan,
                               bool FollowsValues = false);

/// Returns the largest error, relative to the values, that is attributed to
/// rounding: about half of a type's digits. 0 for integers and bytes.
double getRoundingShare(uint32_t DType);

/// Returns options that accept the errors of \p Failing, whose element types
/// are known, as rounding errors; empty if an error is too large for that.
/// \param Scales  largest finite magnitude of each buffer's recorded values.
std::string suggestTolerances(ArrayRef<BufferReport> Failing,
                              ArrayRef<double> Scales);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_ELEMENTTYPES_H
