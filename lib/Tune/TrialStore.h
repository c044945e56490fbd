//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The trials of a study, in memory and in its log.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TUNE_TRIALSTORE_H
#define LLVM_MNEME_LIB_TUNE_TRIALSTORE_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/Mneme/Study/SearchSpace.h"
#include "llvm/Mneme/StudyLog/StudyLog.h"
#include <deque>
#include <functional>

namespace llvm {
namespace mneme {

/// Trials by number. A full disk does not end a search: trials that cannot be
/// logged stay in memory and are logged when there is room again.
class TrialStore {
public:
  using NoteFn = std::function<void(std::string)>;
  /// \p Log may be null. \p Note receives messages for the user.
  TrialStore(const SearchSpace &Space, StudyLog *Log, NoteFn Note)
      : Space(Space), Log(Log), Note(std::move(Note)) {}

  std::vector<Trial> Trials;   ///< Sorted by number.
  uint64_t NumTrials = 0;      ///< Number of trials without canaries.
  DenseSet<uint64_t> Proposed; ///< Digests of their points.

  Trial *find(uint64_t Number);
  /// Returns the lowest free number: a journal may lack some.
  uint64_t getFreeNumber() const;
  Trial &add(Trial T);
  /// Drops running trials from memory, and logs them as cancelled. A study that
  /// resumes runs them.
  void closeRunning();

  StudyLog *log() const { return Log; }
  /// Logs trials that begin. Failures are reported when the trials end.
  void begin(ArrayRef<Trial> Begun);
  /// Marks a completed trial for write().
  void end(const Trial &T);
  void write();
  Error addBaseline(const BaselineSample &S);
  /// Returns the number of completed trials that are not logged.
  uint64_t numUnlogged() const { return LogFailed ? Unlogged.size() : 0; }

private:
  const SearchSpace &Space;
  StudyLog *Log;
  NoteFn Note;
  std::deque<uint64_t> Unlogged;
  bool LogFailed = false;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TUNE_TRIALSTORE_H
