//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The progress of a study: a line that is redrawn on a terminal, or occasional
/// lines elsewhere.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_PROGRESS_H
#define LLVM_MNEME_TUNE_PROGRESS_H

#include "llvm/Mneme/Tune/Tuner.h"
#include <functional>

namespace llvm {
class raw_ostream;
namespace mneme {

/// "12.4 s  57 trials  4.6/s  best 1.214x [1.190, 1.231] (#31)
///  9 duplicates  3 failed: 2 Mismatch, 1 Timeout  8.1 s left"
std::string formatProgress(const StudyProgress &P);

/// Prints the progress of a study.
class ProgressPrinter : public StudyObserver {
public:
  struct Style {
    bool Terminal = false; ///< The line can be redrawn.
    bool Quiet = false;    ///< Print only important messages.
    unsigned Columns = 80;
    double LineSeconds = 10;  ///< Interval of lines without a terminal.
    double DrawSeconds = 0.1; ///< Interval of redraws on a terminal.
  };
  /// \p Clock returns seconds since an arbitrary start.
  ProgressPrinter(raw_ostream &OS, Style S, std::function<double()> Clock);
  ~ProgressPrinter() override;

  void update(const StudyProgress &P) override;
  void note(StringRef Text) override;
  /// Erases the line before other output.
  void clear();

private:
  raw_ostream &OS;
  const Style S;
  std::function<double()> Clock;
  double LastPrinted = -1e9;
  std::optional<uint64_t> LastBest;
  StudyProgress::PhaseTy LastPhase = StudyProgress::Baseline;
  bool Drawn = false;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_PROGRESS_H
