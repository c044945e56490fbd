//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace llvm;
using namespace llvm::mneme;

static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;

namespace {
/// The part of a region to keep: some pages in [Begin, End).
struct KeptRegion {
  uint64_t Begin = 0, End = 0; ///< Offsets; equal if nothing is kept.
  std::vector<bool> Pages;     ///< Pages to keep, from Begin.

  bool holds(uint64_t Offset) const {
    return Offset >= Begin && Offset < End && Pages[(Offset - Begin) / Page];
  }
};

class MemoryReducer {
public:
  MemoryReducer(const ReplayPlan &Plan, const Module &M)
      : State(Plan.state()), M(M) {}

  void keepAll();
  void keep(ArrayRef<uint64_t> Touched);
  void addRegions(NewRecording &R) const;
  void addAnnotations(NewRecording &R) const;
  Error addBefore(NewRecording &R) const;
  void addAfter(NewRecording &R, ArrayRef<MemoryRange> Expectation) const;

private:
  const RecordedState &State;
  const Module &M;
  std::vector<KeptRegion> Kept;

  bool isNeeded(const SnapshotRegion &R) const;
  void addRange(std::vector<MemoryRange> &Out, uint64_t Address,
                ArrayRef<char> Bytes) const;
};
} // namespace

void MemoryReducer::keepAll() {
  for (const RecordedRegion &R : State.regions())
    Kept.push_back({0, R.Info.Size,
                    std::vector<bool>(divideCeil(R.Info.Size, Page), true)});
}

/// Returns true for variables of the code, all of which must exist to load it.
bool MemoryReducer::isNeeded(const SnapshotRegion &R) const {
  return R.IsGlobal && M.getNamedGlobal(R.Name);
}

void MemoryReducer::keep(ArrayRef<uint64_t> Touched) {
  auto IsTouched = [&](uint64_t Begin, uint64_t End) {
    const uint64_t *It = llvm::upper_bound(Touched, alignDown(Begin, Page) - 1);
    return It != Touched.end() && *It < End;
  };
  for (const RecordedRegion &R : State.regions()) {
    uint64_t Size = R.Info.Size, Address = R.Info.Address;
    bool IsNeeded = isNeeded(R.Info);
    KeptRegion K;
    std::vector<bool> All;
    for (uint64_t At = 0; At < Size; At += Page) {
      All.push_back(
          IsTouched(Address + At, Address + std::min(At + Page, Size)));
      if (!All.back() && !IsNeeded)
        continue;
      if (K.End == 0)
        K.Begin = At;
      K.End = std::min(At + Page, Size);
    }
    if (K.End)
      K.Pages.assign(All.begin() + K.Begin / Page,
                     All.begin() + divideCeil(K.End, Page));
    Kept.push_back(std::move(K));
  }
}

void MemoryReducer::addRegions(NewRecording &R) const {
  for (auto [Region, K] : zip_equal(State.regions(), Kept)) {
    if (K.Begin == K.End)
      continue;
    SnapshotRegion New = Region.Info;
    New.Address += K.Begin;
    New.Size = K.End - K.Begin;
    R.Regions.push_back(std::move(New));
  }
  // Renumber in the order of the recording.
  std::vector<SnapshotRegion *> ById;
  for (SnapshotRegion &Region : R.Regions)
    ById.push_back(&Region);
  llvm::sort(ById, [](const auto *A, const auto *B) { return A->Id < B->Id; });
  for (auto [I, Region] : enumerate(ById))
    Region->Id = I;
}

void MemoryReducer::addAnnotations(NewRecording &R) const {
  for (const SnapshotAnnotation &A : State.annotations()) {
    size_t I = State.findRegion(A.Address);
    uint64_t Base = State.regions()[I].Info.Address;
    SnapshotAnnotation New = A;
    New.Address = std::max(A.Address, Base + Kept[I].Begin);
    uint64_t End = std::min(A.Address + A.Size, Base + Kept[I].End);
    if (New.Address >= End)
      continue;
    New.Size = End - New.Address;
    R.Annotations.push_back(std::move(New));
  }
}

/// Adds those pages of a range that are kept.
void MemoryReducer::addRange(std::vector<MemoryRange> &Out, uint64_t Address,
                             ArrayRef<char> Bytes) const {
  size_t I = State.findRegion(Address);
  uint64_t Offset = Address - State.regions()[I].Info.Address;
  bool Joins = false;
  for (size_t At = 0; At < Bytes.size(); At += Page) {
    if (!Kept[I].holds(Offset + At)) {
      Joins = false;
      continue;
    }
    if (!Joins)
      Out.push_back({Address + At, {}});
    Joins = true;
    llvm::append_range(
        Out.back().Bytes,
        Bytes.slice(At, std::min<size_t>(Page, Bytes.size() - At)));
  }
}

