//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The recorder selects the launches to record, writes their snapshots, and
/// counts skipped launches by reason. A failure to record is never a failure of
/// the application.
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

/// A comparison rule for a range of memory, from the application:
/// mneme/annotate.h.
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

/// Stores an annotation in \p Notes; warns of an invalid one and ignores it.
void annotate(Annotations &Notes, AddressMap &Memory, Annotation A);

/// Properties of the device for the recording; all empty for the host.
struct DeviceFacts {
  std::string Name, Arch, Driver, Runtime;
};

/// The recorder's state for a kernel's code, which several launch stubs may
/// share.
struct KernelRecords {
  std::string Name;
  bool Known = false; ///< Selected is valid.
  bool Selected = false;
  uint64_t Launches = 0;
  uint64_t LeftOut = 0; ///< Launches that are not in Instances.
  unsigned Recordings = 0; ///< Finished or in progress.
  /// Launches with a dynamic hash. Done is set if the output directory already
  /// held the launch or this process has attempted to record it.
  struct Instance {
    uint64_t Occurrences = 0;
    bool Done = false, Held = false, Failed = false;
    /// Recordings of launches that changed no memory. The first one is kept
    /// until a launch changes memory.
    unsigned Unchanged = 0;
    bool HasChanged = false; ///< A launch that changed memory is recorded.
    std::string Scalars;     ///< Of the first launch whose arguments are known.
    /// Positions of scalar arguments that had other values later, ascending.
    std::vector<uint32_t> Varying;
  };
  std::map<uint64_t, Instance> Instances;
  /// Priorities of the launches that are kept so far, by dynamic hash, if
  /// launches compete.
  std::map<uint64_t, double> Kept;
};

/// Identifies a launch.
struct LaunchId {
  uint64_t DynamicHash = 0;
  /// If launches compete, those with the highest priority are kept. In
  /// nanoseconds, or a random number; infinite while unknown.
  double Priority = 0;
};

/// Memory that is omitted from a recording.
struct Omission {
  uint64_t Regions = 0, Bytes = 0;
};

/// A recording in progress, from the prologue to the epilogue.
struct Recording {
  struct Region {
    uint64_t Address;
    uint64_t Size;
    uint32_t Kind;
    std::string Name;

    bool contains(uint64_t At, uint64_t N) const {
      return At >= Address && N <= Size && At - Address <= Size - N;
    }
  };

  /// Returns true if [Address, Address + Size) is in one of the regions.
  bool contains(uint64_t Address, uint64_t Size) const;

  Kernel *K = nullptr;
  LaunchShape Shape = {};
  LaunchId Id;
  unsigned Serial = 0; ///< Unique in this process.
  bool ChangesMemory = true;
  PageFile Pages;
  SnapshotFile Prologue, Epilogue;
  MnemeSnapshotHeader Header = {};
  std::vector<Region> Regions;
  Omission Omitted;
  Annotations Notes;
  DeviceFacts Device;
  /// A preallocated entry for KernelRecords::Kept, because adding it must not
  /// allocate.
  std::map<uint64_t, double> Entry;
};

/// Calls \p F for each aligned word of the launch's arguments, which may be a
/// pointer.
template <typename Fn>
void forEachPointer(const Kernel &K, void **Args, Fn F) {
  for (size_t I = 0; I != K.Args.size(); ++I)
    for (uint32_t At = 0; At + 8 <= K.Args[I].Size; At += 8) {
      uint64_t V;
      memcpy(&V, static_cast<char *>(Args[I]) + At, 8);
      F(V);
    }
}

/// Selects launches, and performs the parts of a recording that do not depend
/// on how device memory is read. Thread-safe. Functions throw std::bad_alloc
/// only where stated; otherwise, lack of memory skips the launch, which is
/// counted.
///
/// Sequence of a recording: begin(), describeMemory(), pages into Prologue and
/// its close(), the launch, keeps(), openEpilogue(), pages into Epilogue,
/// finish(); or abandon() at any point, or discard() if it is not kept.
class Recorder {
public:
  /// Returns true if launches of a kernel of this name are to be recorded at
  /// all. May throw.
  bool selects(const std::string &Name);

  /// Returns the state for \p K's code, valid during the recorder's lifetime.
  /// \p Held are the dynamic hashes that the output directory contains. May
  /// throw.
  KernelRecords &recordsOf(const Kernel &K, const std::vector<uint64_t> &Held);

