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

#ifndef MNEME_LIB_RUNTIME_RECORDER_H
#define MNEME_LIB_RUNTIME_RECORDER_H

#include "Arena.h"
#include "CudaTypes.h"
#include "SnapshotFile.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <regex.h>

namespace mneme {

struct Kernel;

struct LaunchShape {
  Dim3 Grid;
  Dim3 Block;
  uint64_t DynamicShared;
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

/// Address -> bytes.
using HostRanges = std::map<uint64_t, uint64_t>;

/// What the recorder remembers of one kernel's code, which several launch stubs
/// may stand for.
struct KernelRecords {
  std::string Name;
  bool Known = false; ///< Selected is decided.
  bool Selected = false;
  uint64_t Launches = 0;
  unsigned Recordings = 0;
  /// Launches by dynamic hash, and whether that hash is done with, because the
  /// output directory held it already or since this process has tried.
  struct Instance {
    uint64_t Occurrences = 0;
    bool Done = false, Held = false;
  };
  std::map<uint64_t, Instance> Instances;
};

/// A recording under way: from the prologue to the epilogue.
struct Recording {
  /// Whether [Address, Address + Size) lies in one of the regions.
  bool contains(uint64_t Address, uint64_t Size) const;

  Kernel *K = nullptr;
  LaunchShape Shape = {};
  uint64_t DynamicHash = 0;
  SnapshotFile Prologue, Epilogue;
  MnemeSnapshotHeader Header = {};

  struct Region {
    uint64_t Address;
    uint64_t Size;
    uint32_t Kind;
    std::string Name;
  };
  std::vector<Region> Regions;
};

/// Bytes of memory that this machine can give without swapping.
uint64_t availableMemory();

/// The caller serializes all calls.
class Recorder {
public:
  Recorder();
  ~Recorder();

  /// What is known of \p K's code, for as long as the recorder lives. The
  /// output directory holds launches with the dynamic hashes \p Held.
  KernelRecords &recordsOf(const Kernel &K, const std::vector<uint64_t> &Held);

  /// Counts a launch. \returns whether it is to be recorded, and its dynamic
  /// hash.
  bool wants(Kernel &K, const LaunchShape &Shape, uint64_t &DynamicHash);

  /// Takes the prologue. \returns null, with the reason counted, when the
  /// launch cannot be recorded. Memory must not be allocated or freed until
  /// finish().
  std::unique_ptr<Recording> begin(Kernel &K, const LaunchShape &Shape,
                                   uint64_t DynamicHash, void **Args,
                                   Arena &Memory, const HostRanges &Registered,
                                   const Annotations &Notes);

  /// Takes the epilogue and tells the launcher.
  void finish(std::unique_ptr<Recording> R);

  /// Gives up a recording whose launch failed.
  void abandon(std::unique_ptr<Recording> R, const std::string &Reason);

  /// Counts a selected launch that is not recorded.
  void skip(const std::string &Reason) { ++Skipped[Reason]; }

  /// Sends the summary.
  void summarize();

private:
  /// Counts a failure, and tells the user the first time.
  void fail(const Kernel &K, const std::string &Reason);
  bool matches(const std::string &Name);

  std::map<std::string, KernelRecords> Kernels; ///< By static hash.
  bool HaveFilter = false, BadFilter = false;
  regex_t Filter;
  uint64_t SkipFirst = 0;
  unsigned MaxRecordings = 4;
  uint64_t Seen = 0, Recorded = 0, Nanoseconds = 0;
  // Why launches are not recorded: counters where that is frequent.
  uint64_t NotSelected = 0, Repeated = 0, AmongFirst = 0, OverLimit = 0,
           Held = 0;
  std::map<std::string, uint64_t> Skipped;
  std::set<std::string> Told;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_RECORDER_H
