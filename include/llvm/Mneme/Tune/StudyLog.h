//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a study's trials go as they end, and where an interrupted study finds
/// them again. The journal is one; tests keep them in memory.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_STUDYLOG_H
#define LLVM_MNEME_TUNE_STUDYLOG_H

#include "llvm/Mneme/Tune/Outcome.h"

namespace llvm {
namespace mneme {

class StudyLog {
public:
  virtual ~StudyLog() = default;

  /// Trials that have ended, in the order in which they ended, which is not
  /// that of their numbers: all of them, or none. Durable when it returns, as
  /// far as the death of this process is concerned.
  virtual Error addTrials(ArrayRef<const Trial *> Trials) = 0;
  Error addTrial(const Trial &T) { return addTrials(&T); }
  virtual Error addBaseline(const BaselineSample &S) = 0;
  /// Trials that begin. A study that goes on finds those that did not end as
  /// running ones and can run them again under their numbers, as if nothing had
  /// happened.
  virtual Error beginTrials(ArrayRef<Trial> Trials) {
    (void)Trials;
    return Error::success();
  }

  /// Points that somebody wants to be tried (TrialKind::Enqueued), since it was
  /// asked last. The trial that begins next with such a point is that one.
  virtual Expected<std::vector<Point>> takeEnqueued() {
    return std::vector<Point>();
  }

  /// What is there from earlier runs, in the order of adding, and then what was
  /// running.
  virtual std::vector<Trial> takeTrials() = 0;
  virtual std::vector<BaselineSample> takeBaselines() = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_STUDYLOG_H