  /// Counts a launch. \returns true if it is to be recorded, and sets its id.
  /// \p Args may be null if the arguments are unknown.
  bool wants(Kernel &K, const LaunchShape &Shape, void **Args, LaunchId &Id);

  /// Returns true if wants() may return true for this launch of a selected
  /// kernel or for one soon after it. Does not count. May throw.
  bool mayWant(Kernel &K, const LaunchShape &Shape, void **Args);

  /// Returns true if keeps() needs the duration of launches.
  static bool timesLaunches() {
    return Selection::get().pick() == Pick::Slowest;
  }

  /// Counts launches of a kernel that is not selected.
  void countUnselected(const std::string &Name, uint64_t Launches);

  /// Counts launches that could not be recorded, without a warning.
  void countSkipped(std::string_view Reason, uint64_t Launches);

  /// Counts a selected launch of a kernel that is unknown to the launcher for
  /// \p Reason.
  void countUnknown(const std::string &Name, std::string_view Reason);

  /// Opens the prologue of a launch whose memory is \p Regions of the arena.
  /// \returns null on failure, whose reason is counted.
  std::unique_ptr<Recording> begin(Kernel &K, const LaunchShape &Shape,
                                   const LaunchId &Id, void **Args,
                                   std::vector<Recording::Region> Regions,
                                   uint64_t ArenaBase, uint64_t ArenaSize,
                                   const Annotations &Notes);

  /// Writes the list of regions, after which none may be removed. May throw.
  static void describeMemory(Recording &R);
  /// Adds a region after describeMemory(). May throw.
  static void addRegion(Recording &R, Recording::Region Added);

  /// Reports the duration of the finished launch. \returns false if other
  /// launches are kept instead.
  bool keeps(Recording &R, uint64_t Nanoseconds);

  /// Returns the nanoseconds of a monotonic clock.
  static uint64_t now();

  /// Counts a launch that is discarded in favor of others.
  void discard(std::unique_ptr<Recording> R);

  /// May throw.
  static void openEpilogue(Recording &R);

  /// Closes the epilogue and notifies the launcher.
  void finish(std::unique_ptr<Recording> R);

  /// Abandons a recording. \p Again: a later launch of the same id may be
  /// recorded instead.
  void abandon(std::unique_ptr<Recording> R, std::string_view Reason,
               bool Again = false);

  /// Counts a selected launch that is not recorded; prints a warning the first
  /// time.
  void skip(const Kernel &K, std::string_view Reason);

  /// Adds time that recording took from the application.
  void addTime(uint64_t Nanoseconds);
  /// Adds time that the application waited at its end for recordings to be
  /// written.
  void addFinalWait(uint64_t Nanoseconds);

  /// Sends the summary.
  void summarize();

private:
  static bool isCompetition() { return Selection::get().pick() != Pick::First; }
  /// Returns true if a launch that changed no memory may be replaced by a later
  /// one. With ordinals, no two launches are alike.
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
  bool IsFull = false; ///< The output directory is full.
  std::map<std::string, KernelRecords> Kernels; ///< By static hash.
  /// Launches of kernels whose static hash was not requested.
  std::map<std::string, uint64_t> OtherKernels;
  unsigned LastSerial = 0;
  uint64_t RandomState = 0;
  uint64_t Seen = 0, Recorded = 0, Nanoseconds = 0, FinalWait = 0;
  // Counters of frequent reasons for not recording a launch.
  uint64_t NotSelected = 0, OtherRank = 0, Repeated = 0, AmongFirst = 0,
           NotListed = 0, NotCovered = 0, OutsideRegions = 0, OverLimit = 0,
           PassedOver = 0, Unchanged = 0, Held = 0, BeyondFull = 0,
           FailedBefore = 0, OutOfMemory = 0;
  const uint64_t *LastCounted = nullptr; ///< Set by decide(); null if the
                                         ///< launch was wanted.
  std::map<std::string, uint64_t, std::less<>> Skipped;
};

/// Adds its lifetime to a recorder's time.
class RecordingTime {
public:
  explicit RecordingTime(Recorder &Records);
  ~RecordingTime();

private:
  Recorder &Records;
  uint64_t Start;
};

/// Calls \p Run(offset, size) for the maximal runs of pages in [0, Size) for
/// which \p Wanted(offset, size) returns true.
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
