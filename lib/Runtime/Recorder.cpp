//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recorder.h"
#include "Device.h"
#include "Environment.h"
#include "Launcher.h"
#include "SnapshotFile.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <time.h>
#include <unistd.h>

using namespace mneme;

static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;

static uint64_t now() {
  timespec T;
  clock_gettime(CLOCK_MONOTONIC, &T);
  return T.tv_sec * 1000000000ull + T.tv_nsec;
}

namespace {
/// Adds the time that it lives to a counter.
class Stopwatch {
public:
  explicit Stopwatch(uint64_t &Sum) : Sum(Sum), Start(now()) {}
  ~Stopwatch() { Sum += now() - Start; }

private:
  uint64_t &Sum;
  uint64_t Start;
};
} // namespace

bool Recording::contains(uint64_t Address, uint64_t Size) const {
  return std::any_of(Regions.begin(), Regions.end(), [&](const Region &R) {
    return Address >= R.Address && Size <= R.Size &&
           Address - R.Address <= R.Size - Size;
  });
}

//===----------------------------------------------------------------------===//
// Which launches
//===----------------------------------------------------------------------===//

Recorder::Recorder() {
  SkipFirst = integerFromEnv(MNEME_ENV_SKIP, 0);
  MaxRecordings = integerFromEnv(MNEME_ENV_MAX_RECORDINGS, 4);
  const char *Pattern = getenv(MNEME_ENV_KERNELS);
  if (!Pattern || !*Pattern)
    return;
  HaveFilter = true;
  if (int E = regcomp(&Filter, Pattern, REG_EXTENDED | REG_NOSUB)) {
    char Message[128];
    regerror(E, &Filter, Message, sizeof(Message));
    fprintf(stderr, "mneme: error: invalid kernel pattern '%s': %s\n", Pattern,
            Message);
    BadFilter = true;
  }
}

Recorder::~Recorder() {
  if (HaveFilter && !BadFilter)
    regfree(&Filter);
}

bool Recorder::matches(const std::string &Name) {
  if (!HaveFilter)
    return true;
  if (BadFilter)
    return false;
  if (!regexec(&Filter, Name.c_str(), 0, nullptr, 0))
    return true;
  int Status;
  char *Demangled =
      abi::__cxa_demangle(Name.c_str(), nullptr, nullptr, &Status);
  bool Match = Demangled && !regexec(&Filter, Demangled, 0, nullptr, 0);
  free(Demangled);
  return Match;
}

static uint64_t hashLaunch(const Kernel &K, const LaunchShape &S) {
  struct {
    char StaticHash[16];
    Dim3 Grid, Block;
    uint64_t DynamicShared;
  } Key = {{}, S.Grid, S.Block, S.DynamicShared};
  static_assert(sizeof(Key) == 48, "no padding in what is hashed");
  memcpy(Key.StaticHash, K.StaticHash.data(), sizeof(Key.StaticHash));
  return XXH3_64bits(&Key, sizeof(Key));
}

KernelRecords &Recorder::recordsOf(const Kernel &K,
                                   const std::vector<uint64_t> &HeldLaunches) {
  KernelRecords &R = Kernels[K.StaticHash];
  if (R.Name.empty())
    R.Name = K.Name;
  // What this process has recorded for another stub stays its own.
  for (uint64_t DynamicHash : HeldLaunches)
    R.Instances.insert({DynamicHash, {0, /*Done=*/true, /*Held=*/true}});
  return R;
}

bool Recorder::wants(Kernel &K, const LaunchShape &Shape,
                     uint64_t &DynamicHash) {
  ++Seen;
  KernelRecords &R = *K.Records;
  ++R.Launches;
  if (!R.Known) {
    R.Known = true;
    R.Selected = !Launcher::get().directory().empty() && matches(K.Name);
  }
  if (!R.Selected) {
    ++NotSelected;
    return false;
  }
  DynamicHash = hashLaunch(K, Shape);
  KernelRecords::Instance &I = R.Instances[DynamicHash];
  ++I.Occurrences;
  if (I.Done) {
    ++(I.Held ? Held : Repeated);
    return false;
  }
  if (R.Launches <= SkipFirst) {
    ++AmongFirst;
    return false;
  }
  if (R.Recordings >= MaxRecordings) {
    ++OverLimit;
    return false;
  }
  return true;
}

