//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResidentMemory.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;

/// Memory that a running kernel may need on the device for its code and spills.
static constexpr uint64_t Headroom = uint64_t(256) << 20;

Expected<std::unique_ptr<ResidentMemory>>
ResidentMemory::create(const RecordedState &State,
                       ArrayRef<Replayer::Padding> Paddings, GPUDevice &D) {
  std::unique_ptr<ResidentMemory> M(new ResidentMemory(State, Paddings, D));
  Expected<bool> HasRoom = M->allocate();
  if (!HasRoom)
    return HasRoom.takeError();
  if (!*HasRoom)
    return nullptr;
  if (Error E = M->fill())
    return std::move(E);
  return std::move(M);
}

ResidentMemory::~ResidentMemory() {
  Plan.reset();
  // Fails harmlessly if the device is lost.
  for (uint64_t Address : {Allocations[0], Allocations[1], PaddingCopy})
    if (Address)
      consumeError(D.release(Address));
}

/// Assigns each region an offset in Before. The device kernels that compare and
/// copy need addresses that are equal modulo 16; equality modulo a page keeps
/// the distances of regions that share pages. \returns the total size in bytes.
uint64_t ResidentMemory::planLayout() {
  uint64_t End = 0;
  for (const RecordedRegion &Region : State.regions()) {
    uint64_t Offset = alignTo(End, Page, Region.Info.Address);
    Before.push_back(Offset);
    End = Offset + Region.Info.Size;
  }
  return End;
}

Expected<bool> ResidentMemory::allocate() {
  uint64_t Size = planLayout();
  // One more page, because the device's allocations may not be page-aligned.
  uint64_t Bytes = Size + Page;
  Expected<uint64_t> Available = D.availableMemory();
  if (!Available)
    return Available.takeError();
  if (*Available < Headroom || (*Available - Headroom) / 2 < Bytes)
    return false;
  for (uint64_t &Address : Allocations)
    if (Error E = D.allocate(Bytes).moveInto(Address)) {
      // The free memory may be fragmented.
      consumeError(std::move(E));
      return false;
    }
  for (const Replayer::Padding &P : Paddings)
    LargestPadding = std::max(LargestPadding, P.Size);
  if (LargestPadding) {
    if (Error E = D.allocate(LargestPadding + Page).moveInto(PaddingCopy)) {
      consumeError(std::move(E));
      return false;
    }
    if (Error E = setPadding(0))
      return std::move(E);
  }
  After = Before;
  for (size_t I = 0; I != Before.size(); ++I) {
    Before[I] += alignTo(Allocations[0], Page);
    After[I] += alignTo(Allocations[1], Page);
  }
  return true;
}

Error ResidentMemory::setPadding(uint8_t Byte) {
  return LargestPadding ? D.fill(PaddingCopy, Byte, LargestPadding + Page)
                        : Error::success();
}

/// Copies all regions in one launch.
static Error copyRegions(GPUDevice &D, ArrayRef<uint64_t> To,
                         ArrayRef<uint64_t> From,
                         ArrayRef<RecordedRegion> Regions) {
  std::vector<MnemeCopyPart> Parts;
  for (size_t I = 0; I != Regions.size(); ++I)
    Parts.push_back({To[I], From[I], Regions[I].Info.Size});
  Expected<std::unique_ptr<CopyPlan>> Plan = D.planCopies(Parts);
  if (!Plan)
    return Plan.takeError();
  if (Error E = D.copy(**Plan))
    return E;
  return D.synchronize(); // The plan is in use until then.
}

Error ResidentMemory::fill() {
  ArrayRef<RecordedRegion> Regions = State.regions();
  std::vector<uint64_t> Arena;
  for (const RecordedRegion &Region : Regions)
    Arena.push_back(Region.Info.Address);
  if (Error E = copyRegions(D, Before, Arena, Regions))
    return E;
  if (Error E = copyRegions(D, After, Arena, Regions))
    return E;
  return State.readChanged([&](const SnapshotData &Data, ArrayRef<char> Bytes) {
    size_t Region = State.findRegion(Data.Address);
    return D.write(After[Region] + (Data.Address - Arena[Region]), Bytes);
  });
}

void ResidentMemory::setDirty(ArrayRef<Replayer::Range> Ranges) {
  Restored.clear();
  for (const Replayer::Range &R : Ranges)
    Restored.push_back({State.regions()[R.Region].Info.Address + R.Begin,
                        Before[R.Region] + R.Begin, R.End - R.Begin});
  IsPlanned = false;
}

Error ResidentMemory::read(size_t Region, uint64_t Offset,
                           MutableArrayRef<char> OfBefore,
                           MutableArrayRef<char> OfAfter) {
  if (Error E = D.read(Before[Region] + Offset, OfBefore))
    return E;
  return D.read(After[Region] + Offset, OfAfter);
}

Error ResidentMemory::writeBefore(size_t Region, uint64_t Offset,
                                  ArrayRef<char> Bytes) {
  return D.write(Before[Region] + Offset, Bytes);
}

Error ResidentMemory::clearBefore(size_t Region) {
  return D.fill(Before[Region], 0, State.regions()[Region].Info.Size);
}

