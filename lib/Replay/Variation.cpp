//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Variation.h"
#include "ElementTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Margin of the measured errors: the next of N + 1 equally distributed errors
/// exceeds all others with probability 1 / (N + 1).
static constexpr double ErrorMargin = 2;

/// Largest record to try if the kernel's code shows no size.
static constexpr unsigned MaxTriedRecord = 16;

/// Larger strides are those of rows, not of records.
static constexpr unsigned MaxStride = 256;

static std::vector<IndexRange> mergeRanges(std::vector<IndexRange> Ranges) {
  llvm::sort(Ranges, [](const IndexRange &A, const IndexRange &B) {
    return A.Begin < B.Begin;
  });
  std::vector<IndexRange> Merged;
  for (const IndexRange &R : Ranges)
    if (!Merged.empty() && R.Begin < Merged.back().End)
      Merged.back().End = std::max(Merged.back().End, R.End);
    else
      Merged.push_back(R);
  return Merged;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

namespace {
/// Elements of one part, in all outcomes.
class Elements {
public:
  Elements(ArrayRef<ArrayRef<char>> All, unsigned Size)
      : All(All), Size(Size), Count(All.front().size() / Size), Varies(Count) {
    for (ArrayRef<char> One : All.drop_front())
      for (uint64_t I = 0; I != Count; ++I)
        if (differs(One, I))
          Varies[I] = true;
  }

  uint64_t count() const { return Count; }
  bool varies(uint64_t I) const { return Varies[I]; }
  /// Returns the shortest range in \p R that contains all varying elements.
  IndexRange hull(IndexRange R) const {
    while (R.Begin != R.End && !Varies[R.Begin])
      ++R.Begin;
    while (R.Begin != R.End && !Varies[R.End - 1])
      --R.End;
    return R;
  }
  /// Returns for each position whether the elements before it, or from it to
  /// the end, are the same in all outcomes, in any order.
  std::vector<bool> findCuts(bool FromEnd) const;

private:
  ArrayRef<ArrayRef<char>> All;
  unsigned Size;
  uint64_t Count;
  std::vector<bool> Varies;

  ArrayRef<char> get(ArrayRef<char> One, uint64_t I) const {
    return One.slice(I * Size, Size);
  }
  bool differs(ArrayRef<char> One, uint64_t I) const {
    return std::memcmp(All.front().data() + I * Size, One.data() + I * Size,
                       Size) != 0;
  }
};

/// The order of one part's elements.
struct FoundRanges {
  std::vector<IndexRange> Ranges; ///< Of bytes.
  IndexRange Rest;                ///< Bytes that no order explains.
};
} // namespace

std::vector<bool> Elements::findCuts(bool FromEnd) const {
  std::vector<bool> Cuts(Count + 1, true);
  for (ArrayRef<char> One : All.drop_front()) {
    RecordSum First, Other;
    for (uint64_t Step = 0; Step != Count; ++Step) {
      uint64_t I = FromEnd ? Count - 1 - Step : Step;
      if (differs(One, I)) {
        First.add(get(All.front(), I));
        Other.add(get(One, I));
      }
      if (!(First == Other))
        Cuts[FromEnd ? I : I + 1] = false;
    }
  }
  return Cuts;
}

/// Cuts the elements where all outcomes agree on what comes before, and behind
/// unexplained elements, on what comes after.
static FoundRanges findRanges(const Elements &E, unsigned Size) {
  FoundRanges Found;
  uint64_t Begin = 0, End = E.count();
  auto Add = [&](uint64_t From, uint64_t To) {
    IndexRange R = E.hull({From, To});
    if (R.size())
      Found.Ranges.push_back({R.Begin * Size, R.End * Size});
  };
  auto AddAll = [&](const std::vector<bool> &Cuts, uint64_t From, uint64_t To) {
    uint64_t Last = From;
    for (uint64_t I = From + 1; I <= To; ++I)
      if (Cuts[I]) {
        Add(Last, I);
        Last = I;
      }
    return Last;
  };
  Begin = AddAll(E.findCuts(/*FromEnd=*/false), Begin, End);
  if (Begin == End)
    return Found;
  std::vector<bool> Cuts = E.findCuts(/*FromEnd=*/true);
  uint64_t Behind = Begin;
  while (!Cuts[Behind])
    ++Behind;
  AddAll(Cuts, Behind, End);
  IndexRange Rest = E.hull({Begin, Behind});
  Found.Rest = {Rest.Begin * Size, Rest.End * Size};
  return Found;
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// Returns true if each range holds the same records in all outcomes.
static bool holdsInAll(const UnorderedRecords &R,
                       ArrayRef<const PartOutcomes *> Outcomes) {
  SmallVector<char, 64> Record[2];
  size_t NumOutcomes = Outcomes.front()->All.size();
  auto Get = [&](unsigned Which, size_t Outcome, uint64_t I) {
    SmallVector<char, 64> &To = Record[Which];
    To.clear();
    for (auto [C, O] : zip_equal(R.Columns, Outcomes)) {
      const char *At = O->All[Outcome].data() + C.Offset + I * C.Size;
      To.append(At, At + C.Size);
    }
  };
  for (size_t Outcome = 1; Outcome != NumOutcomes; ++Outcome)
    for (const IndexRange &Range : R.Ranges) {
      RecordSum First, Other;
      for (uint64_t I = Range.Begin; I != Range.End; ++I) {
        Get(0, 0, I);
        Get(1, Outcome, I);
        if (Record[0] == Record[1])
          continue;
        First.add(Record[0]);
        Other.add(Record[1]);
      }
      if (!(First == Other))
        return false;
    }
  return true;
}

/// Returns records of \p Size bytes, the first at \p Offset, that cover the
/// ranges; std::nullopt if they do not explain all outcomes.
static std::optional<UnorderedRecords>
makeRecords(const PartOutcomes &O, size_t Part, const FoundRanges &Found,
            uint32_t Size, uint64_t Offset) {
  UnorderedRecords R;
  R.IsFound = true;
  R.Columns.push_back({Part, Offset, Size});
  for (const IndexRange &Range : Found.Ranges) {
    if (Range.Begin < Offset)
      return std::nullopt;
    IndexRange Whole = {(Range.Begin - Offset) / Size,
                        divideCeil(Range.End - Offset, Size)};
    IndexRange Bytes = {Offset + Whole.Begin * Size, Offset + Whole.End * Size};
    bool MeetsRest = Found.Rest.size() && Bytes.Begin < Found.Rest.End &&
                     Found.Rest.Begin < Bytes.End;
    if (Bytes.End > O.All.front().size() || MeetsRest)
      return std::nullopt;
    R.Ranges.push_back(Whole);
  }
  R.Ranges = mergeRanges(std::move(R.Ranges));
  if (!holdsInAll(R, &O))
    return std::nullopt;
  return R;
}

/// Chooses the size of the records: the stride of the kernel, otherwise the
/// largest that explains all outcomes. Elements always do.
static UnorderedRecords chooseRecords(const PartOutcomes &O, size_t Part,
                                      const FoundRanges &Found,
                                      unsigned ElementSize) {
  SmallVector<uint32_t> Sizes;
  if (O.Stride > ElementSize && O.Stride <= MaxStride)
    Sizes.push_back(O.Stride);
  for (unsigned Size = MaxTriedRecord; Size > ElementSize && !O.Stride; --Size)
    if (Size % ElementSize == 0)
      Sizes.push_back(Size);
  for (uint32_t Size : Sizes) {
    uint64_t Phase = Found.Ranges.front().Begin % Size;
    for (uint64_t Offset : {uint64_t(0), Phase}) {
      if (std::optional<UnorderedRecords> R =
              makeRecords(O, Part, Found, Size, Offset))
        return *R;
      if (Phase == 0)
        break;
    }
  }
  return *makeRecords(O, Part, Found, ElementSize, 0);
}

/// Returns the size of the elements that records consist of.
static unsigned getElementSize(const PartOutcomes &O) {
  if (O.DType != MNEME_DTYPE_BYTES)
    return getDTypeSize(O.DType);
  return O.Stride ? std::gcd(O.Stride, 4u) : 4;
}

//===----------------------------------------------------------------------===//
// All parts
//===----------------------------------------------------------------------===//

namespace {
class Explainer {
public:
  Explainer(ComparePlan &Plan, ArrayRef<PartOutcomes> Outcomes,
            ArrayRef<CounterCandidate> Counters,
            std::vector<BufferVariation> &Variations)
      : Plan(Plan), Outcomes(Outcomes), Counters(Counters),
        Variations(Variations), FirstGroup(Plan.Unordered.size()) {}

  void run();

private:
  ComparePlan &Plan;
  ArrayRef<PartOutcomes> Outcomes;
  ArrayRef<CounterCandidate> Counters;
  std::vector<BufferVariation> &Variations;
  const size_t FirstGroup; ///< Groups before it are given by the user.

  bool isConstant(BufferVariation &V);
  bool explainByOrder(BufferVariation &V);
  bool explainByRounding(BufferVariation &V);
  void refuse(BufferVariation &V) const;
  bool ignoreRest(const FoundRanges &Found, UnorderedRecords &R,
                  std::string &Reason);
  std::optional<uint32_t> join(const UnorderedRecords &R);
  void skip(UnorderedRecords &R);
  void explainByIndices(BufferVariation &V);
  bool denoteSame(const RecordIndices &I) const;
};
} // namespace

/// If the replays agree with each other, but not with the recording, they do
/// not vary: the recording depends on something else, such as fast math.
bool Explainer::isConstant(BufferVariation &V) {
  assert(Outcomes[V.Part].All.size() > 1 && "no replay");
  ArrayRef<ArrayRef<char>> Replays =
      ArrayRef(Outcomes[V.Part].All).drop_front();
  if (any_of(Replays, [&](ArrayRef<char> One) { return One != Replays[0]; }))
    return false;
  if (Outcomes[V.Part].MayRound && explainByRounding(V))
    return true;
  V.Kind = BufferVariation::Constant;
  V.Reason = "all replays agree with each other, but not with the recording";
  return true;
}

/// Looks for a counter whose records end before the unexplained bytes.
bool Explainer::ignoreRest(const FoundRanges &Found, UnorderedRecords &R,
                           std::string &Reason) {
  const UnorderedRecords::Column &C = R.Columns.front();
  uint64_t Last = Found.Ranges.back().End;
  if (Last > Found.Rest.Begin)
    return false;
  const CounterCandidate *Best = nullptr;
  auto GetEnd = [&](const CounterCandidate &K) {
    return C.Offset + K.Value * C.Size;
  };
  for (const CounterCandidate &K : Counters)
    if (K.Value <= Found.Rest.End / C.Size && K.Place.Part != C.Part &&
        GetEnd(K) >= Last && GetEnd(K) <= Found.Rest.Begin &&
        (!Best || K.Value > Best->Value))
      Best = &K;
  if (!Best)
    return false;
  R.Counter = Best->Place;
  Plan.Parts[C.Part].Skipped.push_back({GetEnd(*Best), Found.Rest.End});
  Reason = formatv("; memory behind {0} is not compared",
                   formatCount(Best->Value, "counted record"))
               .str();
  return true;
}

/// Adds the columns of \p R to a group whose records move together with its
/// own. \returns the group's first buffer.
std::optional<uint32_t> Explainer::join(const UnorderedRecords &R) {
  for (size_t G = FirstGroup; G != Plan.Unordered.size(); ++G) {
    UnorderedRecords Joined = Plan.Unordered[G];
    if (Joined.Counter.has_value() != R.Counter.has_value())
      continue;
    size_t NumRanges = Joined.Ranges.size();
    append_range(Joined.Columns, R.Columns);
    append_range(Joined.Ranges, R.Ranges);
    Joined.Ranges = mergeRanges(std::move(Joined.Ranges));
    std::vector<const PartOutcomes *> Of;
    bool Fits = Joined.Ranges.size() <= std::min(NumRanges, R.Ranges.size());
    for (const UnorderedRecords::Column &C : Joined.Columns) {
      Of.push_back(&Outcomes[C.Part]);
      Fits &= C.Offset + Joined.Ranges.back().End * C.Size <=
              Of.back()->All.front().size();
    }
    if (!Fits || !holdsInAll(Joined, Of))
      continue;
    Plan.Unordered[G] = std::move(Joined);
    return Outcomes[Plan.Unordered[G].Columns.front().Part].Buffer;
  }
  return std::nullopt;
}

/// Excludes the records from the comparison by position.
void Explainer::skip(UnorderedRecords &R) {
  for (const UnorderedRecords::Column &C : R.Columns) {
    std::vector<IndexRange> &Skipped = Plan.Parts[C.Part].Skipped;
    for (const IndexRange &Range : R.Ranges)
      Skipped.push_back(
          {C.Offset + Range.Begin * C.Size, C.Offset + Range.End * C.Size});
    Skipped = mergeRanges(std::move(Skipped));
  }
}

bool Explainer::explainByOrder(BufferVariation &V) {
  const PartOutcomes &O = Outcomes[V.Part];
  unsigned Size = getElementSize(O);
  if (O.All.front().size() < 2 * Size)
    return false;
  Elements E(O.All, Size);
  // The bytes of the tail are compared by position.
  uint64_t Whole = E.count() * Size;
  if (any_of(O.All, [&](ArrayRef<char> One) {
        return One.drop_front(Whole) != O.All.front().drop_front(Whole);
      }))
    return false;
  FoundRanges Found = findRanges(E, Size);
  if (Found.Ranges.empty())
    return false;
  UnorderedRecords R = chooseRecords(O, V.Part, Found, Size);
  std::string Rest;
  if (Found.Rest.size() && !ignoreRest(Found, R, Rest))
    return false;
  // A measured or given tolerance does not apply to records.
  CompareRule &Rule = Plan.Parts[V.Part].Rule;
  Rule.DType = O.DType;
  Rule.Tolerance = MNEME_TOLERANCE_EXACT;
  Rule.Norm = MNEME_NORM_NONE;
  V.Kind = BufferVariation::Order;
  V.RecordSize = R.Columns.front().Size;
  V.Ranges = R.Ranges.size();
  V.Reason = formatv("the same {0}-byte records in another order, in {1}",
                     V.RecordSize, formatCount(V.Ranges, "range"))
                 .str() +
             Rest;
  skip(R);
  if (std::optional<uint32_t> Other = join(R))
    V.Reason += formatv(", together with those of buffer {0}", *Other).str();
  else
    Plan.Unordered.push_back(std::move(R));
  return true;
}

bool Explainer::explainByRounding(BufferVariation &V) {
  const PartOutcomes &O = Outcomes[V.Part];
  double Share = getRoundingShare(O.DType);
  if (Share == 0)
    return false;
  CompareRule &Rule = Plan.Parts[V.Part].Rule;
  CompareRule Bits;
  Bits.DType = O.DType;
  double MaxAbs = 0, MaxUlp = 0, MaxRel = 0;
  for (ArrayRef<char> One : ArrayRef(O.All).drop_front()) {
    CompareStats S = compareMemory(O.All.front(), One, Bits);
    MaxAbs = std::max(MaxAbs, S.MaxAbs);
    MaxUlp = std::max(MaxUlp, S.MaxUlp);
    MaxRel = std::max(MaxRel, S.MaxRel);
  }
  double Scale = findLargest(O.All.front(), O.DType);
  bool IsSmall =
      std::isfinite(MaxAbs) && (MaxRel <= Share || MaxAbs <= Share * Scale);
  std::string Error =
      formatv("{0}", format("%.3g", Scale > 0 ? MaxAbs / Scale : MaxRel))
          .str();
  if (!IsSmall) {
    V.Reason = "errors of up to " + Error +
               " of the largest value, more than "
               "rounding errors";
    return false;
  }
  Rule.DType = O.DType;
  Rule.Tolerance = MNEME_TOLERANCE_ULP;
  Rule.Value = ErrorMargin * MaxUlp;
  Rule.Measured = ErrorMargin * MaxAbs;
  Rule.Norm = MNEME_NORM_NONE;
  V.Kind = BufferVariation::Rounding;
  V.MaxAbs = MaxAbs;
  V.MaxUlp = MaxUlp;
  V.Reason = formatv("at most {0} ulp, {1}", format("%.3g", MaxUlp),
                     format("%.3g", MaxAbs))
                 .str();
  return true;
}

void Explainer::refuse(BufferVariation &V) const {
  const PartOutcomes &O = Outcomes[V.Part];
  std::set<std::vector<char>> Distinct;
  for (ArrayRef<char> One : O.All)
    Distinct.insert(One.vec());
  if (V.Reason.empty())
    V.Reason = formatv("{0} different contents in {1} outcomes, which neither "
                       "rounding nor another order explains",
                       Distinct.size(), O.All.size())
                   .str();
  if (O.DType == MNEME_DTYPE_BYTES)
    V.Reason += " (elements of unknown type: give it with --dtype if they are "
                "floats)";
}

/// Returns true if the indices denote the same records in all outcomes, and
/// not all of them the same record.
bool Explainer::denoteSame(const RecordIndices &I) const {
  const UnorderedRecords &R = Plan.Unordered[I.Records];
  const PartOutcomes &Indices = Outcomes[I.Part];
  for (size_t Outcome = 1; Outcome != Indices.All.size(); ++Outcome) {
    std::vector<PartContents> Contents;
    for (const UnorderedRecords::Column &C : R.Columns)
      Contents.push_back(
          {Outcomes[C.Part].All.front(), Outcomes[C.Part].All[Outcome]});
    RecordStats S = compareIndices(
        I, {Indices.All.front(), Indices.All[Outcome]}, R, Contents);
    if (S.Missing)
      return false;
  }
  const UnorderedRecords::Column &C = R.Columns.front();
  ArrayRef<char> Records = Outcomes[C.Part].All.front();
  std::set<std::vector<char>> Distinct;
  for (uint64_t At = I.Ranges.front().Begin;
       At != I.Ranges.front().End && Distinct.size() < 2; ++At) {
    const char *P = Indices.All.front().data() + At * I.Size;
    uint64_t Index = I.Size == 8 ? support::endian::read64le(P)
                                 : support::endian::read32le(P);
    if (Index < (Records.size() - C.Offset) / C.Size)
      Distinct.insert(Records.slice(C.Offset + Index * C.Size, C.Size).vec());
  }
  return Distinct.size() == 2;
}

void Explainer::explainByIndices(BufferVariation &V) {
  const PartOutcomes &O = Outcomes[V.Part];
  unsigned Size = O.DType == MNEME_DTYPE_I64 || O.DType == MNEME_DTYPE_U64 ? 8
                  : O.DType == MNEME_DTYPE_I32 || O.DType == MNEME_DTYPE_U32 ||
                          O.DType == MNEME_DTYPE_BYTES
                      ? 4
                      : 0;
  if (Size == 0 || O.All.front().size() < Size || O.All.front().size() % Size)
    return;
  Elements E(O.All, Size);
  RecordIndices I;
  I.Part = V.Part;
  I.Size = Size;
  I.Ranges.push_back(E.hull({0, E.count()}));
  for (I.Records = FirstGroup; I.Records != Plan.Unordered.size();
       ++I.Records) {
    const UnorderedRecords &R = Plan.Unordered[I.Records];
    if (any_of(R.Columns, [&](const auto &C) { return C.Part == V.Part; }) ||
        !denoteSame(I))
      continue;
    std::string Target = formatv("indices of the same records of buffer {0}",
                                 Outcomes[R.Columns.front().Part].Buffer)
                             .str();
    V.Reason =
        V.Kind == BufferVariation::Order ? V.Reason + "; " + Target : Target;
    V.Kind = BufferVariation::Order;
    V.RecordSize = Size;
    V.Ranges = std::max<uint64_t>(V.Ranges, 1);
    std::vector<IndexRange> &Skipped = Plan.Parts[V.Part].Skipped;
    Skipped.push_back(
        {I.Ranges.front().Begin * Size, I.Ranges.front().End * Size});
    Skipped = mergeRanges(std::move(Skipped));
    Plan.Indices.push_back(I);
    return;
  }
}

void Explainer::run() {
  for (auto [Part, O] : enumerate(Outcomes)) {
    if (O.All.empty())
      continue;
    BufferVariation V;
    V.Part = Part;
    V.Buffer = O.Buffer;
    if (!Plan.Parts[Part].Skipped.empty())
      V.Reason = "the records given by --unordered are not the same in all "
                 "outcomes";
    else if (!isConstant(V) && !explainByOrder(V))
      explainByRounding(V);
    Variations.push_back(std::move(V));
  }
  for (BufferVariation &V : Variations) {
    bool IsGiven = V.Kind == BufferVariation::Undecided &&
                   !Plan.Parts[V.Part].Skipped.empty();
    bool IsSettled = V.Kind == BufferVariation::Rounding ||
                     V.Kind == BufferVariation::Constant;
    if (!IsSettled && !IsGiven)
      explainByIndices(V);
    if (V.Kind == BufferVariation::Undecided)
      refuse(V);
  }
}

void mneme::explainOutcomes(ComparePlan &Plan, ArrayRef<PartOutcomes> Outcomes,
                            ArrayRef<CounterCandidate> Counters,
                            std::vector<BufferVariation> &Variations) {
  Explainer(Plan, Outcomes, Counters, Variations).run();
}