void Recorder::fail(const Kernel &K, const std::string &Reason) {
  skip(Reason);
  if (Told.insert(Reason).second)
    fprintf(stderr, "mneme: warning: kernel '%s' is not recorded: %s\n",
            K.Name.c_str(), Reason.c_str());
}

//===----------------------------------------------------------------------===//
// Snapshots
//===----------------------------------------------------------------------===//

static bool isZero(const char *P, uint64_t Size) {
  uint64_t Or = 0, I = 0;
  for (; I + 8 <= Size; I += 8) {
    uint64_t V;
    memcpy(&V, P + I, 8);
    Or |= V;
  }
  for (; I != Size; ++I)
    Or |= static_cast<unsigned char>(P[I]);
  return !Or;
}

/// Calls \p Run(offset, size) for the maximal runs of pages of [0, Size) that
/// \p Wanted(offset, size) picks.
template <typename WantedFn, typename RunFn>
static void forEachRun(uint64_t Size, WantedFn Wanted, RunFn Run) {
  uint64_t Begin = 0;
  bool Open = false;
  for (uint64_t At = 0; At < Size; At += Page) {
    bool Want = Wanted(At, std::min(Page, Size - At));
    if (Want && !Open)
      Begin = At;
    else if (!Want && Open)
      Run(Begin, At - Begin);
    Open = Want;
  }
  if (Open)
    Run(Begin, Size - Begin);
}

uint64_t mneme::availableMemory() {
  uint64_t KiB = 0;
  if (FILE *F = fopen("/proc/meminfo", "re")) {
    char Line[128];
    while (fgets(Line, sizeof(Line), F))
      if (sscanf(Line, "MemAvailable: %" SCNu64, &KiB) == 1)
        break;
    fclose(F);
  }
  return KiB << 10;
}

static void writeRegions(SnapshotFile &F, const Recording &Of) {
  uint32_t Id = 0;
  for (const Recording::Region &R : Of.Regions) {
    MnemeRegionRecord Rec = {
        R.Address, R.Size, R.Kind, Id++, uint32_t(R.Name.size()), 0};
    F.record(MNEME_RECORD_REGION, &Rec, sizeof(Rec), R.Name.data(),
             R.Name.size());
  }
}

static std::string hexDigits(const void *Bytes, size_t Size) {
  static const char Digits[] = "0123456789abcdef";
  std::string S;
  for (size_t I = 0; I != Size; ++I) {
    unsigned char C = static_cast<const unsigned char *>(Bytes)[I];
    S += Digits[C >> 4];
    S += Digits[C & 15];
  }
  return S;
}

static std::string snapshotName(const char *Kind, const Recording &R) {
  char Dynamic[17];
  snprintf(Dynamic, sizeof(Dynamic), "%016" PRIx64, R.DynamicHash);
  return std::string("DeviceState.") + Kind + "." +
         hexDigits(R.K->StaticHash.data(), R.K->StaticHash.size()) + "." +
         Dynamic + ".mneme";
}

/// What tells the files of this process from those of others.
static std::string suffix() { return "." + std::to_string(getpid()); }

static std::string inDirectory(const std::string &Name) {
  return Launcher::get().directory() + "/" + Name + suffix();
}

/// Calls \p F for everything in the launch's arguments that may be a pointer.
template <typename Fn>
static void forEachPointer(const Kernel &K, void **Args, Fn F) {
  for (size_t I = 0; I != K.Args.size(); ++I)
    for (uint32_t At = 0; At + 8 <= K.Args[I].Size; At += 8) {
      uint64_t V;
      memcpy(&V, static_cast<char *>(Args[I]) + At, 8);
      F(V);
    }
}

static bool inRanges(const HostRanges &Ranges, uint64_t Address) {
  auto I = Ranges.upper_bound(Address);
  return I != Ranges.begin() &&
         Address - std::prev(I)->first < std::prev(I)->second;
}