Error ResidentMemory::restore() {
  if (!IsPlanned) {
    // The device may still be using the old plan.
    if (Error E = D.synchronize())
      return E;
    if (Error E = D.planCopies(Restored).moveInto(Plan))
      return E;
    IsPlanned = true;
  }
  return D.copy(*Plan);
}

/// Norms need the elements; the device only counts mismatches.
static bool hasNorm(const CompareRule &Rule) {
  return Rule.DType != MNEME_DTYPE_BYTES && Rule.Norm != MNEME_NORM_NONE &&
         Rule.Tolerance != MNEME_TOLERANCE_EXACT;
}

static CompareStats makeStats(const MnemeCompareResult &R,
                              const ComparePart &P) {
  CompareStats S;
  S.Elements = countElements(P.Size, P.Rule.DType);
  S.Differences = R.Differences;
  S.Mismatches = R.Mismatches;
  S.Pass = R.Mismatches == 0;
  if (!S.Pass)
    S.First = R.First;
  S.MaxAbs = bit_cast<double>(R.MaxAbs);
  S.MaxRel = bit_cast<double>(R.MaxRel);
  S.MaxUlp = bit_cast<double>(R.MaxUlp);
  if (hasNorm(P.Rule))
    S.NormError = 0;
  applyMeasuredLimit(S, P.Rule);
  return S;
}

Expected<std::vector<CompareStats>>
ResidentMemory::compare(ArrayRef<ComparePart> Parts,
                        std::optional<std::pair<size_t, uint64_t>> &Written) {
  std::vector<MnemeComparePart> Table;
  for (const ComparePart &P : Parts)
    Table.push_back({After[P.Region] + P.Offset,
                     State.regions()[P.Region].Info.Address + P.Offset, P.Size,
                     P.Rule.Value, P.Rule.DType, P.Rule.Tolerance,
                     P.Rule.NaN == NaNRule::Error, 0});
  for (const Replayer::Padding &P : Paddings)
    // The comparison needs addresses that are equal modulo 16.
    Table.push_back({alignTo(PaddingCopy, Page, P.Address), P.Address, P.Size,
                     /*Value=*/0, MNEME_DTYPE_BYTES, MNEME_TOLERANCE_EXACT,
                     /*ForbidNaN=*/0, 0});
  Expected<std::vector<MnemeCompareResult>> Results = D.compare(Table);
  if (!Results)
    return Results.takeError();
  for (size_t I = 0; I != Paddings.size() && !Written; ++I)
    if (const MnemeCompareResult &R = (*Results)[Parts.size() + I];
        R.Mismatches)
      Written = {I, R.First};
  Results->resize(Parts.size());
  std::vector<CompareStats> All;
  for (auto [P, R] : zip_equal(Parts, *Results)) {
    CompareStats S = makeStats(R, P);
    bool Equal = S.Differences == 0 && S.Mismatches == 0;
    // The device compares all bytes by position.
    if (!Equal && (hasNorm(P.Rule) || !P.Skipped.empty())) {
      if (Error E = compareOnHost(P, S))
        return std::move(E);
    } else if (S.First) {
      if (Error E = describeFirst(P, S))
        return std::move(E);
    }
    All.push_back(std::move(S));
  }
  return std::move(All);
}

Error ResidentMemory::compareOnHost(const ComparePart &P, CompareStats &Stats) {
  std::vector<char> Expected(P.Size), Actual(P.Size);
  if (Error E = D.read(After[P.Region] + P.Offset, Expected))
    return E;
  if (Error E =
          D.read(State.regions()[P.Region].Info.Address + P.Offset, Actual))
    return E;
  Stats = comparePart(P, {Expected, Actual});
  return Error::success();
}

Error ResidentMemory::describeFirst(const ComparePart &P, CompareStats &Stats) {
  ElementPlace Place = findElement(P.Size, P.Rule.DType, *Stats.First);
  char Expected[8], Actual[8];
  unsigned Size = getDTypeSize(Place.DType);
  uint64_t Offset = P.Offset + Place.Offset;
  if (Error E = D.read(After[P.Region] + Offset, {Expected, Size}))
    return E;
  if (Error E = D.read(State.regions()[P.Region].Info.Address + Offset,
                       {Actual, Size}))
    return E;
  Stats.Expected = printElement(Expected, Place.DType);
  Stats.Actual = printElement(Actual, Place.DType);
  return Error::success();
}

Expected<std::vector<Replayer::Range>> ResidentMemory::findChanges() {
  std::vector<MnemeDiffPart> Parts;
  uint64_t NumPages = 0;
  for (auto [I, Region] : enumerate(State.regions())) {
    Parts.push_back(
        {Region.Info.Address, Before[I], Region.Info.Size, NumPages});
    NumPages += divideCeil(Region.Info.Size, Page);
  }
  Expected<std::vector<uint8_t>> Flags = D.diffPages(Parts);
  if (!Flags)
    return Flags.takeError();
  std::vector<Replayer::Range> Changes;
  for (auto [I, P] : enumerate(Parts))
    for (uint64_t Begin = 0; Begin < P.Size; Begin += Page)
      if ((*Flags)[P.FirstFlag + Begin / Page])
        Changes.push_back({I, Begin, std::min(Begin + Page, P.Size)});
  return std::move(Changes);
}
