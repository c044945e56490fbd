//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Comparing the memory after a replay with the memory after the recorded
/// launch.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_COMPARE_H
#define LLVM_MNEME_REPLAY_COMPARE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// May a NaN stand where a NaN was recorded?
enum class NaNRule { Equal, Error };

/// How a range is compared. Exact means equal bits.
struct CompareRule {
  uint32_t DType = MNEME_DTYPE_BYTES;         ///< MNEME_DTYPE_*.
  uint32_t Tolerance = MNEME_TOLERANCE_EXACT; ///< MNEME_TOLERANCE_*.
  uint32_t Norm = MNEME_NORM_NONE;            ///< MNEME_NORM_*.
  double Value = 0;                           ///< The largest error allowed.
  NaNRule NaN = NaNRule::Equal;
};

/// "abs:1e-6", "ulp:4@3": a tolerance, for one buffer or (no '@') for all whose
/// element type is known.
struct ToleranceSpec {
  uint32_t Kind = MNEME_TOLERANCE_EXACT;
  double Value = 0;
  std::string Buffer; ///< Number, variable's name or annotation's tag.

  bool operator==(const ToleranceSpec &O) const {
    return Kind == O.Kind && Value == O.Value && Buffer == O.Buffer;
  }
};
Expected<ToleranceSpec> parseTolerance(StringRef Text);

/// "f32", "f64@out": the element type of one buffer or of all.
struct ElementTypeSpec {
  uint32_t DType = MNEME_DTYPE_BYTES;
  std::string Buffer;

  bool operator==(const ElementTypeSpec &O) const {
    return DType == O.DType && Buffer == O.Buffer;
  }
};
Expected<ElementTypeSpec> parseElementType(StringRef Text);

/// "none", "l1", "l2", "linf".
Expected<uint32_t> parseNorm(StringRef Text);
/// "equal", "error".
Expected<NaNRule> parseNaNRule(StringRef Text);

StringRef getDTypeName(uint32_t DType);
/// Bytes of an element.
unsigned getDTypeSize(uint32_t DType);
StringRef getNormName(uint32_t Norm);
/// "exact", "abs:1e-06".
std::string getToleranceText(const CompareRule &Rule);

struct CompareStats {
  uint64_t Elements = 0;
  uint64_t Differences = 0; ///< Elements whose bits differ.
  uint64_t Mismatches = 0;  ///< Elements out of tolerance.
  bool Pass = true;
  std::optional<uint64_t> First;             ///< Index of the first mismatch.
  std::string Expected, Actual;              ///< The elements there, as text.
  double MaxAbs = 0, MaxRel = 0, MaxUlp = 0; ///< Over differing elements.
  std::optional<double> NormError; ///< With a norm: of the difference.
};

/// Compares two ranges of the same size. A tail shorter than an element is
/// compared as bytes. With a norm, Pass speaks of the norm of the differences
/// (divided by that of the recorded values when the tolerance is relative), and
/// Mismatches counts what differs if it fails.
CompareStats compareMemory(ArrayRef<char> Expected, ArrayRef<char> Actual,
                           const CompareRule &Rule);

/// The largest finite magnitude of the whole elements of a range; of bytes: 0.
double findLargest(ArrayRef<char> Bytes, uint32_t DType);

/// Elements of a range of \p Size bytes, the bytes of its tail included.
uint64_t countElements(uint64_t Size, uint32_t DType);

/// Where an element of a range is, and of what type; a byte of the tail has its
/// own.
struct ElementPlace {
  uint64_t Offset;
  uint32_t DType;
};
ElementPlace findElement(uint64_t Size, uint32_t DType, uint64_t Index);

/// The element at \p P, so that no two of a type have the same text (but NaNs).
std::string printElement(const char *P, uint32_t DType);

/// The comparison of one buffer, or of one annotated part of one.
struct BufferReport {
  uint32_t Id = 0;
  bool IsGlobal = false;
  std::string Name; ///< Variable's name or annotation's tag; may be empty.
  uint64_t Address = 0, Size = 0;
  CompareRule Rule;
  CompareStats Stats;
  /// Of a buffer that fails: whether a second launch of the same code left the
  /// same bytes there. Unset: nobody looked.
  std::optional<bool> Reproducible;
  /// Of a buffer that fails: of what the launch left there, in hexadecimal.
  /// Empty: nobody looked.
  std::string Digest;
};

json::Value toJSON(const BufferReport &R);
bool fromJSON(const json::Value &V, BufferReport &R, json::Path P);

/// Memory beside a buffer that holds no buffer and that a launch has written.
struct StrayWrite {
  uint64_t Address = 0;  ///< First byte that was written.
  uint64_t Distance = 0; ///< Bytes between it and the buffer.
  uint32_t Buffer = 0;   ///< BufferReport::Id.
  bool IsBehind = true;  ///< Past the buffer's end, else before its beginning.
};

json::Value toJSON(const StrayWrite &W);
bool fromJSON(const json::Value &V, StrayWrite &W, json::Path P);

/// All that a launch left, compared with what the recorded launch left.
struct MemoryComparison {
  std::vector<BufferReport> Buffers;
  std::optional<StrayWrite> Stray; ///< The one at the lowest address.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_COMPARE_H
