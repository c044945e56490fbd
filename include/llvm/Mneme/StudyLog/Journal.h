//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The log of a study, from which an interrupted study resumes. It is an Optuna
/// journal (docs/StudyFiles): Optuna and its dashboard can read and write it
/// while the study runs.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDYLOG_JOURNAL_H
#define LLVM_MNEME_STUDYLOG_JOURNAL_H

#include "llvm/Mneme/StudyLog/StudyLog.h"
#include <map>
#include <memory>

namespace llvm {
namespace mneme {

/// The description of a journal's study.
struct JournalHeader {
  std::string Name; ///< Name of the study in Optuna.
  std::vector<Objective> Objectives;
  /// Values that identify the study: its text, the kernel's hash, ... A journal
  /// with other values belongs to another study.
  json::Object Identity;
  /// Values that may change when the study resumes: tool, device, ...
  json::Object Info;
};

struct JournalOptions {
  /// Seconds to wait for another writing program.
  double LockTimeout = 60;
  /// Seconds after which an unreleased lock is considered stale, as in Optuna.
  double StaleLock = 30;
  /// Seconds between calls of fsync().
  double SyncInterval = 1;
};

struct JournalRepair;

/// A journal file. Functions return after writing to the file. If they fail
/// (the error names the file), they leave it unchanged. Not thread-safe.
class Journal : public StudyLog {
public:
  /// Creates a journal. Fails if there is a study already or the file cannot be
  /// written. \p Space must outlive the journal.
  static Expected<std::unique_ptr<Journal>>
  create(StringRef Path, const JournalHeader &Header, const SearchSpace &Space,
         const JournalOptions &Options = {});

  /// Resumes a journal. Fails if it cannot be read, has a damaged line (with
  /// its number), belongs to another study (with the difference), or is in use
  /// by another Journal. Drops an incomplete last line, left by a writer that
  /// died.
  static Expected<std::unique_ptr<Journal>>
  resume(StringRef Path, const JournalHeader &Header, const SearchSpace &Space,
         const JournalOptions &Options = {});

  ~Journal() override;

  /// Also fails if an objective's value is not finite. Omits other numbers that
  /// are not finite.
  Error addTrials(ArrayRef<const Trial *> Trials) override;
  Error beginTrials(ArrayRef<Trial> Trials) override;
  Error addBaseline(const BaselineSample &S) override;
  /// For a resumed journal, also returns trials completed by other programs
  /// that fit the space (TrialKind::Imported). Numbers may have gaps after a
  /// repair.
  std::vector<Trial> takeTrials() override;
  std::vector<BaselineSample> takeBaselines() override;
  /// Points outside the space fail in the journal.
  Expected<std::vector<Point>> takeEnqueued() override;

  /// Sets an attribute of the study, replacing an existing one.
  Error setAttribute(StringRef Key, json::Value V);
  /// Returns null if there is no such attribute.
  const json::Value *getAttribute(StringRef Key) const;

  /// Waits for the data to reach the disk.
  Error sync();

  /// Returns warnings for the user: dropped lines, trials not imported.
  std::vector<std::string> takeWarnings();

private:
  friend Expected<JournalRepair> repairJournal(StringRef Path,
                                               const JournalHeader &Header,
                                               const SearchSpace &Space);
  struct Impl;
  std::unique_ptr<Impl> I;
  explicit Journal(std::unique_ptr<Impl> I);
};

/// Reads the header of a journal's first study without a search space: the
/// name, the objectives, and all attributes as Info.
Expected<JournalHeader> readJournalHeader(StringRef Path,
                                          bool SkipsDamaged = false);

/// A complete trial that is not suspect, without its study's space.
struct FinishedTrial {
  /// Values by parameter as users of Optuna see them.
  std::map<std::string, json::Value> Params;
  std::vector<double> Values; ///< One per objective; NaN if it is not a number.
  double Baseline = 0;        ///< Trial::BaselineNanoseconds.
};

struct FinishedStudy {
  JournalHeader Header; ///< As from readJournalHeader().
  std::vector<FinishedTrial> Trials;
};

/// Reads a journal's first study and its complete trials without a search
/// space. Fails on a damaged line (with its number) and another format.
/// \param HeaderOnly  read the lines before the first trial only.
Expected<FinishedStudy> readFinishedStudy(StringRef Path,
                                          bool HeaderOnly = false);

struct JournalRepair {
  unsigned NumDropped = 0; ///< Lines.
  std::string Backup;      ///< Path of the old file if lines were dropped.
};

/// Replaces a journal by a copy without its damaged lines; keeps the old file
/// as PATH.damaged, or PATH.damaged.1, ... Changes nothing if
/// Journal::resume() would refuse the copy.
Expected<JournalRepair> repairJournal(StringRef Path,
                                      const JournalHeader &Header,
                                      const SearchSpace &Space);

/// Returns the time as Optuna writes it: local, with microseconds.
std::string formatOptunaTime(double SecondsSinceEpoch, char Separator = 'T');

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDYLOG_JOURNAL_H
