//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Unordered.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Runtime/CompareElement.h"
#include "llvm/Mneme/Runtime/Scramble.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// The option
//===----------------------------------------------------------------------===//

/// Larger records than any that a kernel moves as one.
static constexpr uint32_t MaxRecordSize = 1 << 16;

Expected<UnorderedSpec> mneme::parseUnordered(StringRef Text) {
  auto Fail = [&] {
    return createStringError(
        formatv("invalid records '{0}': expected "
                "buffer:size[,buffer:size...][,count=buffer[+offset]], with "
                "sizes from 1 to {1} bytes",
                Text, MaxRecordSize)
            .str());
  };
  UnorderedSpec Spec;
  for (StringRef Word : split(Text, ',')) {
    if (Word.consume_front("count=")) {
      auto [Buffer, Offset] = Word.split('+');
      if (Buffer.empty() || !Spec.Counter.empty() ||
          (Word.contains('+') && Offset.getAsInteger(0, Spec.CounterOffset)))
        return Fail();
      Spec.Counter = Buffer.str();
      continue;
    }
    auto [Buffer, Size] = Word.rsplit(':');
    UnorderedSpec::Column C;
    if (Buffer.empty() || Size.getAsInteger(10, C.Size) || C.Size == 0 ||
        C.Size > MaxRecordSize || !Spec.Counter.empty())
      return Fail();
    C.Buffer = Buffer.str();
    Spec.Columns.push_back(std::move(C));
  }
  if (Spec.Columns.empty())
    return Fail();
  return Spec;
}

std::string mneme::printUnordered(const UnorderedSpec &S) {
  std::string Text;
  ListSeparator LS(",");
  for (const UnorderedSpec::Column &C : S.Columns)
    Text += formatv("{0}{1}:{2}", StringRef(LS), C.Buffer, C.Size).str();
  if (!S.Counter.empty())
    Text += ",count=" + S.Counter;
  if (S.CounterOffset)
    Text += "+" + utostr(S.CounterOffset);
  return Text;
}

CompareLevel ComparePlan::level() const {
  if (!Unordered.empty() || !Indices.empty())
    return CompareLevel::Unordered;
  CompareLevel Level = CompareLevel::Exact;
  for (const ComparePart &P : Parts)
    Level = std::max(Level, P.Rule.level());
  return Level;
}

//===----------------------------------------------------------------------===//
// Sums of hashes
//===----------------------------------------------------------------------===//

