//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recorder.h"
#include "Clock.h"
#include "Environment.h"
#include "Hex.h"
#include "LauncherLink.h"
#include "Message.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/LaunchHash.h"
#include "llvm/Mneme/Runtime/Scramble.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <unistd.h>

using namespace mneme;

uint64_t Recorder::now() { return mneme::now(); }

RecordingTime::RecordingTime(Recorder &Records)
    : Records(Records), Start(Recorder::now()) {}

RecordingTime::~RecordingTime() { Records.addTime(Recorder::now() - Start); }

bool Recording::contains(uint64_t Address, uint64_t Size) const {
  return std::any_of(Regions.begin(), Regions.end(), [&](const Region &R) {
    return R.contains(Address, Size);
  });
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

/// Returns the reason why readers of snapshots would reject \p A; empty if
/// valid.
static std::string whyInvalid(const Annotation &A) {
  if (!A.Size)
    return "no bytes";
  if (A.DType > MNEME_DTYPE_U64)
    return "unknown element type " + std::to_string(A.DType);
  if (A.Tolerance > MNEME_TOLERANCE_ULP)
    return "unknown kind " + std::to_string(A.Tolerance) + " of tolerance";
  if (A.Norm > MNEME_NORM_LINF)
    return "unknown norm " + std::to_string(A.Norm);
  if (A.Value >= 0 && !std::isinf(A.Value))
    return "";
  char Text[96];
  snprintf(Text, sizeof(Text), "tolerance %g is not a finite number from 0 up",
           A.Value);
  return Text;
}

/// May throw.
static void addAnnotation(Annotations &Notes, AddressMap &Memory,
                          Annotation &A) {
  if (A.Tolerance == MNEME_TOLERANCE_EXACT)
    A.Value = 0;
  std::string Problem = whyInvalid(A);
  const AddressMap::Allocation *Where = Memory.find(A.Address);
  if (Problem.empty() &&
      (!Where || A.Size > Where->Address + Where->Size - A.Address)) {
    char Text[96];
    snprintf(Text, sizeof(Text),
             "[0x%llx, +%llu) is not within one allocation of device memory",
             (unsigned long long)A.Address, (unsigned long long)A.Size);
    Problem = Text;
  }
  if (Problem.empty())
    Notes[A.Address] = std::move(A);
  else
    tell("mneme: warning: annotation '%s': %s\n", A.Tag.c_str(),
         Problem.c_str());
}

void mneme::annotate(Annotations &Notes, AddressMap &Memory, Annotation A) {
  if (!attempt([&] { addAnnotation(Notes, Memory, A); }))
    tell("mneme: warning: annotation '%s': out of memory\n", A.Tag.c_str());
}

//===----------------------------------------------------------------------===//
// Selection of launches
//===----------------------------------------------------------------------===//

bool Recorder::selects(const std::string &Name) {
  const Selection &S = Selection::get();
  return S.includesRank() && !LauncherLink::get().directory().empty() &&
         S.matchesKernel(Name);
}

static std::string scalarBytes(const Kernel &K, void **Args) {
  std::string Bytes;
  for (size_t I = 0; I != K.Args.size(); ++I)
    if (K.Args[I].Kind != MNEME_ARG_POINTER)
      appendScalar(Bytes, Args[I], K.Args[I].Size);
  return Bytes;
}

static uint64_t hashLaunch(const Kernel &K, const LaunchShape &S, void **Args) {
  LaunchKey Key = {{},
                   {S.Grid.X, S.Grid.Y, S.Grid.Z},
                   {S.Block.X, S.Block.Y, S.Block.Z},
                   S.DynamicShared,
                   S.Cooperative};
  memcpy(Key.StaticHash, K.StaticHash.data(), sizeof(Key.StaticHash));
  std::string Rest;
  appendCluster(Rest, {S.Cluster.X, S.Cluster.Y, S.Cluster.Z});
  if (Selection::get().recordId() == RecordId::Scalars && Args)
    Rest += scalarBytes(K, Args);
  if (Selection::get().recordId() == RecordId::Ordinal)
    Rest += std::to_string(K.Records->Launches);
  if (Rest.empty())
    return XXH3_64bits(&Key, sizeof(Key));
  Rest.insert(0, reinterpret_cast<const char *>(&Key), sizeof(Key));
  return XXH3_64bits(Rest.data(), Rest.size());
}

/// Returns a random number in [0, 1) (splitmix64).
static double random(uint64_t &State) {
  State += 0x9e3779b97f4a7c15;
  return double(llvm::mneme::scramble(State) >> 11) * 0x1p-53;
}

KernelRecords &Recorder::recordsOf(const Kernel &K,
                                   const std::vector<uint64_t> &HeldLaunches) {
  std::lock_guard<std::mutex> Guard(Lock);
  KernelRecords &R = Kernels[K.StaticHash];
  if (R.Name.empty())
    R.Name = K.Name;
  // Keep what this process has recorded through another stub.
  for (uint64_t DynamicHash : HeldLaunches)
    R.Instances.insert({DynamicHash, {0, /*Done=*/true, /*Held=*/true}});
  return R;
}

/// Number of recorded launches without a change of memory after which a
/// configuration is given up.
static constexpr unsigned MaxUnchanged = 5;

/// Returns true if \p Id would be kept if its recording ended now.
bool Recorder::isBetter(const KernelRecords &R, const LaunchId &Id) const {
  auto Old = R.Kept.find(Id.DynamicHash);
  if (Old != R.Kept.end())
    return Id.Priority > Old->second;
  return R.Kept.size() < Selection::get().maxRecordings() ||
         std::any_of(
             R.Kept.begin(), R.Kept.end(),
             [&](const auto &K) { return Id.Priority > K.second; });
}

static bool isDebugging() {
  static const bool Is = integerFromEnv(MNEME_ENV_DEBUG, 0);
  return Is;
}

bool Recorder::wants(Kernel &K, const LaunchShape &Shape, void **Args,
                     LaunchId &Id) {
  std::lock_guard<std::mutex> Guard(Lock);
  ++Seen;
  LastCounted = nullptr;
  bool IsWanted = false;
  if (Selection::get().isIncomplete() ||
      !attempt([&] { IsWanted = decide(K, Shape, Args, Id); }))
    fail(K.Name, outOfMemory());
  if (isDebugging())
    tell("mneme: debug: launch %" PRIu64 " of '%s', grid %ux%ux%u, block "
         "%ux%ux%u: %s\n",
         Seen, K.Name.c_str(), Shape.Grid.X, Shape.Grid.Y, Shape.Grid.Z,
         Shape.Block.X, Shape.Block.Y, Shape.Block.Z,
         IsWanted                                  ? "is to be recorded"
         : LauncherLink::get().directory().empty() ? "nothing is recorded"
         : LastCounted                             ? reasonOf(*LastCounted)
                                                   : MNEME_REASON_MEMORY);
  return IsWanted;
}

/// Compares the scalar arguments, as far as they can become constants, with
/// those of the first launch. May throw.
static void noteScalars(KernelRecords::Instance &I, const Kernel &K,
                        void **Args) {
  bool IsFirst = I.Scalars.empty();
  size_t At = 0;
  for (size_t N = 0; N != K.Args.size(); ++N) {
    size_t Size = K.Args[N].Size;
    if (K.Args[N].Kind != MNEME_ARG_VALUE || Size > sizeof(uint64_t))
      continue;
    if (IsFirst) {
      I.Scalars.append(static_cast<const char *>(Args[N]), Size);
      continue;
    }
    // Most launches have the same scalars.
    if (memcmp(I.Scalars.data() + At, Args[N], Size)) {
      auto Place = std::lower_bound(I.Varying.begin(), I.Varying.end(), N);
      if (Place == I.Varying.end() || *Place != N)
        I.Varying.insert(Place, N);
    }
    At += Size;
  }
}

static ShapeNumbers numbersOf(const LaunchShape &S) {
  return {S.Grid.X,  S.Grid.Y,  S.Grid.Z,       S.Block.X,
          S.Block.Y, S.Block.Z, S.DynamicShared};
}

/// Requires the lock. Counts the launch unless it is wanted. May throw.
bool Recorder::decide(Kernel &K, const LaunchShape &Shape, void **Args,
                      LaunchId &Id) {
  const Selection &S = Selection::get();
  KernelRecords &R = *K.Records;
  if (!R.Known) {
    R.Selected = selects(K.Name);
    R.Known = true;
  }
  auto No = [&](uint64_t &Counter) {
    ++Counter;
    LastCounted = &Counter;
    return false;
  };
  bool Within = !R.Selected || S.inRegion();
  if (Within)
    ++R.Launches;
  if (!R.Selected)
    return No(S.includesRank() ? NotSelected : OtherRank);
  Id.DynamicHash = hashLaunch(K, Shape, Args);
  uint64_t *LeftOut = !Within                         ? &OutsideRegions
                      : R.Launches <= S.skip()        ? &AmongFirst
                      : !S.includesLaunch(R.Launches) ? &NotListed
                      : !S.includesShape(K.Name, numbersOf(Shape)) ? &NotCovered
                                                                   : nullptr;
  // With ordinals, no launch has the id of another: do not store them all.
  if (LeftOut && S.recordId() == RecordId::Ordinal) {
    ++R.LeftOut;
    return No(*LeftOut);
  }
  KernelRecords::Instance &I = R.Instances[Id.DynamicHash];
  ++I.Occurrences;
  if (Args)
    noteScalars(I, K, Args);
  if (!Within)
    return No(OutsideRegions);
  if (IsFull)
    return No(BeyondFull);
  if (I.Done)
    return No(I.Held ? Held : I.Failed ? FailedBefore : Repeated);
  if (LeftOut)
    return No(*LeftOut);
  switch (S.pick()) {
  case Pick::First:
    return I.Unchanged || R.Recordings < S.maxRecordings() || No(OverLimit);
  case Pick::Slowest:
    Id.Priority = HUGE_VAL;
    return true;
  case Pick::Sample:
    if (!RandomState)
      RandomState = now() ^ uint64_t(getpid()) << 32;
    Id.Priority = random(RandomState);
    return isBetter(R, Id) || No(PassedOver);
  }
  return false;
}

bool Recorder::mayWant(Kernel &K, const LaunchShape &Shape, void **Args) {
  std::lock_guard<std::mutex> Guard(Lock);
  const Selection &S = Selection::get();
  const KernelRecords &R = *K.Records;
  if (S.isIncomplete() || IsFull || !S.inRegion())
    return false;
  // Its ordinal is not known yet.
  auto I = S.recordId() == RecordId::Ordinal
               ? R.Instances.end()
               : R.Instances.find(hashLaunch(K, Shape, Args));
  bool IsKnown = I != R.Instances.end();
  if (IsKnown && I->second.Done)
    return false;
  return S.pick() != Pick::First || (IsKnown && I->second.Unchanged) ||
         R.Recordings < S.maxRecordings();
}

bool Recorder::keeps(Recording &R, uint64_t Nanoseconds) {
  if (!isCompetition())
    return true;
  std::lock_guard<std::mutex> Guard(Lock);
  if (timesLaunches())
    R.Id.Priority = Nanoseconds;
  return isBetter(*R.K->Records, R.Id);
}

void Recorder::discard(std::unique_ptr<Recording> R) {
  std::lock_guard<std::mutex> Guard(Lock);
  --R->K->Records->Recordings;
  ++(isCompetition() ? PassedOver : Unchanged);
}

void Recorder::countUnselected(const std::string &Name, uint64_t Launches) {
  std::lock_guard<std::mutex> Guard(Lock);
  Seen += Launches;
  NotSelected += Launches;
  if (isDebugging())
    tell("mneme: debug: %" PRIu64 " launches of '%s': %s\n", Launches,
         Name.c_str(), MNEME_REASON_NOT_SELECTED);
  attempt([&] { OtherKernels[Name] += Launches; });
}

void Recorder::countSkipped(std::string_view Reason, uint64_t Launches) {
  std::lock_guard<std::mutex> Guard(Lock);
  Seen += Launches;
  if (!attempt([&] { timesSkipped(Reason) += Launches; }))
    OutOfMemory += Launches;
}

void Recorder::countUnknown(const std::string &Name, std::string_view Reason) {
  std::lock_guard<std::mutex> Guard(Lock);
  ++Seen;
  attempt([&] { ++OtherKernels[Name]; });
  fail(Name, Reason);
}

/// Returns the number of launches skipped for \p Reason. May throw.
uint64_t &Recorder::timesSkipped(std::string_view Reason) {
  auto I = Skipped.find(Reason);
  if (I == Skipped.end())
    I = Skipped.emplace(Reason, 0).first;
  return I->second;
}

/// Requires the lock.
void Recorder::fail(const std::string &Name, std::string_view Reason) {
  bool IsNews = false;
  if (Reason == MNEME_REASON_MEMORY ||
      !attempt([&] { IsNews = !timesSkipped(Reason)++; })) {
    Reason = MNEME_REASON_MEMORY;
    IsNews = !OutOfMemory++;
  }
  if (IsNews)
    tell("mneme: warning: kernel '%s' is not recorded: %.*s\n", Name.c_str(),
         int(Reason.size()), Reason.data());
}

void Recorder::skip(const Kernel &K, std::string_view Reason) {
  std::lock_guard<std::mutex> Guard(Lock);
  fail(K.Name, Reason);
}

void Recorder::addTime(uint64_t Time) {
  std::lock_guard<std::mutex> Guard(Lock);
  Nanoseconds += Time;
}

void Recorder::addFinalWait(uint64_t Time) {
  std::lock_guard<std::mutex> Guard(Lock);
  FinalWait += Time;
}

//===----------------------------------------------------------------------===//
// Snapshots
//===----------------------------------------------------------------------===//

static void writeRegion(SnapshotFile &F, const Recording::Region &R,
                        uint32_t Id) {
  MnemeRegionRecord Rec = {
      R.Address, R.Size, R.Kind, Id, uint32_t(R.Name.size()), 0};
  F.region(Rec, R.Name);
}

static void writeRegions(SnapshotFile &F, const Recording &Of) {
  uint32_t Id = 0;
  for (const Recording::Region &R : Of.Regions)
    writeRegion(F, R, Id++);
}

static std::string snapshotName(const char *Kind, const Recording &R) {
  char Dynamic[17];
  snprintf(Dynamic, sizeof(Dynamic), "%016" PRIx64, R.Id.DynamicHash);
  return std::string("DeviceState.") + Kind + "." +
         hexDigits(R.K->StaticHash.data(), R.K->StaticHash.size()) + "." +
         Dynamic + ".mneme";
}

/// Returns the path in the staging folder. The folder is shared with other
/// processes and with launches that this one may replace.
static std::string stagingPath(const char *Kind, const Recording &R) {
  return LauncherLink::get().directory() + "/" + snapshotName(Kind, R) + "." +
         std::to_string(getpid()) + "." + std::to_string(R.Serial);
}

/// Returns the file's name in the staging folder.
static std::string stagingName(const SnapshotFile &F) {
  return F.path().substr(F.path().rfind('/') + 1);
}

static void writeArgs(SnapshotFile &F, const Kernel &K, void **Args) {
  MnemeArgsRecord ArgsRecord = {uint32_t(K.Args.size()), 0};
  std::string Bytes;
  for (const KernelArg &A : K.Args) {
    MnemeArgEntry Entry = {A.Size, A.Offset};
    Bytes.append(reinterpret_cast<char *>(&Entry), sizeof(Entry));
  }
  for (size_t I = 0; I != K.Args.size(); ++I)
    Bytes.append(static_cast<char *>(Args[I]), K.Args[I].Size);
  F.record(MNEME_RECORD_ARGS, &ArgsRecord, sizeof(ArgsRecord), Bytes.data(),
           Bytes.size());
}

std::unique_ptr<Recording>
Recorder::begin(Kernel &K, const LaunchShape &Shape, const LaunchId &Id,
                void **Args, std::vector<Recording::Region> Regions,
                uint64_t ArenaBase, uint64_t ArenaSize,
                const Annotations &Notes) {
  std::unique_ptr<Recording> R;
  attempt([&] {
    R = std::make_unique<Recording>();
    R->Notes = Notes;
  });
  if (!R) {
    skip(K, outOfMemory());
    return nullptr;
  }
  R->K = &K;
  R->Shape = Shape;
  R->Id = Id;
  R->Regions = std::move(Regions);
  // Sort buffers first, so that their ids do not depend on the variables'
  // addresses.
  std::sort(R->Regions.begin(), R->Regions.end(),
            [](const Recording::Region &A, const Recording::Region &B) {
              auto Key = [](const Recording::Region &R) {
                return std::make_tuple(R.Kind == MNEME_REGION_GLOBAL, R.Kind,
                                       R.Address);
              };
              return Key(A) < Key(B);
            });
  {
    std::lock_guard<std::mutex> Guard(Lock);
    // One attempt per configuration, even if it fails.
    K.Records->Instances.find(Id.DynamicHash)->second.Done = !isCompetition();
    ++K.Records->Recordings;
    R->Serial = ++LastSerial;
  }
  MnemeSnapshotHeader &H = R->Header;
  memcpy(H.StaticHash, K.StaticHash.data(), sizeof(H.StaticHash));
  H.DynamicHash = Id.DynamicHash;
  // A launch without memory still needs an arena for its replay.
  H.ArenaBase = ArenaSize ? ArenaBase : MNEME_ARENA_BASE;
  H.ArenaSize = ArenaSize ? ArenaSize : MNEME_ARENA_SIZE;
  H.Kind = MNEME_SNAPSHOT_PROLOGUE;
  std::string Error;
  if (!attempt([&] {
        open(*R, Args);
        Error = R->Prologue.error();
      }))
    Error = outOfMemory();
  if (Error.empty())
    return R;
  abandon(std::move(R), Error);
  return nullptr;
}

void Recorder::open(Recording &R, void **Args) {
  R.Pages.open(LauncherLink::get().directory(), KnownPages,
               LauncherLink::get().database());
  R.Pages.limit(Selection::get().maxBytes(), MNEME_REASON_FULL);
  R.Prologue.open(stagingPath("prologue", R), R.Header, R.Pages);
  writeArgs(R.Prologue, *R.K, Args);
}

static void writeAnnotation(SnapshotFile &F, const Annotation &A) {
  MnemeAnnotationRecord Rec = {A.Address,   A.Size, A.DType,
                               A.Tolerance, A.Norm, uint32_t(A.Tag.size()),
                               A.Value};
  F.record(MNEME_RECORD_ANNOTATION, &Rec, sizeof(Rec), A.Tag.data(),
           A.Tag.size());
}

void Recorder::describeMemory(Recording &R) {
  writeRegions(R.Prologue, R);
  for (const auto &Entry : R.Notes)
    if (R.contains(Entry.second.Address, Entry.second.Size))
      writeAnnotation(R.Prologue, Entry.second);
}

void Recorder::addRegion(Recording &R, Recording::Region Added) {
  writeRegion(R.Prologue, Added, R.Regions.size());
  R.Regions.push_back(std::move(Added));
  for (const auto &Entry : R.Notes)
    if (R.Regions.back().contains(Entry.second.Address, Entry.second.Size))
      writeAnnotation(R.Prologue, Entry.second);
}

void Recorder::openEpilogue(Recording &R) {
  R.Header.Kind = MNEME_SNAPSHOT_EPILOGUE;
  R.Epilogue.open(stagingPath("epilogue", R), R.Header, R.Pages);
  writeRegions(R.Epilogue, R);
}

void Recorder::abandon(std::unique_ptr<Recording> R, std::string_view Reason,
                       bool Again) {
  std::lock_guard<std::mutex> Guard(Lock);
  --R->K->Records->Recordings;
  KernelRecords::Instance &I = getInstance(*R);
  // A recording that is held is kept even if its replacement fails.
  I.Failed = !Again && !I.Unchanged;
  I.Done = !Again && (!I.Unchanged || ++I.Unchanged >= MaxUnchanged);
  IsFull |= Reason == MNEME_REASON_FULL;
  fail(R->K->Name, Reason);
}

/// Requires the lock.
KernelRecords::Instance &Recorder::getInstance(const Recording &R) {
  return R.K->Records->Instances.find(R.Id.DynamicHash)->second;
}

/// Returns true if a recorded launch of this configuration changed no memory.
/// Such a launch may be replaced by one that does: an unchanged memory does not
/// show whether the kernel does nothing or its results were in place already.
bool Recorder::replacesUnchanged(const Recording &R) {
  std::lock_guard<std::mutex> Guard(Lock);
  return retriesUnchanged() && getInstance(R).Unchanged;
}

/// \returns an error message; empty on success. Sets \p Added to false if the
/// output directory contains the launch already.
static std::string tellLauncher(const Recording &R, bool Tentative,
                                bool &Added) {
  const Kernel &K = *R.K;
  WireWriter W;
  W.bytes(K.StaticHash.data(), K.StaticHash.size());
  W.u64(R.Id.DynamicHash);
  for (uint32_t V : {R.Shape.Grid.X, R.Shape.Grid.Y, R.Shape.Grid.Z,
                     R.Shape.Block.X, R.Shape.Block.Y, R.Shape.Block.Z})
    W.u32(V);
  W.u64(R.Shape.DynamicShared);
  W.u32(R.Shape.Cooperative);
  for (uint32_t V : {R.Shape.Cluster.X, R.Shape.Cluster.Y, R.Shape.Cluster.Z})
    W.u32(V);
  W.str(stagingName(R.Prologue));
  W.str(stagingName(R.Epilogue));
  W.u32(Tentative);
  W.u32(R.ChangesMemory);
  W.u64(R.Header.ArenaBase);
  W.u64(R.Header.ArenaSize);
  W.u64(R.Prologue.storedBytes() + R.Epilogue.storedBytes() +
        R.Pages.storedBytes());
  W.u64(R.Prologue.rawBytes() + R.Epilogue.rawBytes());
  std::vector<const Recording::Region *> Variables;
  for (const Recording::Region &Region : R.Regions)
    if (Region.Kind == MNEME_REGION_GLOBAL)
      Variables.push_back(&Region);
  W.u32(Variables.size());
  for (const Recording::Region *V : Variables) {
    W.str(V->Name);
    W.u64(V->Address);
    W.u64(V->Size);
  }
  for (const std::string *S :
       {&R.Device.Name, &R.Device.Arch, &R.Device.Driver, &R.Device.Runtime})
    W.str(*S);
  W.u64(R.Omitted.Regions);
  W.u64(R.Omitted.Bytes);
  // The launcher checks that all required page files exist.
  std::set<std::string> Files;
  for (const SnapshotFile *F : {&R.Prologue, &R.Epilogue})
    for (const MnemePageFileId &Id : F->pageFiles())
      Files.insert(std::string(std::begin(Id.Id), std::end(Id.Id)));
  W.u32(Files.size());
  for (const std::string &Id : Files)
    W.str(Id);
  std::string Answer;
  std::string Error =
      LauncherLink::get().request(MNEME_WIRE_RECORDED, W, Answer);
  Added = Error.empty() && LauncherLink::reader(Answer).u32();
  return Error;
}

/// \returns an error message; empty on success.
std::string Recorder::writeFiles(Recording &R) {
  EpilogueMode Mode = Selection::get().epilogue();
  if (Mode == EpilogueMode::Full ||
      (Mode == EpilogueMode::Best &&
       R.Epilogue.numRunsCompleted(R.Prologue) < R.Epilogue.numRuns()))
    R.Epilogue.complete(R.Prologue);
  R.Pages.close();
  if (!R.Pages.error().empty())
    return R.Pages.error();
  if (!R.Pages.empty())
    KnownPages.add(R.Pages.id(), R.Pages.digests());
  for (SnapshotFile *F : {&R.Prologue, &R.Epilogue}) {
    F->write();
    if (!F->error().empty())
      return F->error();
  }
  return "";
}

/// May throw.
Recorder::Fate Recorder::store(Recording &R, std::string &Error) {
  R.Epilogue.close();
  for (SnapshotFile *F : {&R.Prologue, &R.Epilogue}) {
    Error = F->error();
    if (!Error.empty())
      return Fate::Failed;
  }
  R.ChangesMemory = R.Epilogue.numRuns() != 0;
  // Another thread's recording may have ended first.
  if (!keeps(R, R.Id.Priority) || (!R.ChangesMemory && replacesUnchanged(R)))
    return Fate::NotKept;
  Error = writeFiles(R);
  if (!Error.empty())
    return Fate::Failed;
  R.Entry = {{R.Id.DynamicHash, R.Id.Priority}};
  bool Added;
  Error = tellLauncher(
      R, isCompetition() || (retriesUnchanged() && !R.ChangesMemory), Added);
  if (Error.empty())
    return Added ? Fate::Stored : Fate::HeldBefore;
  // Another process may have removed page files that this process relies on.
  KnownPages.clear();
  return Fate::Failed;
}

void Recorder::finish(std::unique_ptr<Recording> R) {
  std::string Error;
  Fate F = Fate::Failed;
  if (!attempt([&] { F = store(*R, Error); }))
    Error = outOfMemory();
  if (F != Fate::Failed && retriesUnchanged() && !R->ChangesMemory) {
    std::lock_guard<std::mutex> Guard(Lock);
    KernelRecords::Instance &I = getInstance(*R);
    // A later launch of this configuration may change memory.
    I.Done = ++I.Unchanged >= MaxUnchanged || I.HasChanged;
  }
  if (F == Fate::NotKept)
    return discard(std::move(R));
  if (F == Fate::Failed)
    return abandon(std::move(R), Error);
  std::lock_guard<std::mutex> Guard(Lock);
  if (isCompetition())
    return keep(*R);
  if (F == Fate::Stored) {
    KernelRecords::Instance &I = getInstance(*R);
    I.HasChanged |= R->ChangesMemory;
    bool IsHeld = retriesUnchanged() && !R->ChangesMemory;
    if (IsHeld) {
      R->Prologue.leave();
      R->Epilogue.leave();
    }
    // It replaced a recording held by the launcher.
    if (I.Unchanged > IsHeld) {
      --R->K->Records->Recordings;
      ++Unchanged;
    } else {
      ++Recorded;
    }
    return;
  }
  // Another process has stored this launch first.
  ++Held;
  --R->K->Records->Recordings;
}

/// The launcher holds \p R, which replaces a recording with the same dynamic
/// hash.
void Recorder::keep(Recording &R) {
  R.Prologue.leave();
  R.Epilogue.leave();
  KernelRecords &Records = *R.K->Records;
  std::map<uint64_t, double> &Kept = Records.Kept;
  auto Old = Kept.find(R.Id.DynamicHash);
  bool Replaced = Old != Kept.end();
  if (Replaced)
    Old->second = R.Id.Priority;
  else
    Kept.insert(R.Entry.extract(R.Entry.begin()));
  if (!Replaced && Kept.size() > Selection::get().maxRecordings()) {
    auto Worst = std::min_element(
        Kept.begin(), Kept.end(),
        [](const auto &A, const auto &B) { return A.second < B.second; });
    FixedWriter<64> W;
    W.bytes(R.K->StaticHash.data(), R.K->StaticHash.size());
    W.u64(Worst->first);
    LauncherLink::get().notify(MNEME_WIRE_WITHDRAW, W.data(), W.size());
    Kept.erase(Worst);
    Replaced = true;
  }
  if (!Replaced) {
    ++Recorded;
    return;
  }
  --Records.Recordings;
  ++PassedOver;
}

//===----------------------------------------------------------------------===//
// The summary
//===----------------------------------------------------------------------===//

/// Calls \p F(static hash or empty, kernel, dynamic hash, launches, scalar
/// arguments that varied).
template <typename Fn> void Recorder::forEachLine(Fn F) const {
  static const std::string None;
  static const std::vector<uint32_t> NoArgs;
  for (const auto &[Name, Launches] : OtherKernels)
    F(None, Name, 0, Launches, NoArgs);
  for (const auto &[Hash, K] : Kernels) {
    if (K.Selected) {
      for (const auto &[DynamicHash, I] : K.Instances)
        if (I.Occurrences)
          F(Hash, K.Name, DynamicHash, I.Occurrences, I.Varying);
      if (K.LeftOut)
        F(Hash, K.Name, 0, K.LeftOut, NoArgs);
    } else if (K.Launches) {
      F(Hash, K.Name, 0, K.Launches, NoArgs);
    }
  }
}

/// Returns the reason why the launches in \p Counter are not recorded.
const char *Recorder::reasonOf(const uint64_t &Counter) const {
  if (&Counter == &Repeated)
    return Selection::get().recordId() == RecordId::Scalars
               ? "same launch configuration and scalars recorded before"
               : "same launch configuration recorded before";
  const std::pair<const uint64_t *, const char *> Reasons[] = {
      {&NotSelected, MNEME_REASON_NOT_SELECTED},
      {&OtherRank, "of a rank that is not recorded"},
      {&FailedBefore, "same launch configuration failed to be recorded before"},
      {&Held, MNEME_REASON_HELD},
      {&BeyondFull, MNEME_REASON_FULL},
      {&OutOfMemory, MNEME_REASON_MEMORY},
      {&OutsideRegions, "outside the regions to be recorded"},
      {&AmongFirst, "among the first launches, to be skipped"},
      {&NotListed, "not one of the launches to be recorded"},
      {&NotCovered, "of little weight in the profile (--cover)"},
      {&PassedOver, "others were picked"},
      {&Unchanged, "changed no memory"},
      {&OverLimit,
       "limit of recordings per kernel reached (--max-recordings)"}};
  for (const auto &[Known, Reason] : Reasons)
    if (Known == &Counter)
      return Reason;
  return "";
}

/// Calls \p F(reason, size of the reason in bytes, launches).
template <typename Fn> void Recorder::forEachReason(Fn F) const {
  // Without an output directory, recording was not requested.
  bool Records = !LauncherLink::get().directory().empty();
  for (const uint64_t *Counter :
       {&NotSelected, &OtherRank, &Repeated, &FailedBefore, &Held, &BeyondFull,
        &OutOfMemory, &OutsideRegions, &AmongFirst, &NotListed, &NotCovered,
        &PassedOver, &Unchanged, &OverLimit}) {
    bool IsMoot =
        !Records && (Counter == &NotSelected || Counter == &OtherRank);
    const char *Reason = reasonOf(*Counter);
    if (*Counter && !IsMoot)
      F(Reason, strlen(Reason), *Counter);
  }
  for (const auto &[Reason, Times] : Skipped)
    F(Reason.data(), Reason.size(), Times);
}

template <typename Writer>
void Recorder::writeSummary(Writer &W, bool HasLines, bool HasReasons) const {
  uint64_t NumSkipped = 0;
  uint32_t NumLines = 0, NumReasons = 0;
  forEachLine([&](auto &, auto &, uint64_t, uint64_t, auto &) { ++NumLines; });
  forEachReason([&](const char *, size_t, uint64_t Times) {
    ++NumReasons;
    NumSkipped += Times;
  });
  W.u64(Seen);
  W.u64(Recorded);
  W.u64(NumSkipped);
  W.u32(HasLines ? NumLines : 0);
  if (HasLines)
    forEachLine([&](auto &StaticHash, auto &Name, uint64_t DynamicHash,
                    uint64_t Launches, auto &Varying) {
      W.bytes(StaticHash.data(), StaticHash.size());
      W.bytes(Name.data(), Name.size());
      W.u64(DynamicHash);
      W.u64(Launches);
      W.u32(Varying.size());
      for (uint32_t Arg : Varying)
        W.u32(Arg);
    });
  W.u32(HasReasons ? NumReasons : 0);
  if (HasReasons)
    forEachReason([&](const char *Reason, size_t Size, uint64_t Times) {
      W.bytes(Reason, Size);
      W.u64(Times);
    });
  W.u64(Nanoseconds);
  W.u64(FinalWait);
}

void Recorder::summarize() {
  std::lock_guard<std::mutex> Guard(Lock);
  if (attempt([&] {
        WireWriter W;
        writeSummary(W, /*HasLines=*/true, /*HasReasons=*/true);
        std::string Answer;
        LauncherLink::get().request(MNEME_WIRE_SUMMARY, W, Answer);
      }))
    return;
  // Send the parts that need no memory, as far as they fit.
  for (bool HasReasons : {true, false}) {
    FixedWriter<4096> W;
    writeSummary(W, /*HasLines=*/false, HasReasons);
    if (W.ok())
      return LauncherLink::get().notify(MNEME_WIRE_SUMMARY, W.data(), W.size());
  }
}
