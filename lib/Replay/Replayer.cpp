//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Replayer.h"
#include "ResidentMemory.h"
#include "llvm/Mneme/Replay/Poison.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <cstring>
#include <map>

using namespace llvm;
using namespace llvm::mneme;

/// Granularity of change tracking: large enough for efficient copies.
static constexpr uint64_t RestorePage = MNEME_SNAPSHOT_PAGE;

/// Poison is drawn in pieces of this size.
static constexpr uint64_t MaxPieceBytes = 1024 * RestorePage;

Replayer::Replayer(const RecordedState &State, Device &D)
    : State(&State), D(&D) {}
Replayer::Replayer(Replayer &&) = default;
Replayer &Replayer::operator=(Replayer &&) = default;
Replayer::~Replayer() = default;

StringRef Replayer::mode() const { return Resident ? "device" : "host"; }

/// Checks the size that a file claims against the available memory.
static Error checkMemory(const RecordedState &State) {
  // The memory and its contents before the launch, those after it of buffers
  // with poison, and for one buffer at a time the current contents.
  uint64_t Sum = 0, Largest = 0;
  for (const RecordedRegion &R : State.regions()) {
    Sum = SaturatingAdd(Sum, R.Info.Size);
    Largest = std::max(Largest, R.Info.Size);
  }
  uint64_t Need = SaturatingMultiplyAdd<uint64_t>(Sum, 3, Largest);
  uint64_t Available = getAvailableMemory();
  if (Need <= Available)
    return Error::success();
  return make_error<ShortageError>(
      formatv("out of memory: the {0} MiB of the recording take {1} MiB on the "
              "host device, {2} MiB are available",
              Sum >> 20, Need >> 20, Available >> 20)
          .str(),
      std::make_error_code(std::errc::not_enough_memory));
}

/// Returns true if the bytes contain one of the sorted \p Handles of texture
/// and surface objects. Most words are outside of the handles' range.
static bool holdsHandle(ArrayRef<char> Bytes, ArrayRef<uint64_t> Handles) {
  for (size_t At = 0; !Handles.empty() && At + 8 <= Bytes.size(); At += 8) {
    uint64_t Word = support::endian::read64le(Bytes.data() + At);
    if (Word >= Handles.front() && Word <= Handles.back() &&
        llvm::binary_search(Handles, Word))
      return true;
  }
  return false;
}

/// Creates the objects whose handles appear in launch arguments. The elements
/// of other objects may be missing.
static Error makeObjects(const RecordedState &State, Device &D) {
  for (uint64_t Handle : State.handles())
    if (any_of(State.args(), [&](const std::string &Bytes) {
          return holdsHandle(Bytes, Handle);
        }))
      if (Error E = D.makeObject(Handle))
        return E;
  return Error::success();
}

Expected<Replayer> Replayer::create(const RecordedState &State, Device &D) {
  if (!D.asGPU())
    if (Error E = checkMemory(State))
      return std::move(E);
  Replayer R(State, D);
  if (Error E = D.reserveArena(State.arenaBase(), State.arenaSize()))
    return std::move(E);
  for (const RecordedRegion &Region : State.regions()) {
    const SnapshotRegion &R = Region.Info;
    if (Error E = R.isOutsideArena() ? D.mapOutside(R.Address, R.Size)
                                     : D.mapMemory(R.Address, R.Size))
      return std::move(E);
  }
  R.findPadding();
  if (Error E = R.fill())
    return std::move(E);
  if (Error E = makeObjects(State, D))
    return std::move(E);
  R.setChanged();
  R.setDirty(R.Changed);
  return std::move(R);
}

void Replayer::setChanged() {
  Changed.clear();
  for (const SnapshotData &Data : State->changed()) {
    size_t Region = State->findRegion(Data.Address);
    uint64_t Begin = Data.Address - State->regions()[Region].Info.Address;
    Changed.push_back({Region, Begin, Begin + Data.RawSize});
  }
}

