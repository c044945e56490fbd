//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One evaluation: load, verify, measure.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_REPLAYRUN_H
#define LLVM_MNEME_LIB_REPLAY_REPLAYRUN_H

#include "MeasuredKernel.h"

namespace llvm {
namespace mneme {
/// Returns the number of timed launches on the host device, unless it is
/// adaptive. The default is larger with a baseline, for an interval.
unsigned getHostIterations(const ReplayOptions &O);

/// One run of a compiled kernel in a session.
class ReplayRun {
public:
  ReplayRun(ReplaySession &Session, const ReplayPlan &Plan,
            ReplaySession::StageFn Report)
      : Session(Session), Plan(Plan), Options(Plan.options()), Report(Report),
        D(*Session.D), GPU(D.asGPU()) {}

  Expected<ReplayResult> run(const CompiledKernel &Code);

private:
  ReplaySession &Session;
  const ReplayPlan &Plan;
  const ReplayOptions &Options;
  ReplaySession::StageFn Report;
  Device &D;
  GPUDevice *GPU;
  ReplayResult R;
  /// Times of the baseline, which the result reports as a single figure.
  ReplayTimes OtherTimes;
  std::unique_ptr<ReplayPlan> BaselinePlan;
  /// The variant's own bound, if it moves less than the recorded code.
  std::optional<LaunchBound> OwnBound;

  Error verify(MeasuredKernel &Candidate);
  Error execute(const CompiledKernel &Code);
  void describeGPU();
  Error describeOnGPU(DeviceKernel &Kernel);
  Expected<std::unique_ptr<MeasuredKernel>> prepareBaseline();
  Expected<CompiledKernel> makeBaselineCode();
  Error measure(MeasuredKernel &Candidate, MeasuredKernel *Other);
  Error count(MeasuredKernel &Candidate);
  Error sample(const CompiledKernel &Code, double Nanoseconds);
  MeasureRules getRules() const;
  void compareWithBaseline(Measurement Other);
  void take(MeasuredKernel &C);
};
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_REPLAYRUN_H
