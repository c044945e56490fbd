//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The user's selection of launches: variables that the launcher set in the
/// environment, and the regions of mneme/record.h.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_SELECTION_H
#define MNEME_LIB_RUNTIME_CORE_SELECTION_H

#include "CudaTypes.h"
#include "NamePattern.h"
#include "llvm/Mneme/Runtime/Ranks.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace mneme {

enum class RecordId {
#define RECORD_ID(Id, Name, Input, Help) Id,
#include "llvm/Mneme/Runtime/Selection.def"
};

enum class Pick {
#define PICK(Id, Name, Help) Id,
#include "llvm/Mneme/Runtime/Selection.def"
};

enum class EpilogueMode {
#define EPILOGUE(Id, Name, Help) Id,
#include "llvm/Mneme/Runtime/Selection.def"
};

enum class WaitFor {
#define WAIT(Id, Name, Help) Id,
#include "llvm/Mneme/Runtime/Selection.def"
};

class Selection {
public:
  static const Selection &get();

  /// Returns true if the selection could not be read for lack of memory; then
  /// nothing is recorded.
  bool isIncomplete() const { return IsIncomplete; }
  /// Returns true if this process is a rank to be recorded.
  bool includesRank() const { return IncludesRank; }
  /// Returns true if \p Name or its demangled form matches the kernel pattern.
  bool matchesKernel(const std::string &Name) const;
  /// Returns true if the calling thread, or the process, is in a region to be
  /// recorded.
  bool inRegion() const;
  /// Returns true if the \p Number-th launch of a kernel, from 1, is to be
  /// recorded.
  bool includesLaunch(uint64_t Number) const {
    return !ListsLaunches || Launches.contains(Number);
  }

  /// Returns true if launches of this shape are to be recorded.
  bool includesShape(const std::string &Kernel, const ShapeNumbers &S) const;

  uint64_t skip() const { return Skip; }
  uint64_t maxRecordings() const { return MaxRecordings; }
  /// Whether kernels are skipped of which there is an image only.
  bool requiresIR() const { return IRRequired; }
  RecordId recordId() const { return Id; }
  Pick pick() const { return TheirPick; }
  EpilogueMode epilogue() const { return Epilogue; }
  /// Size limit of the database, as far as known here; UINT64_MAX for no limit.
  uint64_t maxBytes() const { return MaxBytes; }
  /// What to wait for before a launch on a GPU is recorded.
  WaitFor waitFor() const { return TheirWait; }
  /// Returns true if only memory that the launch can reach is recorded. If
  /// other work may run concurrently, its changes must not be attributed to the
  /// launch.
  bool reachableOnly() const {
    return ReachableOnly || TheirWait == WaitFor::Stream;
  }
  /// Whether device memory stays where the program's runtime allocates it.
  bool memoryStays() const { return MemoryStays; }
  /// Maximum nanoseconds that a launch may wait to be recorded; 0: no limit.
  uint64_t waitLimit() const { return WaitLimit; }
  const Pattern *regions() const { return OnlyRegions ? &Regions : nullptr; }

private:
  Selection();
  void read();
  void readShapes(const char *Path);

  bool IsIncomplete = false;
  bool IncludesRank = true, ListsLaunches = false, OnlyRegions = false,
       ReachableOnly = false, IRRequired = false, MemoryStays = false;
  Pattern Kernels, Regions;
  NumberList Launches;
  bool ListsShapes = false;
  std::map<std::string, std::set<ShapeNumbers>> Shapes; ///< By symbol.
  uint64_t Skip = 0, MaxRecordings = 0, MaxBytes = 0, WaitLimit = 0;
  EpilogueMode Epilogue = EpilogueMode::Diff;
  RecordId Id = RecordId::Launch;
  Pick TheirPick = Pick::First;
  WaitFor TheirWait = WaitFor::Device;
};

/// Begins a region of the calling thread; regions nest.
void beginRegion(const char *Name);
/// Ends the innermost one. \returns false if there is none.
bool endRegion();
/// Begins a region of all threads. \returns its id for endSharedRegion().
uint64_t beginSharedRegion(const char *Name);
void endSharedRegion(uint64_t Id);

/// Begins or ends the region "cudaProfiler" of all threads, for a call of
/// cudaProfilerStart() or cudaProfilerStop().
void setProfiled(bool IsProfiled);

/// Looks up a function of mneme/record.h by name. \returns null if there is
/// none.
void *findRegionFunction(const char *Name);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_SELECTION_H
