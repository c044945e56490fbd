//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the memory after a replay with the memory after the recorded
/// launch.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_COMPARE_H
#define LLVM_MNEME_REPLAY_COMPARE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Config/Verdict.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// Whether a NaN matches a recorded NaN.
enum class NaNRule { Equal, Error };

/// The rule for comparing a range. Exact means bitwise equal.
struct CompareRule {
  uint32_t DType = MNEME_DTYPE_BYTES;         ///< MNEME_DTYPE_*.
  uint32_t Tolerance = MNEME_TOLERANCE_EXACT; ///< MNEME_TOLERANCE_*.
  uint32_t Norm = MNEME_NORM_NONE;            ///< MNEME_NORM_*.
  double Value = 0;                           ///< The largest allowed error.
  NaNRule NaN = NaNRule::Equal;
  /// Set if the tolerance was measured: the largest allowed absolute error, in
  /// addition to Value. Excludes a norm.
  std::optional<double> Measured;

  CompareLevel level() const {
    return Measured                             ? CompareLevel::Envelope
           : Tolerance == MNEME_TOLERANCE_EXACT ? CompareLevel::Exact
                                                : CompareLevel::Tolerance;
  }
};

/// A tolerance like "abs:1e-6" or "ulp:4@3": for one buffer or, without '@',
/// for all buffers with a known element type.
struct ToleranceSpec {
  uint32_t Kind = MNEME_TOLERANCE_EXACT;
  double Value = 0;
  std::string Buffer; ///< Number, name of the variable or tag of the
                      ///< annotation.

  bool operator==(const ToleranceSpec &O) const {
    return Kind == O.Kind && Value == O.Value && Buffer == O.Buffer;
  }
};
/// Parses a tolerance in the above syntax.
Expected<ToleranceSpec> parseTolerance(StringRef Text);

/// An element type like "f32" or "f64@out", for one buffer or all.
struct ElementTypeSpec {
  uint32_t DType = MNEME_DTYPE_BYTES;
  std::string Buffer;

  bool operator==(const ElementTypeSpec &O) const {
    return DType == O.DType && Buffer == O.Buffer;
  }
};
/// Parses an element type in the above syntax.
Expected<ElementTypeSpec> parseElementType(StringRef Text);

/// Parses "none", "l1", "l2" or "linf".
Expected<uint32_t> parseNorm(StringRef Text);
/// Parses "equal" or "error".
Expected<NaNRule> parseNaNRule(StringRef Text);

StringRef getDTypeName(uint32_t DType);
/// Returns the bytes of an element.
unsigned getDTypeSize(uint32_t DType);
StringRef getNormName(uint32_t Norm);
/// "exact", "abs:1e-06".
std::string getToleranceText(const CompareRule &Rule);

/// The result of comparing two ranges.
struct CompareStats {
  uint64_t Elements = 0;
  uint64_t Differences = 0; ///< Elements whose bits differ.
  uint64_t Mismatches = 0;  ///< Elements out of tolerance.
  bool Pass = true;
  std::optional<uint64_t> First;             ///< Index of the first mismatch.
  std::string Expected, Actual;              ///< The elements at First, as
                                             ///< text.
  double MaxAbs = 0, MaxRel = 0, MaxUlp = 0; ///< Over all differing elements.
  std::optional<double> NormError; ///< Norm of the difference, if Norm is set.
  /// Whether bytes differ that are not compared by position (ComparePart).
  bool SkippedDiffer = false;

  bool isIdentical() const { return Differences == 0 && !SkippedDiffer; }
};

/// Compares two ranges of the same size. A tail shorter than an element is
/// compared as bytes. With a norm, Pass is the check of the norm of the
/// differences, divided by the norm of the recorded values if the tolerance is
/// relative. Mismatches then counts the differing elements if Pass is false.
CompareStats compareMemory(ArrayRef<char> Expected, ArrayRef<char> Actual,
                           const CompareRule &Rule);

/// Fails \p Stats if an error exceeds CompareRule::Measured, which comparisons
/// of single elements do not check.
void applyMeasuredLimit(CompareStats &Stats, const CompareRule &Rule);

/// Returns the largest finite magnitude of the whole elements; 0 for bytes.
double findLargest(ArrayRef<char> Bytes, uint32_t DType);

/// Returns the number of elements in \p Size bytes; each byte of the tail
/// counts.
uint64_t countElements(uint64_t Size, uint32_t DType);

/// Offset and type of an element; elements of the tail are bytes.
struct ElementPlace {
  uint64_t Offset;
  uint32_t DType;
};
ElementPlace findElement(uint64_t Size, uint32_t DType, uint64_t Index);

/// Prints the element at \p P. Distinct values of a type, except NaNs, print
/// differently.
std::string printElement(const char *P, uint32_t DType);

/// The comparison of one buffer or of an annotated part of it.
struct BufferReport {
  uint32_t Id = 0;
  bool IsGlobal = false;
  std::string Name; ///< Name of the variable or tag of the annotation; may be
                    ///< empty.
  uint64_t Address = 0, Size = 0;
  CompareRule Rule;
  CompareStats Stats;
  /// Bytes per record if records may be in any order; otherwise 0.
  uint32_t RecordSize = 0;
  /// The level that the buffer needs: Exact if its bits are equal, that of its
  /// rules if it fails.
  CompareLevel Level = CompareLevel::Exact;
  /// How records in another order verify, or why they fail; may be empty.
  std::string Records;
  /// For a failed buffer: whether a second launch of the same code left the
  /// same bytes. Unset if not tested.
  std::optional<bool> Reproducible;
  /// For a failed buffer: hexadecimal digest of the bytes that the launch left.
  /// Empty if not computed.
  std::string Digest;
};

json::Value toJSON(const BufferReport &R);
bool fromJSON(const json::Value &V, BufferReport &R, json::Path P);

/// A write by a launch to unallocated memory next to a buffer.
struct StrayWrite {
  uint64_t Address = 0;  ///< The first byte written.
  uint64_t Distance = 0; ///< Bytes between Address and the buffer.
  uint32_t Buffer = 0;   ///< BufferReport::Id.
  bool IsBehind = true;  ///< Past the end of the buffer; otherwise before its
                         ///< start.
};

json::Value toJSON(const StrayWrite &W);
bool fromJSON(const json::Value &V, StrayWrite &W, json::Path P);

/// The comparison of all memory after a launch with the recorded outcome.
struct MemoryComparison {
  std::vector<BufferReport> Buffers;
  std::optional<StrayWrite> Stray; ///< The stray write at the lowest address.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_COMPARE_H
