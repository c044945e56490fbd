//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides which launches are recorded, writes their snapshots, and counts what
/// was skipped and why. A failure to record is never a failure of the
/// application.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_RECORDER_H
#define MNEME_LIB_RUNTIME_CORE_RECORDER_H

#include "AddressMap.h"
#include "CudaTypes.h"
#include "Kernel.h"
#include "Selection.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Runtime/SnapshotFile.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace mneme {

struct LaunchShape {
  Dim3 Grid;
  Dim3 Block;
  uint64_t DynamicShared;
  bool Cooperative;
};

/// How the application wants a range of memory compared: mneme/annotate.h.
struct Annotation {
  uint64_t Address;
  uint64_t Size;
  uint32_t DType;
  uint32_t Tolerance;
  uint32_t Norm;
  double Value;
  std::string Tag;
};

using Annotations = std::map<uint64_t, Annotation>;

/// Warns of an annotation that makes no sense; else puts it into \p Notes.
void annotate(Annotations &Notes, AddressMap &Memory, Annotation A);

/// The device as Recorded tells it; all empty for the host.
struct DeviceFacts {
  std::string Name, Arch, Driver, Runtime;
};

/// What the recorder remembers of one kernel's code, which several launch stubs
/// may stand for.
struct KernelRecords {
  std::string Name;
  bool Known = false; ///< Selected is decided.
  bool Selected = false;
  uint64_t Launches = 0;
  uint64_t LeftOut = 0; ///< Launches of which nothing else is remembered.
  unsigned Recordings = 0; ///< Done or under way.
  /// Launches by dynamic hash, and whether that hash is done with, because the
  /// output directory held it already or since this process has tried.
  struct Instance {
    uint64_t Occurrences = 0;
    bool Done = false, Held = false, Failed = false;
    /// Recordings of launches that changed no memory. The first one is kept
    /// until there is a better one.
    unsigned Unchanged = 0;
    bool HasChanged = false; ///< A launch that changed memory is recorded.
  };
  std::map<uint64_t, Instance> Instances;
  /// Where launches compete: the priorities of those that are kept so far, by
  /// dynamic hash.
  std::map<uint64_t, double> Kept;
};

/// What the recorder calls a launch.
struct LaunchId {
  uint64_t DynamicHash = 0;
  /// Where launches compete, the highest are kept. In nanoseconds, or a random
  /// number; infinite before it is known.
  double Priority = 0;
};

/// Memory that a recording leaves out.
struct Omission {
  uint64_t Regions = 0, Bytes = 0;
};

/// A recording under way: from the prologue to the epilogue.
struct Recording {
  struct Region {
    uint64_t Address;
    uint64_t Size;
    uint32_t Kind;
    std::string Name;
  };

  /// Whether [Address, Address + Size) lies in one of the regions.
  bool contains(uint64_t Address, uint64_t Size) const;

  Kernel *K = nullptr;
  LaunchShape Shape = {};
  LaunchId Id;
  unsigned Serial = 0; ///< Of this process.
  bool ChangesMemory = true;
  PageFile Pages;
  SnapshotFile Prologue, Epilogue;
  MnemeSnapshotHeader Header = {};
  std::vector<Region> Regions;
  Omission Omitted;
  Annotations Notes;
  DeviceFacts Device;
  /// What KernelRecords::Kept gets: when it does, memory must not be needed.
  std::map<uint64_t, double> Entry;
};

/// Calls \p F for everything in the launch's arguments that may be a pointer.
template <typename Fn>
void forEachPointer(const Kernel &K, void **Args, Fn F) {
  for (size_t I = 0; I != K.Args.size(); ++I)
    for (uint32_t At = 0; At + 8 <= K.Args[I].Size; At += 8) {
      uint64_t V;
      memcpy(&V, static_cast<char *>(Args[I]) + At, 8);
      F(V);
    }
}

/// Which launches are recorded, and the parts of a recording that do not depend
/// on how the device's memory is read. Thread-safe. Functions throw
/// std::bad_alloc only where they say so: what else finds no memory is a
/// launch that is skipped, and counted as such.
///
/// A recording: begin(), describeMemory(), pages into Prologue and its close(), the launch,
/// keeps(), openEpilogue(), pages into Epilogue, finish(); or abandon() at any
/// point, or discard() where it is not kept.
class Recorder {
public:
  /// Whether launches of a kernel of this name are to be recorded at all. May
  /// throw.
  bool selects(const std::string &Name);

  /// What is known of \p K's code, for as long as the recorder lives. The
  /// output directory holds launches with the dynamic hashes \p Held. May
  /// throw.
  KernelRecords &recordsOf(const Kernel &K, const std::vector<uint64_t> &Held);

  /// Counts a launch. \returns whether it is to be recorded, and what it is
  /// called. Its arguments may be unknown: \p Args is null.
  bool wants(Kernel &K, const LaunchShape &Shape, void **Args, LaunchId &Id);

  /// Whether wants() may say so now of a launch of a selected kernel, or of one
  /// soon after it. Counts nothing. May throw.
  bool mayWant(Kernel &K, const LaunchShape &Shape, void **Args);

  /// Whether keeps() wants to know how long launches take.
  static bool timesLaunches() {
    return Selection::get().pick() == Pick::Slowest;
  }