Error MemoryReducer::addBefore(NewRecording &R) const {
  return State.readStored(
      [&](const SnapshotData &Data, ArrayRef<char> Bytes) -> Error {
        addRange(R.Before, Data.Address, Bytes);
        return Error::success();
      });
}

void MemoryReducer::addAfter(NewRecording &R,
                             ArrayRef<MemoryRange> Expectation) const {
  for (const MemoryRange &Range : Expectation)
    addRange(R.After, Range.Address, Range.Bytes);
}

Expected<RecordedKernel>
mneme::writeReduced(const ReplayPlan &Plan, StringRef Dir,
                    ArrayRef<MemoryRange> Expectation,
                    std::optional<ArrayRef<uint64_t>> Touched) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  NewRecording R;
  R.Kernel = Plan.kernel();
  R.ArenaBase = Plan.state().arenaBase();
  R.ArenaSize = Plan.state().arenaSize();
  R.Args = Plan.state().args();
  RecordedInstance I = Plan.instance();
  I.Grid = Plan.grid();
  I.Block = Plan.block();
  I.SharedMem = Plan.sharedMem();
  I.Occurrences = 1;
  I.OmittedRegions = I.OmittedBytes = 0;
  // The expected outcome is that of this device.
  bool OnHost = Plan.options().Device == "host";
  if (OnHost)
    I.Device = {};
  R.Kernel.Device = OnHost ? "host" : "cuda";
  R.Kernel.Instances = {std::move(I)};
  llvm::erase_if(R.Kernel.Globals, [&](const KernelGlobal &G) {
    return !M->getNamedGlobal(G.Name);
  });

  MemoryReducer Memory(Plan, *M);
  if (Touched)
    Memory.keep(*Touched);
  else
    Memory.keepAll();
  Memory.addRegions(R);
  Memory.addAnnotations(R);
  if (Error E = Memory.addBefore(R))
    return std::move(E);
  Memory.addAfter(R, Expectation);
  return writeRecording(Dir, *M, std::move(R));
}

/// Maps the old number of each buffer to its new number.
static DenseMap<uint32_t, uint32_t> mapBuffers(const ReplayPlan &Old,
                                               const ReplayPlan &New) {
  DenseMap<uint32_t, uint32_t> Map;
  for (const RecordedRegion &R : New.state().regions()) {
    size_t I = Old.state().findRegion(R.Info.Address);
    Map[Old.state().regions()[I].Info.Id] = R.Info.Id;
  }
  return Map;
}

namespace {
/// Translates the buffers that options name.
struct BufferNames {
  DenseMap<uint32_t, uint32_t> Map; ///< Numbers.
  DenseSet<StringRef> Names;        ///< Those that still exist.

  /// Returns false if the buffer no longer exists.
  bool translate(std::string &Buffer) const {
    uint32_t Id;
    if (Buffer.empty())
      return true;
    if (StringRef(Buffer).getAsInteger(10, Id))
      return Names.contains(Buffer);
    auto It = Map.find(Id);
    if (It == Map.end())
      return false;
    Buffer = std::to_string(It->second);
    return true;
  }
  bool translate(UnorderedSpec &S) const {
    return all_of(S.Columns, [&](auto &C) { return translate(C.Buffer); }) &&
           translate(S.Counter);
  }
  template <typename T> bool translate(T &S) const {
    return translate(S.Buffer);
  }
  template <typename T> void renumber(std::vector<T> &Specs) const {
    llvm::erase_if(Specs, [&](T &S) { return !translate(S); });
  }
};
} // namespace

void mneme::renumberBuffers(ReplayOptions &O, const ReplayPlan &Old,
                            const ReplayPlan &New) {
  BufferNames B{mapBuffers(Old, New), {}};
  for (const RecordedRegion &R : New.state().regions())
    B.Names.insert(R.Info.Name);
  for (const SnapshotAnnotation &A : New.state().annotations())
    B.Names.insert(A.Tag);
  B.renumber(O.Tolerances);
  B.renumber(O.ElementTypes);
  B.renumber(O.Unordered);
}

ReducedSize mneme::measureSize(const ReplayPlan &Plan) {
  ReducedSize Size;
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  for (const Function &F : *M) {
    if (F.isDeclaration())
      continue;
    ++Size.Functions;
    Size.Instructions += F.getInstructionCount();
    if (F.getName() == Plan.kernel().KernelName)
      Size.KernelInstructions = F.getInstructionCount();
  }
  Size.Grid = Plan.grid();
  Size.Block = Plan.block();
  for (const RecordedRegion &R : Plan.state().regions()) {
    ++Size.Regions;
    Size.RegionBytes += R.Info.Size;
  }
  for (const SnapshotData &D : Plan.state().stored())
    Size.StoredBytes += alignTo(D.RawSize, Page);
  return Size;
}
