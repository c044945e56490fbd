//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which launches are to be recorded, as far as the user has said: what the
/// launcher has put into the environment, and the regions of mneme/record.h.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_SELECTION_H
#define MNEME_LIB_RUNTIME_CORE_SELECTION_H

#include "llvm/Mneme/Runtime/Ranks.h"

#include <cstdint>
#include <string>

#include <regex.h>

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

/// An extended regular expression; without one, everything matches.
class Pattern {
public:
  Pattern() = default;
  Pattern(const Pattern &) = delete;
  Pattern &operator=(const Pattern &) = delete;
  ~Pattern();
  /// \p What it is of, for the error message when it is none: then nothing
  /// matches. Throws std::bad_alloc, as matches() does.
  void compile(const char *Text, const char *What);
  bool matches(const char *Text) const;

private:
  bool Compiled = false, Bad = false;
  regex_t Regex;
};

class Selection {
public:
  static const Selection &get();

  /// There was no memory to read it: nothing is to be recorded.
  bool isIncomplete() const { return IsIncomplete; }
  /// Whether this process is a rank that is recorded.
  bool includesRank() const { return IncludesRank; }
  /// Whether \p Name, or what it reads as, matches the kernels' pattern.
  bool matchesKernel(const std::string &Name) const;
  /// Whether the calling thread is where launches are to be recorded.
  bool inRegion() const;
  /// Whether the \p Number-th launch of a kernel, from 1, is one to be recorded.
  bool includesLaunch(uint64_t Number) const {
    return !ListsLaunches || Launches.contains(Number);
  }

  uint64_t skip() const { return Skip; }
  uint64_t maxRecordings() const { return MaxRecordings; }
  RecordId recordId() const { return Id; }
  Pick pick() const { return TheirPick; }
  EpilogueMode epilogue() const { return Epilogue; }
  /// That a database may take, as far as it is known here; UINT64_MAX for no
  /// limit.
  uint64_t maxBytes() const { return MaxBytes; }
  /// What has to be done before a launch on a GPU is recorded.
  WaitFor waitFor() const { return TheirWait; }
  /// Whether memory counts only that the launch can find. Where others may work
  /// meanwhile, what they change must not be taken for the launch's work.
  bool reachableOnly() const {
    return ReachableOnly || TheirWait == WaitFor::Stream;
  }
  /// Nanoseconds that a launch may have to wait to be recorded; 0: any time.
  uint64_t waitLimit() const { return WaitLimit; }
  const Pattern *regions() const { return OnlyRegions ? &Regions : nullptr; }

private:
  Selection();
  void read();

  bool IsIncomplete = false;
  bool IncludesRank = true, ListsLaunches = false, OnlyRegions = false,
       ReachableOnly = false;
  Pattern Kernels, Regions;
  NumberList Launches;
  uint64_t Skip = 0, MaxRecordings = 0, MaxBytes = 0, WaitLimit = 0;
  EpilogueMode Epilogue = EpilogueMode::Diff;
  RecordId Id = RecordId::Launch;
  Pick TheirPick = Pick::First;
  WaitFor TheirWait = WaitFor::Device;
};

/// What mneme/record.h calls by name: \returns the function, or null.
void *findRegionFunction(const char *Name);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_SELECTION_H