std::unique_ptr<Recording> Recorder::begin(Kernel &K, const LaunchShape &Shape,
                                           uint64_t DynamicHash, void **Args,
                                           Arena &Memory,
                                           const HostRanges &Registered,
                                           const Annotations &Notes) {
  Stopwatch Time(Nanoseconds);
  auto R = std::make_unique<Recording>();
  R->K = &K;
  R->Shape = Shape;
  R->DynamicHash = DynamicHash;
  // Whatever happens, one attempt is enough for this configuration.
  K.Records->Instances[DynamicHash].Done = true;

  // Pinned host memory is staging space as a rule; record what the kernel was
  // given the address of.
  std::set<uint64_t> Given;
  bool GivenRegistered = false;
  forEachPointer(K, Args, [&](uint64_t V) {
    if (Arena::Allocation *A = Memory.find(V))
      Given.insert(A->Address);
    else
      GivenRegistered |= inRanges(Registered, V);
  });
  if (GivenRegistered) {
    fail(K, "an argument points to registered host memory");
    return nullptr;
  }

  for (const auto &Entry : Memory.allocations()) {
    const Arena::Allocation &A = Entry.second;
    Recording::Region Region = {A.Address, A.Size, MNEME_REGION_HEAP, ""};
    if (A.Kind == KindVariable) {
      if (!std::count(K.Reached.begin(), K.Reached.end(),
                      static_cast<const Variable *>(A.Owner)))
        continue;
      auto *V = static_cast<const Variable *>(A.Owner);
      Region.Kind = MNEME_REGION_GLOBAL;
      Region.Name = V->Name;
      Region.Size = V->Size;
    } else if (A.Kind == KindPinned && !(A.Flags & FlagMapped) &&
               !Given.count(A.Address)) {
      continue;
    }
    if (Region.Size)
      R->Regions.push_back(std::move(Region));
  }
  // Buffers first, so that their numbers do not depend on where variables lie.
  std::sort(R->Regions.begin(), R->Regions.end(),
            [](const Recording::Region &A, const Recording::Region &B) {
              return A.Kind != B.Kind ? A.Kind < B.Kind : A.Address < B.Address;
            });

  MnemeSnapshotHeader &H = R->Header;
  memcpy(H.StaticHash, K.StaticHash.data(), sizeof(H.StaticHash));
  H.DynamicHash = DynamicHash;
  // A launch without memory still has a place to be replayed in.
  H.ArenaBase = Memory.size() ? Memory.base() : MNEME_ARENA_BASE;
  H.ArenaSize = Memory.size() ? Memory.size() : MNEME_ARENA_SIZE;
  H.Kind = MNEME_SNAPSHOT_PROLOGUE;
  SnapshotFile &F = R->Prologue;
  F.open(inDirectory(snapshotName("prologue", *R)), H);

  MnemeArgsRecord ArgsRecord = {uint32_t(K.Args.size()), 0};
  std::string ArgBytes;
  for (const KernelArg &A : K.Args) {
    MnemeArgEntry Entry = {A.Size, A.Offset};
    ArgBytes.append(reinterpret_cast<char *>(&Entry), sizeof(Entry));
  }
  for (size_t I = 0; I != K.Args.size(); ++I)
    ArgBytes.append(static_cast<char *>(Args[I]), K.Args[I].Size);
  F.record(MNEME_RECORD_ARGS, &ArgsRecord, sizeof(ArgsRecord), ArgBytes.data(),
           ArgBytes.size());
  writeRegions(F, *R);
  for (const auto &Entry : Notes) {
    const Annotation &A = Entry.second;
    if (!R->contains(A.Address, A.Size))
      continue;
    MnemeAnnotationRecord Rec = {A.Address,   A.Size, A.DType,
                                 A.Tolerance, A.Norm, uint32_t(A.Tag.size()),
                                 A.Value};
    F.record(MNEME_RECORD_ANNOTATION, &Rec, sizeof(Rec), A.Tag.data(),
             A.Tag.size());
  }

  // Pages of zeros are not written.
  for (const Recording::Region &Region : R->Regions) {
    auto *Bytes = reinterpret_cast<const char *>(Region.Address);
    forEachRun(
        Region.Size,
        [&](uint64_t At, uint64_t Size) { return !isZero(Bytes + At, Size); },
        [&](uint64_t At, uint64_t Size) {
          F.data(Bytes + At, Region.Address + At, Size);
        });
  }
  F.close();
  if (!F.error().empty()) {
    fail(K, F.error());
    return nullptr;
  }
  return R;
}