Error Replayer::fill() {
  // Handles in memory keep their recorded values, which only the host device
  // recognizes.
  std::vector<uint64_t> Handles;
  if (D->asGPU())
    Handles = State->handles();
  // Fresh memory is zero, so only stored data must be written.
  if (Error E = State->readStored(
          [&](const SnapshotData &Data, ArrayRef<char> Bytes) -> Error {
            if (holdsHandle(Bytes, Handles))
              return createStringError(
                  "memory holds the handle of a texture or surface object, "
                  "which is another one on a GPU: replay with --device=host");
            return D->write(Data.Address, Bytes);
          }))
    return E;
  if (GPUDevice *GPU = D->asGPU())
    if (Error E =
            ResidentMemory::create(*State, Paddings, *GPU).moveInto(Resident))
      return E;
  if (Resident)
    return Error::success();
  for (const RecordedRegion &Region : State->regions()) {
    Before.emplace_back(Region.Info.Size);
    if (Error E = D->read(Region.Info.Address, Before.back()))
      return E;
  }
  return Error::success();
}

void Replayer::findPadding() {
  uint64_t Granule = D->mappingGranule();
  ArrayRef<RecordedRegion> Regions = State->regions();
  uint64_t Mapped = 0; // End of the mapped memory.
  for (auto [I, Region] : enumerate(Regions)) {
    uint64_t Begin = Region.Info.Address, End = Begin + Region.Info.Size;
    uint64_t Low = std::max(Mapped, alignDown(Begin, Granule));
    if (Low < Begin)
      Paddings.push_back({I, Low, Begin - Low});
    uint64_t High = alignTo(End, Granule);
    if (I + 1 != Regions.size())
      High = std::min(High, Regions[I + 1].Info.Address);
    if (End < High)
      Paddings.push_back({I, End, High - End});
    Mapped = High;
  }
}

/// The byte of the memory around buffers on a GPU.
static uint8_t getPaddingByte(const PoisonDraw &D) {
  return D.FillsPadding ? D.Keys[0] : 0;
}

/// Returns the contents of memory that belongs to no region.
std::vector<char> Replayer::makePadding(const Padding &P) const {
  if (D->asGPU())
    return std::vector<char>(P.Size, char(getPaddingByte(Draw)));
  std::vector<char> Bytes(P.Size);
  if (Draw.FillsPadding)
    drawPadding(P.Address, Bytes, Draw);
  return Bytes;
}

Error Replayer::fillPadding() {
  for (const Padding &P : Paddings)
    if (GPUDevice *GPU = D->asGPU()) {
      if (Error E = GPU->fill(P.Address, getPaddingByte(Draw), P.Size))
        return E;
    } else if (Error E = D->write(P.Address, makePadding(P))) {
      return E;
    }
  PaddingIsDirty = false;
  return Error::success();
}

StrayWrite Replayer::describeStray(const Padding &P, uint64_t Offset) const {
  const SnapshotRegion &Region = State->regions()[P.Region].Info;
  StrayWrite W;
  W.Address = P.Address + Offset;
  W.Buffer = Region.Id;
  W.IsBehind = P.Address > Region.Address;
  W.Distance = W.IsBehind ? Offset : Region.Address - W.Address - 1;
  return W;
}

Expected<std::optional<StrayWrite>> Replayer::findStrayOnHost() {
  std::vector<char> Bytes;
  for (const Padding &P : Paddings) {
    Bytes.resize(P.Size);
    if (Error E = D->read(P.Address, Bytes))
      return std::move(E);
    std::vector<char> Own = makePadding(P);
    auto [Written, Old] =
        std::mismatch(Bytes.begin(), Bytes.end(), Own.begin());
    if (Written != Bytes.end())
      return describeStray(P, Written - Bytes.begin());
  }
  return std::nullopt;
}

/// Sorts the ranges and merges adjacent ones.
static std::vector<Replayer::Range>
mergeRanges(std::vector<Replayer::Range> Ranges) {
  llvm::sort(Ranges, [](const Replayer::Range &A, const Replayer::Range &B) {
    return std::tie(A.Region, A.Begin) < std::tie(B.Region, B.Begin);
  });
  std::vector<Replayer::Range> Merged;
  for (const Replayer::Range &R : Ranges) {
    if (!Merged.empty() && Merged.back().Region == R.Region &&
        R.Begin <= Merged.back().End)
      Merged.back().End = std::max(Merged.back().End, R.End);
    else
      Merged.push_back(R);
  }
  return Merged;
}

void Replayer::setDirty(std::vector<Range> Ranges) {
  Ranges = mergeRanges(std::move(Ranges));
  if (Ranges == Dirty)
    return; // The device has a plan for these copies.
  Dirty = std::move(Ranges);
  if (Resident)
    Resident->setDirty(Dirty);
}

void Replayer::markAllDirty() {
  std::vector<Range> All;
  for (size_t I = 0; I != State->regions().size(); ++I)
    All.push_back({I, 0, State->regions()[I].Info.Size});
  setDirty(std::move(All));
  PaddingIsDirty = true;
}