  /// Counts launches of a kernel that is not selected.
  void countUnselected(const std::string &Name, uint64_t Launches);

  /// Counts launches that could not be recorded, without a warning.
  void countSkipped(std::string_view Reason, uint64_t Launches);

  /// Counts a selected launch of a kernel about which the launcher knows
  /// nothing, and why.
  void countUnknown(const std::string &Name, std::string_view Reason);

  /// Opens the prologue of a launch whose memory is \p Regions of the arena.
  /// \returns null, with the reason counted, when that fails.
  std::unique_ptr<Recording> begin(Kernel &K, const LaunchShape &Shape,
                                   const LaunchId &Id, void **Args,
                                   std::vector<Recording::Region> Regions,
                                   uint64_t ArenaBase, uint64_t ArenaSize,
                                   const Annotations &Notes);

  /// Says which regions there are, once nothing more is taken out of them. May
  /// throw.
  static void describeMemory(Recording &R);

  /// The launch has happened, and took so long. \returns false when others are
  /// to be kept instead.
  bool keeps(Recording &R, uint64_t Nanoseconds);

  /// Nanoseconds of a clock that never goes back.
  static uint64_t now();

  /// Counts a launch in place of which others are kept.
  void discard(std::unique_ptr<Recording> R);

  /// May throw.
  static void openEpilogue(Recording &R);

  /// Closes the epilogue and tells the launcher.
  void finish(std::unique_ptr<Recording> R);

  /// Gives up a recording. \p Again: the same launch is worth another attempt.
  void abandon(std::unique_ptr<Recording> R, std::string_view Reason,
               bool Again = false);

  /// Counts a selected launch that is not recorded, and tells the user the
  /// first time.
  void skip(const Kernel &K, std::string_view Reason);

  /// Counts time that recording took of the application.
  void addTime(uint64_t Nanoseconds);
  /// Counts time that the end of the application waited for what was not written
  /// yet.
  void addFinalWait(uint64_t Nanoseconds);

  /// Sends the summary.
  void summarize();

private:
  static bool isCompetition() { return Selection::get().pick() != Pick::First; }
  /// Whether a launch that changed no memory may be replaced by a later one.
  /// Launches that are told apart by number are never alike.
  static bool retriesUnchanged() {
    return !isCompetition() &&
           Selection::get().recordId() != RecordId::Ordinal;
  }
  enum class Fate { Failed, NotKept, Stored, HeldBefore };

  bool isBetter(const KernelRecords &R, const LaunchId &Id) const;
  bool decide(Kernel &K, const LaunchShape &Shape, void **Args, LaunchId &Id);
  uint64_t &timesSkipped(std::string_view Reason);
  void fail(const std::string &Name, std::string_view Reason);
  void open(Recording &R, void **Args);

  std::string writeFiles(Recording &R);
  Fate store(Recording &R, std::string &Error);
  void keep(Recording &R);
  KernelRecords::Instance &getInstance(const Recording &R);
  bool replacesUnchanged(const Recording &R);

  template <typename Fn> void forEachLine(Fn F) const;
  const char *reasonOf(const uint64_t &Counter) const;
  template <typename Fn> void forEachReason(Fn F) const;
  template <typename Writer>
  void writeSummary(Writer &W, bool HasLines, bool HasReasons) const;

  std::mutex Lock;
  PageIndex KnownPages;
  bool IsFull = false; ///< The output directory.
  std::map<std::string, KernelRecords> Kernels; ///< By static hash.
  /// Launches of those whose static hash nobody asked for.
  std::map<std::string, uint64_t> OtherKernels;
  unsigned LastSerial = 0;
  uint64_t RandomState = 0;
  uint64_t Seen = 0, Recorded = 0, Nanoseconds = 0, FinalWait = 0;
  // Why launches are not recorded: counters where that is frequent.
  uint64_t NotSelected = 0, OtherRank = 0, Repeated = 0, AmongFirst = 0,
           NotListed = 0, OutsideRegions = 0, OverLimit = 0, PassedOver = 0,
           Unchanged = 0,
           Held = 0, BeyondFull = 0, FailedBefore = 0, OutOfMemory = 0;
  const uint64_t *LastCounted = nullptr; ///< By decide(); null: it was wanted.
  std::map<std::string, uint64_t, std::less<>> Skipped;
};

/// Adds the time that it lives to a recorder's.
class RecordingTime {
public:
  explicit RecordingTime(Recorder &Records);
  ~RecordingTime();

private:
  Recorder &Records;
  uint64_t Start;
};

/// Calls \p Run(offset, size) for the maximal runs of pages of [0, Size) that
/// \p Wanted(offset, size) picks.
template <typename WantedFn, typename RunFn>
void forEachRun(uint64_t Size, WantedFn Wanted, RunFn Run) {
  constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
  uint64_t Begin = 0;
  bool Open = false;
  for (uint64_t At = 0; At < Size; At += Page) {
    bool Want = Wanted(At, Page < Size - At ? Page : Size - At);
    if (Want && !Open)
      Begin = At;
    else if (!Want && Open)
      Run(Begin, At - Begin);
    Open = Want;
  }
  if (Open)
    Run(Begin, Size - Begin);
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_RECORDER_H
