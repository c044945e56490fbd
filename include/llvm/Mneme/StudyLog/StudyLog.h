//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface that stores completed trials, and loads them for a resumed
/// study. The journal implements it; tests keep trials in memory.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDYLOG_STUDYLOG_H
#define LLVM_MNEME_STUDYLOG_STUDYLOG_H

#include "llvm/Mneme/Study/Outcome.h"

namespace llvm {
namespace mneme {

/// Stores the trials and baselines of a study.
class StudyLog {
public:
  virtual ~StudyLog() = default;

  /// Adds completed trials in order of completion, which may differ from that
  /// of their numbers. Adds either all or none. On return they survive the
  /// death of this process. A trial with the failure Cancelled was closed by the
  /// end of a study: a resumed study gets it as a running trial.
  virtual Error addTrials(ArrayRef<const Trial *> Trials) = 0;
  Error addTrial(const Trial &T) { return addTrials(&T); }
  virtual Error addBaseline(const BaselineSample &S) = 0;
  /// Adds trials that begin. A resumed study gets those without a result as
  /// running trials, and can repeat them under the same numbers.
  virtual Error beginTrials(ArrayRef<Trial> Trials) {
    (void)Trials;
    return Error::success();
  }

  /// Returns points enqueued by users (TrialKind::Enqueued) since the last
  /// call. The next trial that begins at such a point is that enqueued trial.
  virtual Expected<std::vector<Point>> takeEnqueued() {
    return std::vector<Point>();
  }

  /// Return the data of earlier runs in the order of addition, followed by
  /// trials that were running.
  virtual std::vector<Trial> takeTrials() = 0;
  virtual std::vector<BaselineSample> takeBaselines() = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDYLOG_STUDYLOG_H