//===----------------------------------------------------------------------===//
// Poison
//===----------------------------------------------------------------------===//

Error Replayer::poison(std::shared_ptr<const PoisonMask> New) {
  if (Mask)
    if (Error E = removePoison())
      return E;
  Mask = nullptr;
  Outcomes.assign(State->regions().size(), {});
  setChanged();
  if (New)
    for (size_t I = 0; I != State->regions().size(); ++I)
      if (Error E = poisonRegion(I, *New))
        return E;
  Mask = std::move(New);
  Clean = false;
  markAllDirty();
  return Error::success();
}

Error Replayer::drawPoison(const PoisonDraw &D) {
  if (D.FillsPadding || Draw.FillsPadding) {
    PaddingIsDirty = true;
    Clean = false;
    if (Resident)
      if (Error E = Resident->setPadding(getPaddingByte(D)))
        return E;
  }
  Draw = D;
  // The host draws when it restores memory.
  return Mask && Resident ? poison(Mask) : Error::success();
}

/// Notes whole pages, the unit of restoring, and adjacent pages together. A GPU
/// that keeps the memory gets their new contents.
Error Replayer::poisonRegion(size_t Region, const PoisonMask &New) {
  uint64_t Size = State->regions()[Region].Info.Size;
  if (!Resident && New.any(Region, 0, Size))
    if (Error E = readOutcome(Region, Outcomes[Region]))
      return E;
  std::vector<char> Outcome, Bytes;
  for (uint64_t Begin = 0, End; Begin < Size; Begin = End) {
    End = std::min(Begin + RestorePage, Size);
    if (!New.any(Region, Begin, End))
      continue;
    while (End < Size && End - Begin < MaxPieceBytes) {
      uint64_t Next = std::min(End + RestorePage, Size);
      if (!New.any(Region, End, Next))
        break;
      End = Next;
    }
    Changed.push_back({Region, Begin, End});
    if (!Resident)
      continue;
    Outcome.resize(End - Begin);
    Bytes.resize(End - Begin);
    if (Error E = Resident->read(Region, Begin, Bytes, Outcome))
      return E;
    New.draw(Region, Begin, Outcome, Bytes, Draw);
    if (Error E = Resident->writeBefore(Region, Begin, Bytes))
      return E;
  }
  return Error::success();
}

/// Rereads the recorded values from the recording, which the GPU has no longer.
Error Replayer::removePoison() {
  if (!Resident)
    return Error::success();
  auto IsPoisoned = [&](size_t Region) {
    return Mask->any(Region, 0, State->regions()[Region].Info.Size);
  };
  for (auto [I, Region] : enumerate(State->regions())) {
    if (IsPoisoned(I))
      if (Error E = Resident->clearBefore(I))
        return E;
  }
  return State->readStored(
      [&](const SnapshotData &Data, ArrayRef<char> Bytes) -> Error {
        size_t Region = State->findRegion(Data.Address);
        uint64_t Begin = Data.Address - State->regions()[Region].Info.Address;
        return IsPoisoned(Region) ? Resident->writeBefore(Region, Begin, Bytes)
                                  : Error::success();
      });
}

/// Writes a range that the host keeps, with poison.
Error Replayer::restoreFromHost(const Range &R) {
  uint64_t Address = State->regions()[R.Region].Info.Address;
  ArrayRef<char> Contents = Before[R.Region];
  if (!Mask || Outcomes[R.Region].empty())
    return D->write(Address + R.Begin, Contents.slice(R.Begin, R.End - R.Begin));
  std::vector<char> Bytes;
  for (uint64_t Begin = R.Begin, End; Begin < R.End; Begin = End) {
    End = std::min(Begin + MaxPieceBytes, R.End);
    ArrayRef<char> Piece = Contents.slice(Begin, End - Begin);
    Bytes.assign(Piece.begin(), Piece.end());
    Mask->draw(R.Region, Begin,
               ArrayRef(Outcomes[R.Region]).slice(Begin, End - Begin), Bytes,
               Draw);
    if (Error E = D->write(Address + Begin, Bytes))
      return E;
  }
  return Error::success();
}

Error Replayer::restore() {
  if (Clean)
    return Error::success();
  if (PaddingIsDirty)
    if (Error E = fillPadding())
      return E;
  if (Resident) {
    if (Error E = Resident->restore())
      return E;
  } else {
    for (const Range &R : Dirty)
      if (Error E = restoreFromHost(R))
        return E;
  }
  Clean = true;
  return Error::success();
}

