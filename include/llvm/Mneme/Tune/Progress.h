//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How far a study is: one line that is drawn again and again on a terminal,
/// lines now and then elsewhere.
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
/// "1.214x", "1.214x [1.190, 1.231]".
std::string formatSpeedup(const RatioEstimate &R);
/// "12.4 ns", "3.21 us", ...
std::string formatNanoseconds(double Nanoseconds);
/// "40", "0.75": six digits that count.
std::string formatMetric(double V);

class ProgressPrinter : public StudyObserver {
public:
  struct Style {
    bool Terminal = false; ///< The line can be drawn again.
    bool Quiet = false;    ///< Only what should be known.
    unsigned Columns = 80;
    double LineSeconds = 10;  ///< Between lines where there is no terminal.
    double DrawSeconds = 0.1; ///< Between drawings.
  };
  /// \p Clock: seconds, from any beginning.
  ProgressPrinter(raw_ostream &OS, Style S, std::function<double()> Clock);
  ~ProgressPrinter() override;

  void update(const StudyProgress &P) override;
  void note(StringRef Text) override;
  /// Takes the line away, before something else is printed.
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