void RecordSum::add(ArrayRef<char> Bytes) {
  uint64_t Key = 0;
  if (Bytes.size() <= sizeof(Key))
    std::memcpy(&Key, Bytes.data(), Bytes.size());
  else
    Key = xxh3_64bits(StringRef(Bytes.data(), Bytes.size()));
  // Two independent sums: records that exchange parts must change them.
  uint64_t Hash = scramble(Key + 0x9e3779b97f4a7c15u);
  A += Hash;
  B += scramble(Hash ^ Key);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

namespace {
/// The records of one outcome.
class RecordView {
public:
  RecordView(const UnorderedRecords &R, ArrayRef<PartContents> Contents,
             ArrayRef<char> PartContents::*Side)
      : R(R) {
    for (auto [C, P] : zip_equal(R.Columns, Contents))
      Starts.push_back((P.*Side).data() + C.Offset);
  }

  /// Returns record \p I; valid until the next call, unless there is only one
  /// column.
  ArrayRef<char> get(uint64_t I) {
    const uint32_t Size = R.Columns.front().Size;
    const char *First = Starts.front() + I * Size;
    if (Starts.size() == 1)
      return {First, Size};
    Joined.assign(First, First + Size);
    for (size_t K = 1; K != Starts.size(); ++K) {
      const char *Begin = Starts[K] + I * R.Columns[K].Size;
      Joined.append(Begin, Begin + R.Columns[K].Size);
    }
    return Joined;
  }

  /// Compares two records of two views.
  static int compare(RecordView &A, uint64_t I, RecordView &B, uint64_t J) {
    for (auto [K, C] : enumerate(A.R.Columns))
      if (int Order = std::memcmp(A.Starts[K] + I * C.Size,
                                  B.Starts[K] + J * C.Size, C.Size))
        return Order;
    return 0;
  }

  std::string print(uint64_t I, ArrayRef<CompareRule> Rules) const;

private:
  const UnorderedRecords &R;
  SmallVector<const char *, 2> Starts;
  SmallVector<char, 32> Joined;
};
} // namespace

/// Prints elements if their type is known and whole elements form the record,
/// otherwise bytes.
static std::string printRecord(ArrayRef<char> Bytes, uint32_t DType) {
  constexpr size_t MaxElements = 8;
  unsigned Size = getDTypeSize(DType);
  if (Bytes.size() % Size)
    DType = MNEME_DTYPE_BYTES;
  if (DType == MNEME_DTYPE_BYTES) {
    std::string Text =
        "0x" +
        toHex(StringRef(Bytes.data(), std::min(Bytes.size(), 2 * MaxElements)),
              /*LowerCase=*/true);
    return Bytes.size() > 2 * MaxElements ? Text + "..." : Text;
  }
  std::string Text;
  ListSeparator LS(" ");
  for (size_t I = 0; I < Bytes.size() && I < MaxElements * Size; I += Size)
    Text += StringRef(LS).str() + printElement(&Bytes[I], DType);
  return Bytes.size() > MaxElements * Size ? Text + " ..." : Text;
}

std::string RecordView::print(uint64_t I, ArrayRef<CompareRule> Rules) const {
  std::string Text;
  ListSeparator LS(", ");
  for (auto [Start, C, Rule] : zip_equal(Starts, R.Columns, Rules))
    Text += StringRef(LS).str() +
            printRecord({Start + I * C.Size, C.Size}, Rule.DType);
  return Text;
}

/// Returns the positions of \p Range in the order of the records.
static std::vector<uint64_t> sortRecords(RecordView &V, IndexRange Range) {
  std::vector<uint64_t> Sorted(Range.size());
  for (auto [K, I] : enumerate(Sorted))
    I = Range.Begin + K;
  llvm::sort(Sorted, [&](uint64_t I, uint64_t J) {
    int Order = RecordView::compare(V, I, V, J);
    return Order ? Order < 0 : I < J;
  });
  return Sorted;
}

namespace {
/// Collects what is missing in a range.
struct Difference {
  std::optional<uint64_t> Unexpected, Lacking;
  uint64_t Count = 0;

  void note(std::optional<uint64_t> Expected, std::optional<uint64_t> Actual) {
    if (Expected) {
      ++Count;
      Lacking = std::min(Lacking.value_or(*Expected), *Expected);
    }
    if (Actual)
      Unexpected = std::min(Unexpected.value_or(*Actual), *Actual);
  }
};
} // namespace

/// Both ranges have the same number of records.
static Difference findMissing(RecordView &Expected, RecordView &Actual,
                              IndexRange Range) {
  std::vector<uint64_t> E = sortRecords(Expected, Range);
  std::vector<uint64_t> A = sortRecords(Actual, Range);
  Difference D;
  size_t I = 0, J = 0;
  while (I != E.size() || J != A.size()) {
    int Order = I == E.size() ? 1
                : J == A.size()
                    ? -1
                    : RecordView::compare(Expected, E[I], Actual, A[J]);
    if (Order < 0)
      D.note(E[I++], std::nullopt);
    else if (Order > 0)
      D.note(std::nullopt, A[J++]);
    else
      ++I, ++J;
  }
  return D;
}

static CompareElement loadElement(ArrayRef<char> Bytes, uint32_t DType) {
  uint64_t Bits = 0;
  std::memcpy(&Bits, Bytes.data(), Bytes.size());
  return makeElement(Bits, DType);
}

/// Compares the elements in sorted order: no other assignment has a smaller
/// largest error.
static Difference findDistant(RecordView &Expected, RecordView &Actual,
                              IndexRange Range, const CompareRule &Rule) {
  auto Sort = [&](RecordView &V) {
    std::vector<std::pair<CompareElement, uint64_t>> Sorted;
    for (uint64_t I = Range.Begin; I != Range.End; ++I)
      Sorted.push_back({loadElement(V.get(I), Rule.DType), I});
    llvm::sort(Sorted, [](const auto &A, const auto &B) {
      return std::pair(A.first.Order, A.second) <
             std::pair(B.first.Order, B.second);
    });
    return Sorted;
  };
  Difference D;
  bool ForbidNaN = Rule.NaN == NaNRule::Error;
  for (auto [E, A] : zip_equal(Sort(Expected), Sort(Actual))) {
    bool IsSame = E.first.Order == A.first.Order &&
                  !(ForbidNaN && (E.first.IsNaN || A.first.IsNaN));
    ElementError Error = getElementError(E.first, A.first, ForbidNaN);
    if (!IsSame && (!isWithinTolerance(Error, Rule.Tolerance, Rule.Value) ||
                    Error.Abs > Rule.Measured.value_or(Error.Abs)))
      D.note(E.second, A.second);
  }
  return D;
}

RecordStats mneme::compareRecords(const UnorderedRecords &R,
                                  ArrayRef<PartContents> Contents,
                                  ArrayRef<CompareRule> Rules,
                                  uint64_t Counted) {
  RecordView Expected(R, Contents, &PartContents::Expected);
  RecordView Actual(R, Contents, &PartContents::Actual);
  bool IsTolerant = Rules.front().Tolerance != MNEME_TOLERANCE_EXACT;
  RecordStats S;
  for (IndexRange Range : R.Ranges) {
    Range.End = std::min(Range.End, Counted);
    if (Range.Begin >= Range.End)
      break;
    S.Records += Range.size();
    uint64_t Moved = 0;
    RecordSum OfExpected, OfActual;
    for (uint64_t I = Range.Begin; I != Range.End; ++I) {
      if (RecordView::compare(Expected, I, Actual, I) == 0)
        continue;
      ++Moved;
      OfExpected.add(Expected.get(I));
      OfActual.add(Actual.get(I));
    }
    S.Moved += Moved;
    if (OfExpected == OfActual)
      continue;
    Difference D = IsTolerant
                       ? findDistant(Expected, Actual, Range, Rules.front())
                       : findMissing(Expected, Actual, Range);
    S.Missing += D.Count;
    if (S.First || !D.Count)
      continue;
    S.First = D.Unexpected;
    S.Unexpected = Actual.print(*D.Unexpected, Rules);
    S.Lacking = Expected.print(*D.Lacking, Rules);
  }
  return S;
}

static uint64_t readIndex(const char *P, unsigned Size) {
  return Size == 8 ? support::endian::read64le(P)
                   : support::endian::read32le(P);
}

RecordStats mneme::compareIndices(const RecordIndices &I,
                                  const PartContents &Indices,
                                  const UnorderedRecords &R,
                                  ArrayRef<PartContents> Records) {
  RecordView Expected(R, Records, &PartContents::Expected);
  RecordView Actual(R, Records, &PartContents::Actual);
  uint64_t NumRecords = UINT64_MAX;
  for (auto [C, P] : zip_equal(R.Columns, Records))
    NumRecords =
        std::min<uint64_t>(NumRecords, (P.Expected.size() - C.Offset) / C.Size);
  RecordStats S;
  for (const IndexRange &Range : I.Ranges)
    for (uint64_t At = Range.Begin; At != Range.End; ++At) {
      ++S.Records;
      uint64_t E = readIndex(Indices.Expected.data() + At * I.Size, I.Size);
      uint64_t A = readIndex(Indices.Actual.data() + At * I.Size, I.Size);
      if (E != A)
        ++S.Moved;
      bool IsIndex = E < NumRecords && A < NumRecords;
      bool IsSame =
          IsIndex ? RecordView::compare(Expected, E, Actual, A) == 0 : E == A;
      if (IsSame)
        continue;
      ++S.Missing;
      if (S.First)
        continue;
      S.First = At;
      S.Unexpected = utostr(A);
      S.Lacking = utostr(E);
    }
  return S;
}

uint64_t mneme::readCounter(const UnorderedRecords::CounterPlace &C,
                            ArrayRef<char> Contents) {
  return readIndex(Contents.data() + C.Offset, C.Size);
}

/// Returns "4-byte records" or "records (4 bytes of buffer 3, 8 of buffer 6)".
static std::string nameRecords(const UnorderedRecords &R,
                               ArrayRef<unsigned> Buffers) {
  if (R.Columns.size() == 1)
    return formatv("{0}-byte records", R.Columns.front().Size).str();
  std::string Text = "records (";
  ListSeparator LS(", ");
  for (auto [C, Buffer] : zip_equal(R.Columns, Buffers))
    Text += formatv("{0}{1} bytes of buffer {2}", StringRef(LS), C.Size, Buffer)
                .str();
  return Text + ")";
}

std::string mneme::describeRecords(const UnorderedRecords &R,
                                   const RecordStats &S,
                                   ArrayRef<unsigned> Buffers) {
  std::string Records = nameRecords(R, Buffers);
  std::string Ranges = formatCount(R.Ranges.size(), "range");
  if (S.Moved == 0)
    return formatv("other memory behind {0} counted {1}", S.Records, Records)
        .str();
  if (S.Missing == 0)
    return formatv("the same {0} in another order ({1})", Records, Ranges)
        .str();
  return formatv("{0} of {1} {2} are missing in any order ({3}), such as {4}; "
                 "first unexpected record at {5}: {6}",
                 S.Missing, S.Records, Records, Ranges, S.Lacking, *S.First,
                 S.Unexpected)
      .str();
}

std::string mneme::describeIndices(const RecordIndices &I, const RecordStats &S,
                                   unsigned Buffer) {
  if (S.Missing == 0)
    return formatv("indices of the same records of buffer {0}", Buffer).str();
  return formatv("{0} of {1} indices denote another record of buffer {2}, "
                 "first at {3}: {4} instead of {5}",
                 S.Missing, S.Records, Buffer, *S.First, S.Unexpected,
                 S.Lacking)
      .str();
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

CompareStats mneme::comparePart(const ComparePart &P,
                                const PartContents &Contents) {
  if (P.Skipped.empty())
    return compareMemory(Contents.Expected, Contents.Actual, P.Rule);
  CompareStats All;
  All.Elements = countElements(P.Size, P.Rule.DType);
  unsigned Size = getDTypeSize(P.Rule.DType);
  uint64_t Done = 0;
  auto Compare = [&](uint64_t End) {
    if (End <= Done)
      return;
    CompareStats S =
        compareMemory(Contents.Expected.slice(Done, End - Done),
                      Contents.Actual.slice(Done, End - Done), P.Rule);
    All.Differences += S.Differences;
    All.Mismatches += S.Mismatches;
    All.Pass &= S.Pass;
    All.MaxAbs = std::max(All.MaxAbs, S.MaxAbs);
    All.MaxRel = std::max(All.MaxRel, S.MaxRel);
    All.MaxUlp = std::max(All.MaxUlp, S.MaxUlp);
    if (S.First && !All.First) {
      All.First = Done / Size + *S.First;
      All.Expected = std::move(S.Expected);
      All.Actual = std::move(S.Actual);
    }
  };
  for (const IndexRange &Skipped : P.Skipped) {
    Compare(Skipped.Begin);
    Done = Skipped.End;
    All.SkippedDiffer |=
        std::memcmp(Contents.Expected.data() + Skipped.Begin,
                    Contents.Actual.data() + Skipped.Begin, Skipped.size());
  }
  Compare(P.Size);
  return All;
}
