//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Selection.h"
#include "Environment.h"
#include "Message.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

using namespace mneme;

//===----------------------------------------------------------------------===//
// The environment
//===----------------------------------------------------------------------===//

static std::string textFromEnv(const char *Name) {
  const char *S = getVariable(Name);
  return S ? S : "";
}

/// Returns the index of the word in \p Words; 0 if \p Name is not set, or, with
/// a warning, if the word is unknown.
template <size_t N>
static unsigned wordFromEnv(const char *Name, const char *const (&Words)[N]) {
  std::string Text = textFromEnv(Name);
  for (unsigned I = 0; I != N; ++I)
    if (Text == Words[I])
      return I;
  if (!Text.empty())
    tell("mneme: warning: %s: unknown word '%s'\n", Name, Text.c_str());
  return 0;
}

static const char *const RecordIdNames[] = {
#define RECORD_ID(Id, Name, Input, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};

static const char *const PickNames[] = {
#define PICK(Id, Name, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};

static const char *const EpilogueNames[] = {
#define EPILOGUE(Id, Name, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};

static const char *const WaitNames[] = {
#define WAIT(Id, Name, Help) Name,
#include "llvm/Mneme/Runtime/Selection.def"
};

static void warnOf(const char *Variable, const std::string &Problem) {
  if (!Problem.empty())
    tell("mneme: warning: %s: %s\n", Variable, Problem.c_str());
}

/// Reads decimal seconds and returns nanoseconds; 0 if \p Name is not set, or,
/// with a warning, if it is not a valid number.
static uint64_t nanosecondsFromEnv(const char *Name) {
  std::string Text = textFromEnv(Name);
  char *End;
  double Seconds = parseDecimal(Text.c_str(), &End);
  if (!*End && Seconds >= 0)
    return uint64_t(std::min(Seconds, 1e9) * 1e9);
  warnOf(Name, "'" + Text + "' is not a number of seconds");
  return 0;
}

Selection::Selection() {
  IsIncomplete = !attempt([&] { read(); });
  if (IsIncomplete)
    tell("mneme: error: nothing is recorded: out of memory\n");
}

void Selection::read() {
  RankChoice Ranks;
  warnOf(MNEME_ENV_RANKS, Ranks.parse(textFromEnv(MNEME_ENV_RANKS)));
  IncludesRank = Ranks.includesThisProcess();
  std::string Text = textFromEnv(MNEME_ENV_KERNELS);
  if (!Text.empty())
    Kernels.compile(Text.c_str(), "kernels");
  Text = textFromEnv(MNEME_ENV_REGIONS);
  OnlyRegions = !Text.empty();
  if (OnlyRegions)
    Regions.compile(Text.c_str(), "regions");
  Text = textFromEnv(MNEME_ENV_LAUNCHES);
  ListsLaunches = !Text.empty();
  if (ListsLaunches)
    warnOf(MNEME_ENV_LAUNCHES, Launches.parse(Text));
  Skip = integerFromEnv(MNEME_ENV_SKIP, 0);
  MaxRecordings = integerFromEnv(MNEME_ENV_MAX_RECORDINGS, 4);
  if (!MaxRecordings)
    MaxRecordings = UINT64_MAX;
  Id = RecordId(wordFromEnv(MNEME_ENV_RECORD_ID, RecordIdNames));
  TheirPick = Pick(wordFromEnv(MNEME_ENV_PICK, PickNames));
  Epilogue = EpilogueMode(wordFromEnv(MNEME_ENV_EPILOGUE, EpilogueNames));
  MaxBytes = integerFromEnv(MNEME_ENV_MAX_BYTES, 0);
  if (!MaxBytes)
    MaxBytes = UINT64_MAX;
  IRRequired = integerFromEnv(MNEME_ENV_REQUIRE_IR, 0);
  ReachableOnly = integerFromEnv(MNEME_ENV_REACHABLE, 0);
  MemoryStays = integerFromEnv(MNEME_ENV_IPC, 0);
  TheirWait = WaitFor(wordFromEnv(MNEME_ENV_WAIT, WaitNames));
  WaitLimit = nanosecondsFromEnv(MNEME_ENV_WAIT_LIMIT);
  Text = textFromEnv(MNEME_ENV_SHAPES);
  ListsShapes = !Text.empty();
  if (ListsShapes)
    readShapes(Text.c_str());
}

void Selection::readShapes(const char *Path) {
  std::unique_ptr<FILE, int (*)(FILE *)> File(fopen(Path, "re"), fclose);
  if (!File)
    return warnOf(MNEME_ENV_SHAPES,
                  std::string("'") + Path + "': " + strerror(errno));
  ShapeNumbers S;
  for (;;) {
    for (uint64_t &Number : S)
      if (fscanf(File.get(), "%" SCNu64, &Number) != 1)
        return;
    fgetc(File.get()); // A space.
    std::string Symbol;
    for (int C; (C = fgetc(File.get())) != '\n' && C != EOF;)
      Symbol += char(C);
    Shapes[Symbol].insert(S);
  }
}

const Selection &Selection::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(Selection) static char Storage[sizeof(Selection)];
  static const Selection &S = *new (Storage) Selection;
  return S;
}

bool Selection::matchesKernel(const std::string &Name) const {
  return (!ListsShapes || Shapes.count(Name)) && matchesSymbol(Kernels, Name);
}

bool Selection::includesShape(const std::string &Kernel,
                              const ShapeNumbers &S) const {
  if (!ListsShapes)
    return true;
  auto Own = Shapes.find(Kernel);
  return Own != Shapes.end() && Own->second.count(S);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// The open regions of a thread.
struct OpenRegions {
  /// Deeper regions count as part of the enclosing one.
  static constexpr unsigned MaxDepth = 64;
  unsigned Depth = 0;
  uint64_t Matching = 0; ///< One bit per depth.
};
} // namespace

static thread_local OpenRegions Open;

/// Matching regions of all threads that are open.
static std::atomic<unsigned> SharedMatching{0};

bool Selection::inRegion() const {
  return !OnlyRegions || Open.Matching || SharedMatching;
}

static bool matchesRegion(const Pattern &Wanted, const char *Name) {
  bool Matches = false;
  if (!attempt([&] { Matches = Wanted.matches(Name ? Name : ""); }))
    tell("mneme: warning: region '%s' is not recorded: out of memory\n", Name);
  return Matches;
}

void mneme::beginRegion(const char *Name) {
  const Pattern *Wanted = Selection::get().regions();
  if (!Wanted)
    return;
  if (Open.Depth < OpenRegions::MaxDepth && matchesRegion(*Wanted, Name))
    Open.Matching |= uint64_t(1) << Open.Depth;
  ++Open.Depth;
}

bool mneme::endRegion() {
  if (!Open.Depth)
    return !Selection::get().regions();
  --Open.Depth;
  if (Open.Depth < OpenRegions::MaxDepth)
    Open.Matching &= ~(uint64_t(1) << Open.Depth);
  return true;
}

uint64_t mneme::beginSharedRegion(const char *Name) {
  // The lowest bit of an id says whether the region matches.
  static std::atomic<uint64_t> LastId{0};
  const Pattern *Wanted = Selection::get().regions();
  bool Matches = Wanted && matchesRegion(*Wanted, Name);
  SharedMatching += Matches;
  return ++LastId << 1 | Matches;
}

void mneme::endSharedRegion(uint64_t Id) { SharedMatching -= Id & 1; }

void mneme::setProfiled(bool IsProfiled) {
  // The runtime's function calls the driver's.
  static std::mutex Lock;
  static uint64_t Id = 0;
  std::lock_guard<std::mutex> Guard(Lock);
  if (IsProfiled && !Id)
    Id = beginSharedRegion("cudaProfiler");
  else if (!IsProfiled && Id)
    endSharedRegion(std::exchange(Id, 0));
}

extern "C" __attribute__((visibility("default"))) void
__mneme_record_begin(const char *Name) {
  beginRegion(Name);
}

extern "C" __attribute__((visibility("default"))) void __mneme_record_end() {
  static bool Told = false;
  if (endRegion() || Told)
    return;
  Told = true;
  tell("mneme: warning: mneme_record_end without a mneme_record_begin in the "
       "same thread\n");
}

void *mneme::findRegionFunction(const char *Name) {
  if (!strcmp(Name, "__mneme_record_begin"))
    return reinterpret_cast<void *>(__mneme_record_begin);
  if (!strcmp(Name, "__mneme_record_end"))
    return reinterpret_cast<void *>(__mneme_record_end);
  return nullptr;
}