ArrayRef<void *> Replayer::getArgs() {
  // Types may be aligned to more than the recording's texts are.
  const Align MaxAlignment(128);
  if (Args.empty())
    for (const std::string &Bytes : State->args()) {
      Args.push_back(ArgBytes.Allocate(Bytes.size(), MaxAlignment));
      llvm::copy(Bytes, static_cast<char *>(Args.back()));
    }
  return Args;
}

Expected<LaunchOutcome> Replayer::launch(DeviceKernel &Kernel,
                                         const LaunchConfig &Config) {
  Clean = false;
  ++NumLaunches;
  return D->launch(Kernel, Config, getArgs());
}

Expected<LaunchOutcome>
Replayer::launchMany(DeviceKernel &Kernel, const LaunchConfig &Config,
                     unsigned Count, function_ref<Error()> Prepare,
                     std::vector<double> &Nanoseconds) {
  return D->asGPU()->launchMany(
      Kernel, Config, getArgs(), Count, [&] { return prepareOne(Prepare); },
      Nanoseconds);
}

Expected<LaunchOutcome> Replayer::count(DeviceKernel &Kernel,
                                        const LaunchConfig &Config,
                                        const CounterSet &Counters,
                                        function_ref<Error()> Prepare,
                                        CounterReading &Reading) {
  return D->asGPU()->count(
      Kernel, Config, getArgs(), Counters, [&] { return prepareOne(Prepare); },
      Reading);
}

Expected<LaunchOutcome>
Replayer::sample(DeviceKernel &Kernel, const LaunchConfig &Config,
                 ArrayRef<char> Image, double Nanoseconds,
                 function_ref<Error()> Prepare, PCReading &Reading) {
  return D->asGPU()->sample(
      Kernel, Config, getArgs(), Image, Nanoseconds,
      [&] { return prepareOne(Prepare); }, Reading);
}

