//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Comparison of memory as records in any order, for compaction and queues, and
/// the plan of a whole comparison (docs/Verification.rst, "Levels").
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_UNORDERED_H
#define LLVM_MNEME_REPLAY_UNORDERED_H

#include "llvm/Mneme/Replay/Compare.h"
#include <vector>

namespace llvm {
namespace mneme {

/// A half-open range.
struct IndexRange {
  uint64_t Begin = 0, End = 0;

  uint64_t size() const { return End - Begin; }
  bool operator==(const IndexRange &O) const {
    return Begin == O.Begin && End == O.End;
  }
};

//===----------------------------------------------------------------------===//
// The option
//===----------------------------------------------------------------------===//

/// Records of one or several buffers: "out:4" or "keys:4,values:8,count=n+4".
struct UnorderedSpec {
  struct Column {
    std::string Buffer; ///< As in ToleranceSpec.
    uint32_t Size = 0;  ///< Bytes per record.

    bool operator==(const Column &O) const {
      return Buffer == O.Buffer && Size == O.Size;
    }
  };
  /// Record I consists of the I-th record of each buffer.
  std::vector<Column> Columns;
  /// The buffer with the number of records; empty: as many as fit.
  std::string Counter;
  uint64_t CounterOffset = 0; ///< Bytes.

  bool operator==(const UnorderedSpec &O) const {
    return Columns == O.Columns && Counter == O.Counter &&
           CounterOffset == O.CounterOffset;
  }
};
/// Parses such a text.
Expected<UnorderedSpec> parseUnordered(StringRef Text);
std::string printUnordered(const UnorderedSpec &S);

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// A part of one region that is compared under one rule.
struct ComparePart {
  size_t Region;
  uint64_t Offset, Size;
  std::string Name;
  CompareRule Rule;
  /// Offsets in the part, sorted: bytes that are compared as records, or not at
  /// all, instead of by position.
  std::vector<IndexRange> Skipped = {};
};

/// Records whose order does not matter.
struct UnorderedRecords {
  struct Column {
    size_t Part = 0;     ///< Index of the part.
    uint64_t Offset = 0; ///< Of record 0 in the part.
    uint32_t Size = 0;   ///< Bytes per record.
  };
  std::vector<Column> Columns; ///< At least one.
  /// Indices of records, sorted. A record stays in its range.
  std::vector<IndexRange> Ranges;
  /// Where the number of records is, if the recording has it. Records behind it
  /// are not compared.
  struct CounterPlace {
    size_t Part;
    uint64_t Offset;
    uint32_t Size; ///< 4 or 8 bytes.
  };
  std::optional<CounterPlace> Counter;
  bool IsFound = false; ///< By an envelope; otherwise given.
};

/// Indices of records: where the indices differ, the records that they denote
/// are compared.
struct RecordIndices {
  size_t Part = 0;
  uint32_t Size = 4;              ///< Bytes per index: 4 or 8.
  std::vector<IndexRange> Ranges; ///< Of indices, from the start of the part.
  size_t Records = 0;             ///< Index in ComparePlan::Unordered.
};

/// How to compare all memory.
struct ComparePlan {
  std::vector<ComparePart> Parts;
  std::vector<UnorderedRecords> Unordered;
  std::vector<RecordIndices> Indices;

  ComparePlan() = default;
  ComparePlan(std::vector<ComparePart> Parts) : Parts(std::move(Parts)) {}

  /// Returns the most lenient level of all rules.
  CompareLevel level() const;
};

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// The contents of a part after the recorded launch and after another one.
struct PartContents {
  ArrayRef<char> Expected, Actual;
};

/// The result of comparing records.
struct RecordStats {
  uint64_t Records = 0;
  uint64_t Moved = 0;            ///< Positions whose records differ.
  uint64_t Missing = 0;          ///< Expected records without an actual one.
  std::optional<uint64_t> First; ///< Position of the first unexpected record.
  std::string Unexpected;        ///< The record there, as text.
  std::string Lacking;           ///< The first missing record, as text.
};

/// A sum of hashes, which does not depend on the order of the summands.
struct RecordSum {
  uint64_t A = 0, B = 0;

  void add(ArrayRef<char> Bytes);
  bool operator==(const RecordSum &O) const { return A == O.A && B == O.B; }
};

/// Compares the records of \p R. With a tolerance, which needs one column whose
/// records are elements, sorted records are compared.
/// \param Contents  of each column's part.
/// \param Counted   the number of recorded records.
RecordStats compareRecords(const UnorderedRecords &R,
                           ArrayRef<PartContents> Contents,
                           ArrayRef<CompareRule> Rules, uint64_t Counted);

/// Compares what \p I denotes. Positions are those of the indices.
/// \param Indices  of the indices' part.
RecordStats compareIndices(const RecordIndices &I, const PartContents &Indices,
                           const UnorderedRecords &R,
                           ArrayRef<PartContents> Records);

/// Describes what was compared.
/// \param Buffers  the number of each column's buffer.
std::string describeRecords(const UnorderedRecords &R, const RecordStats &S,
                            ArrayRef<unsigned> Buffers);
/// The same for indices of records of buffer \p Buffer.
std::string describeIndices(const RecordIndices &I, const RecordStats &S,
                            unsigned Buffer);

/// Returns the counter's value in the contents of its part.
uint64_t readCounter(const UnorderedRecords::CounterPlace &C,
                     ArrayRef<char> Contents);

/// Compares a part by position, except for the bytes that it skips.
CompareStats comparePart(const ComparePart &P, const PartContents &Contents);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_UNORDERED_H
