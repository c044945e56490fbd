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

#include "llvm/Mneme/Tune/Trial.h"
#include <map>
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

/// Not for several threads at once.
class Journal {
public:
  /// A new journal; Error: there is something already, or it cannot be
  /// written. \p Space outlives the journal.
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

  /// Writes what is queued, errors unheard: call flush() before.
  ~Journal();

  /// The trials that the journal had when it was resumed, by number. Running
  /// ones had begun and not ended. Numbers may be missing, once a damaged
  /// journal was repaired. What other programs completed is there too, if it
  /// fits the space (TrialKind::Imported).
  std::vector<Trial> takeTrials();

  /// Queues a trial to be written as it is now: when it begins, and when it has
  /// ended. Only in flush() is it written, so that many cost as much as one.
  /// Error: a value of an objective is not finite.
  Error note(const Trial &T);
  /// Queues an attribute of the study, which replaces one of this name.
  void setAttribute(StringRef Key, json::Value V);
  /// Null: there is none.
  const json::Value *getAttribute(StringRef Key) const;

  /// Reads what other programs wrote, then appends what is queued in one piece.
  /// Error (with the file's name): the disk is full, ... Nothing of this piece
  /// is then in the file and all of it still queued.
  Error flush();
  /// flush() that also waits for the disk.
  Error close();

  /// Points that somebody enqueued (Optuna: study.enqueue_trial()) and that no
  /// other program has taken; seen by the last flush(), which took them. The
  /// trial that is noted next with such a point is the one that was enqueued.
  /// Points that the space does not have are failed in the journal.
  std::vector<Point> takeEnqueued();

  /// What a user might want to hear: a line dropped, trials not imported.
  std::vector<std::string> takeWarnings();

  StringRef path() const;

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