void Recorder::finish(std::unique_ptr<Recording> R) {
  Stopwatch Time(Nanoseconds);
  Kernel &K = *R->K;
  R->Header.Kind = MNEME_SNAPSHOT_EPILOGUE;
  SnapshotFile &F = R->Epilogue;
  F.open(inDirectory(snapshotName("epilogue", *R)), R->Header);
  writeRegions(F, *R);
  for (const Recording::Region &Region : R->Regions) {
    auto *Bytes = reinterpret_cast<const char *>(Region.Address);
    forEachRun(
        Region.Size,
        [&](uint64_t At, uint64_t Size) {
          const char *Before = R->Prologue.page(Region.Address + At);
          return Before ? memcmp(Bytes + At, Before, Size) != 0
                        : !isZero(Bytes + At, Size);
        },
        [&](uint64_t At, uint64_t Size) {
          F.data(Bytes + At, Region.Address + At, Size);
        });
  }
  F.close();
  for (const SnapshotFile *File : {&R->Prologue, &F})
    if (!File->error().empty())
      return fail(K, File->error());

  WireWriter W;
  W.bytes(K.StaticHash.data(), K.StaticHash.size());
  W.u64(R->DynamicHash);
  for (uint32_t V : {R->Shape.Grid.X, R->Shape.Grid.Y, R->Shape.Grid.Z,
                     R->Shape.Block.X, R->Shape.Block.Y, R->Shape.Block.Z})
    W.u32(V);
  W.u64(R->Shape.DynamicShared);
  W.str(snapshotName("prologue", *R) + suffix());
  W.str(snapshotName("epilogue", *R) + suffix());
  W.u64(R->Header.ArenaBase);
  W.u64(R->Header.ArenaSize);
  W.u64(R->Prologue.storedBytes() + F.storedBytes());
  W.u64(R->Prologue.rawBytes() + F.rawBytes());
  W.u32(K.Reached.size());
  for (const Variable *V : K.Reached) {
    W.str(V->Name);
    W.u64(V->Address);
    W.u64(V->Size);
  }
  std::string Answer;
  std::string Error = Launcher::get().request(MNEME_WIRE_RECORDED, W, Answer);
  if (!Error.empty())
    return fail(K, Error);
  // Another process may have been faster.
  if (!Launcher::reader(Answer).u32()) {
    ++Held;
    return;
  }
  ++Recorded;
  ++K.Records->Recordings;
}

void Recorder::abandon(std::unique_ptr<Recording> R,
                       const std::string &Reason) {
  fail(*R->K, Reason);
}

void Recorder::summarize() {
  struct Line {
    std::string StaticHash, Name;
    uint64_t DynamicHash, Occurrences;
  };
  std::vector<Line> Lines;
  for (const auto &[Hash, K] : Kernels) {
    if (K.Selected)
      for (const auto &[DynamicHash, I] : K.Instances) {
        if (I.Occurrences)
          Lines.push_back({Hash, K.Name, DynamicHash, I.Occurrences});
      }
    else if (K.Launches)
      Lines.push_back({Hash, K.Name, 0, K.Launches});
  }
  // With nowhere to record to, nothing was to be recorded.
  if (Launcher::get().directory().empty())
    NotSelected = 0;
  for (const auto &[Reason, Times] :
       {std::pair<const char *, uint64_t>{"not selected", NotSelected},
        {"same launch configuration recorded before", Repeated},
        {"already in the output directory", Held},
        {"among the first launches, to be skipped", AmongFirst},
        {"limit of recordings per kernel reached", OverLimit}})
    if (Times)
      Skipped[Reason] += Times;

  WireWriter W;
  W.u64(Seen);
  W.u64(Recorded);
  uint64_t NumSkipped = 0;
  for (const auto &S : Skipped)
    NumSkipped += S.second;
  W.u64(NumSkipped);
  W.u32(Lines.size());
  for (const Line &L : Lines) {
    W.str(L.StaticHash);
    W.str(L.Name);
    W.u64(L.DynamicHash);
    W.u64(L.Occurrences);
  }
  W.u32(Skipped.size());
  for (const auto &S : Skipped) {
    W.str(S.first);
    W.u64(S.second);
  }
  W.u64(Nanoseconds);
  std::string Answer;
  Launcher::get().request(MNEME_WIRE_SUMMARY, W, Answer);
}