/// Notes a launch of several.
Error Replayer::prepareOne(function_ref<Error()> Prepare) {
  if (Error E = Prepare())
    return E;
  Clean = false;
  ++NumLaunches;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Compares what a plan compares as records, and adds it to the reports of the
/// parts.
class Replayer::RecordComparison {
public:
  RecordComparison(const Replayer &Memory, const ComparePlan &Plan,
                   std::vector<BufferReport> &Reports)
      : Memory(Memory), Plan(Plan), Reports(Reports) {}

  Error run();

private:
  const Replayer &Memory;
  const ComparePlan &Plan;
  std::vector<BufferReport> &Reports; ///< Parallel to the parts.
  /// Contents by region.
  std::map<size_t, std::pair<std::vector<char>, std::vector<char>>> Regions;

  /// Returns true if records may have moved.
  bool differ(const UnorderedRecords &R) const {
    return any_of(R.Columns, [&](const UnorderedRecords::Column &C) {
      return Reports[C.Part].Stats.SkippedDiffer;
    });
  }
  Expected<PartContents> read(size_t Part);
  Expected<std::vector<PartContents>> readAll(const UnorderedRecords &R);
  Error compare(const UnorderedRecords &R);
  Error compare(const RecordIndices &I);
};

Expected<PartContents> Replayer::RecordComparison::read(size_t Part) {
  const ComparePart &P = Plan.Parts[Part];
  auto It = Regions.find(P.Region);
  if (It == Regions.end()) {
    auto Contents = Memory.readOutcomes(P.Region);
    if (!Contents)
      return Contents.takeError();
    It = Regions.emplace(P.Region, std::move(*Contents)).first;
  }
  return PartContents{ArrayRef(It->second.first).slice(P.Offset, P.Size),
                      ArrayRef(It->second.second).slice(P.Offset, P.Size)};
}

Expected<std::vector<PartContents>>
Replayer::RecordComparison::readAll(const UnorderedRecords &R) {
  std::vector<PartContents> Contents;
  for (const UnorderedRecords::Column &C : R.Columns) {
    Expected<PartContents> P = read(C.Part);
    if (!P)
      return P.takeError();
    Contents.push_back(*P);
  }
  return Contents;
}

Error Replayer::RecordComparison::compare(const UnorderedRecords &R) {
  for (const UnorderedRecords::Column &C : R.Columns)
    Reports[C.Part].RecordSize = C.Size;
  if (!differ(R))
    return Error::success();
  Expected<std::vector<PartContents>> Contents = readAll(R);
  if (!Contents)
    return Contents.takeError();
  uint64_t Counted = UINT64_MAX;
  if (R.Counter) {
    Expected<PartContents> P = read(R.Counter->Part);
    if (!P)
      return P.takeError();
    Counted = readCounter(*R.Counter, P->Expected);
  }
  std::vector<CompareRule> Rules;
  for (const UnorderedRecords::Column &C : R.Columns)
    Rules.push_back(Plan.Parts[C.Part].Rule);
  RecordStats S = compareRecords(R, *Contents, Rules, Counted);
  std::vector<unsigned> Buffers;
  for (const UnorderedRecords::Column &C : R.Columns)
    Buffers.push_back(Reports[C.Part].Id);
  for (const UnorderedRecords::Column &C : R.Columns) {
    BufferReport &B = Reports[C.Part];
    if (!B.Stats.SkippedDiffer && !S.Missing)
      continue;
    B.Stats.Differences += S.Moved;
    // Also if only memory behind the counted records differs.
    B.Level = CompareLevel::Unordered;
    bool IsFirst = &C == &R.Columns.front();
    B.Records = IsFirst ? describeRecords(R, S, Buffers)
                        : formatv("as buffer {0}", Buffers.front()).str();
    if (!S.Missing)
      continue;
    B.Stats.Pass = false;
    B.Stats.Mismatches += S.Missing;
    B.Stats.First = S.First;
    B.Stats.Expected = S.Lacking;
    B.Stats.Actual = S.Unexpected;
  }
  return Error::success();
}

Error Replayer::RecordComparison::compare(const RecordIndices &I) {
  const UnorderedRecords &R = Plan.Unordered[I.Records];
  if (!Reports[I.Part].Stats.SkippedDiffer && !differ(R))
    return Error::success();
  Expected<PartContents> Indices = read(I.Part);
  if (!Indices)
    return Indices.takeError();
  Expected<std::vector<PartContents>> Contents = readAll(R);
  if (!Contents)
    return Contents.takeError();
  RecordStats S = compareIndices(I, *Indices, R, *Contents);
  if (!S.Moved && !S.Missing)
    return Error::success();
  BufferReport &B = Reports[I.Part];
  B.Stats.Differences += S.Moved;
  B.Level = CompareLevel::Unordered;
  // A failure has been described already.
  std::string Text = describeIndices(I, S, Reports[R.Columns.front().Part].Id);
  if (B.Stats.Pass)
    B.Records = S.Missing || B.Records.empty() ? Text : B.Records + "; " + Text;
  if (!S.Missing)
    return Error::success();
  B.Stats.Pass = false;
  B.Stats.Mismatches += S.Missing;
  B.Stats.First = S.First;
  B.Stats.Expected = S.Lacking;
  B.Stats.Actual = S.Unexpected;
  return Error::success();
}

Error Replayer::RecordComparison::run() {
  for (const UnorderedRecords &R : Plan.Unordered)
    if (Error E = compare(R))
      return E;
  for (const RecordIndices &I : Plan.Indices)
    if (Error E = compare(I))
      return E;
  return Error::success();
}

Expected<MemoryComparison> Replayer::compare(const ComparePlan &Plan) {
  MemoryComparison Result;
  ArrayRef<ComparePart> Parts = Plan.Parts;
  Expected<std::vector<CompareStats>> Stats =
      Resident ? compareOnDevice(Parts, Result.Stray) : compareOnHost(Parts);
  if (!Stats)
    return Stats.takeError();
  if (!Resident)
    if (Error E = findStrayOnHost().moveInto(Result.Stray))
      return std::move(E);
  PaddingIsDirty = Result.Stray.has_value();
  for (auto [P, S] : zip_equal(Parts, *Stats)) {
    const RecordedRegion &Region = State->regions()[P.Region];
    BufferReport Report;
    Report.Id = Region.Info.Id;
    Report.IsGlobal = Region.Info.IsGlobal;
    Report.Name = P.Name;
    Report.Address = Region.Info.Address + P.Offset;
    Report.Size = P.Size;
    Report.Rule = P.Rule;
    Report.Stats = std::move(S);
    if (Report.Stats.Differences || !Report.Stats.Pass)
      Report.Level = P.Rule.level();
    Result.Buffers.push_back(std::move(Report));
  }
  if (Error E = RecordComparison(*this, Plan, Result.Buffers).run())
    return std::move(E);
  return std::move(Result);
}

Expected<std::pair<std::vector<char>, std::vector<char>>>
Replayer::readOutcomes(size_t Region) const {
  std::pair<std::vector<char>, std::vector<char>> Contents;
  if (Error E = readOutcome(Region, Contents.first))
    return std::move(E);
  Contents.second.resize(Contents.first.size());
  if (Error E = D->read(State->regions()[Region].Info.Address, Contents.second))
    return std::move(E);
  return std::move(Contents);
}

/// Reads the contents of a region after the recorded launch.
Error Replayer::readOutcome(size_t Region, std::vector<char> &After) const {
  if (Resident) {
    std::vector<char> OfBefore(State->regions()[Region].Info.Size);
    After.resize(OfBefore.size());
    return Resident->read(Region, 0, OfBefore, After);
  }
  if (Mask && !Outcomes[Region].empty()) {
    After = Outcomes[Region];
    return Error::success();
  }
  After = Before[Region];
  return State->applyChanges(Region, After);
}

Expected<double> Replayer::findLargestOutcome(const ComparePart &P) const {
  std::vector<char> After;
  if (Error E = readOutcome(P.Region, After))
    return std::move(E);
  return findLargest(ArrayRef<char>(After).slice(P.Offset, P.Size),
                     P.Rule.DType);
}

/// Returns true if the parts, in order, cover all memory.
static bool coverAll(ArrayRef<ComparePart> Parts,
                     ArrayRef<RecordedRegion> Regions) {
  size_t Region = 0;
  uint64_t Done = 0;
  for (const ComparePart &P : Parts) {
    if (P.Region != Region || P.Offset != Done)
      return false;
    Done += P.Size;
    if (Done == Regions[Region].Info.Size) {
      ++Region;
      Done = 0;
    }
  }
  return Region == Regions.size();
}

Expected<std::vector<CompareStats>>
Replayer::compareOnDevice(ArrayRef<ComparePart> Parts,
                          std::optional<StrayWrite> &Stray) {
  std::optional<std::pair<size_t, uint64_t>> Written;
  Expected<std::vector<CompareStats>> Stats = Resident->compare(Parts, Written);
  if (!Stats)
    return Stats.takeError();
  if (Written)
    Stray = describeStray(Paddings[Written->first], Written->second);
  // If the memory matches the recorded outcome, the dirty ranges are those that
  // the recorded launch changed. Otherwise, find all differences from the
  // prologue.
  bool Same =
      coverAll(Parts, State->regions()) &&
      all_of(*Stats, [](const CompareStats &S) { return S.isIdentical(); });
  std::vector<Range> Ranges = Changed;
  if (!Same) {
    Expected<std::vector<Range>> Changes = Resident->findChanges();
    if (!Changes)
      return Changes.takeError();
    llvm::append_range(Ranges, *Changes);
  }
  setDirty(std::move(Ranges));
  return Stats;
}

Expected<std::vector<CompareStats>>
Replayer::compareOnHost(ArrayRef<ComparePart> Parts) {
  std::vector<CompareStats> Stats;
  std::vector<Range> Ranges = Changed;
  std::vector<bool> Seen(State->regions().size());
  std::vector<char> Now, After;
  std::optional<size_t> Loaded;
  for (const ComparePart &P : Parts) {
    if (Loaded != P.Region) {
      Loaded = P.Region;
      if (Error E = readOutcome(P.Region, After))
        return std::move(E);
      Now.resize(After.size());
      if (Error E = D->read(State->regions()[P.Region].Info.Address, Now))
        return std::move(E);
      // A wrong kernel may have written elsewhere.
      Seen[P.Region] = true;
      ArrayRef<char> Old(Before[P.Region]);
      for (uint64_t Begin = 0; Begin < Now.size(); Begin += RestorePage) {
        uint64_t End = std::min<uint64_t>(Begin + RestorePage, Now.size());
        if (std::memcmp(&Now[Begin], &Old[Begin], End - Begin) != 0)
          Ranges.push_back({P.Region, Begin, End});
      }
    }
    Stats.push_back(
        comparePart(P, {ArrayRef<char>(After).slice(P.Offset, P.Size),
                        ArrayRef<char>(Now).slice(P.Offset, P.Size)}));
  }
  for (const Range &R : Dirty)
    if (!Seen[R.Region])
      Ranges.push_back(R);
  setDirty(std::move(Ranges));
  return std::move(Stats);
}
