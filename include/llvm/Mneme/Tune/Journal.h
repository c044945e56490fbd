//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A study's log, which is also what an interrupted study goes on from: a
/// journal of Optuna (docs/StudyFiles), so that Optuna and its dashboard read
/// it, and may write to it, while the study runs.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_JOURNAL_H
#define LLVM_MNEME_TUNE_JOURNAL_H

#include "llvm/Mneme/Tune/StudyLog.h"
#include <memory>

namespace llvm {
namespace mneme {

/// What a journal says of its study.
struct JournalHeader {
  std::string Name; ///< Of the study in Optuna.
  std::vector<Objective> Objectives;
  /// What makes it this study: its text, the kernel's hash, ... A journal with
  /// other values is another study's.
  json::Object Identity;
  /// What may be another when the study goes on: tool, device, ...
  json::Object Info;
};

struct JournalOptions {
  /// Seconds to wait for another program that writes.
  double LockTimeout = 60;
  /// Seconds after which a lock that nobody releases is a dead program's; as
  /// Optuna has it.
  double StaleLock = 30;
  /// Seconds between two fsync()s.
  double SyncInterval = 1;
};

/// What is added is in the file when a function returns; after an error (which
/// names the file: the disk is full, ...) nothing of it is. Not for several
/// threads at once.
class Journal : public StudyLog {
public:
  /// A new journal; Error: there is a study already, or it cannot be written.
  /// \p Space outlives the journal.
  static Expected<std::unique_ptr<Journal>>
  create(StringRef Path, const JournalHeader &Header, const SearchSpace &Space,
         const JournalOptions &Options = {});

  /// Goes on with a journal. Errors: it cannot be read, has a damaged line
  /// (with its number), belongs to another study (with what differs), or is in
  /// use by another Journal. A torn last line was being written when its writer
  /// died and is dropped.
  static Expected<std::unique_ptr<Journal>>
  resume(StringRef Path, const JournalHeader &Header, const SearchSpace &Space,
         const JournalOptions &Options = {});

  ~Journal() override;

  /// Error also: a value of an objective is not finite. Other numbers that are
  /// not finite are left out.
  Error addTrials(ArrayRef<const Trial *> Trials) override;
  Error beginTrials(ArrayRef<Trial> Trials) override;
  Error addBaseline(const BaselineSample &S) override;
  /// Also what other programs completed, if it fits the space
  /// (TrialKind::Imported), when the journal was resumed. Numbers may be
  /// missing, once a damaged journal was repaired.
  std::vector<Trial> takeTrials() override;
  std::vector<BaselineSample> takeBaselines() override;
  /// Points that the space does not have are failed in the journal.
  Expected<std::vector<Point>> takeEnqueued() override;

  /// An attribute of the study; replaces one of this name.
  Error setAttribute(StringRef Key, json::Value V);
  /// Null: there is none.
  const json::Value *getAttribute(StringRef Key) const;

  /// Waits for the disk.
  Error sync();

  /// What a user might want to hear: a line dropped, trials not imported.
  std::vector<std::string> takeWarnings();

private:
  struct Impl;
  std::unique_ptr<Impl> I;
  explicit Journal(std::unique_ptr<Impl> I);
};

/// What a journal says of its first study, for those that have nothing but the
/// journal: the name, the objectives, and all of its attributes as Info.
Expected<JournalHeader> readJournalHeader(StringRef Path);

/// Replaces a journal that has damaged lines by one without them; the old one
/// stays as PATH.damaged. \returns how many lines could not be kept.
Expected<unsigned> repairJournal(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_JOURNAL_H
