//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A second opinion on what was recorded on the host device: the CPU code that
/// ran was optimized by the LLVM that is to be examined, and its faults would
/// be part of the recording, which every replay then confirms.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// A recorded launch, replayed without passes, as it ran while it was recorded.
class CheckedLaunch {
public:
  CheckedLaunch(StringRef File, StringRef Launch, const HostOptions &Recorded)
      : File(File), Launch(Launch), Recorded(Recorded) {}

  /// \returns a warning if the results of unoptimized code differ; empty if
  /// they do not, or if the optimized code does not reproduce its own results.
  Expected<std::string> findDifference(double Seconds) const;

private:
  StringRef File, Launch;
  const HostOptions &Recorded;
};
} // namespace

Expected<std::string> CheckedLaunch::findDifference(double Seconds) const {
  ReplayOptions O;
  O.RecordId = Launch.str();
  O.Device = "host";
  O.Host = Recorded;
  O.Host.Finish = HostFinish::None;
  O.Passes = "";
  O.Envelope.Replays = 0;
  O.Iterations = O.Warmup = 0;
  O.Timeout = Seconds;
  O.ShowsOutput = false;
  Expected<std::unique_ptr<ReplayPlan>> Plan = ReplayPlan::create(File, O);
  if (!Plan)
    return Plan.takeError();
  Expected<ReplayResult> Plain = replay(**Plan);
  if (!Plain)
    return Plain.takeError();
  if (Plain->V == Verdict::Timeout || Plain->V == Verdict::CompileError)
    return createStringError(Plain->Error);
  if (Plain->verified() || Plain->V == Verdict::Unsupported ||
      Plain->ReadsUninitialized.value_or(false))
    return "";
  // Shares the memory that was read.
  O.Host.Finish = Recorded.Finish;
  Expected<std::unique_ptr<ReplayPlan>> Optimized = (*Plan)->vary(std::move(O));
  if (!Optimized)
    return Optimized.takeError();
  Expected<ReplayResult> Same = replay(**Optimized);
  if (!Same)
    return Same.takeError();
  if (!Same->verified())
    return "";
  return formatv("the CPU code of kernel '{0}' gives other results without "
                 "optimization (--host-finish=none) than with it "
                 "(--host-finish={1}, recorded): {2}. LLVM has miscompiled "
                 "one of them, or the kernel's behavior is undefined. Show "
                 "the difference: llvm-mneme-replay {3} --record-id={4} "
                 "--passes= --host-finish=none. Record the other results: "
                 "llvm-mneme-record --host-finish=none",
                 demangleSymbol((*Plan)->kernel().KernelName),
                 getHostFinishName(Recorded.Finish), Plain->Error, File, Launch)
      .str();
}

void llvm::mneme::checkCode(
    ArrayRef<std::pair<std::string, std::string>> Launches,
    const HostOptions &Recorded, double Seconds) {
  Deadline Until = Deadline::after(Seconds);
  size_t Unchecked = 0;
  for (const auto &[File, Launch] : Launches) {
    CheckedLaunch Checked(File, Launch, Recorded);
    Expected<std::string> Difference =
        Until.hasPassed()
            ? createStringError("no time left")
            : Checked.findDifference(Until.milliseconds() / 1000.0);
    if (Difference && !Difference->empty())
      printWarning(*Difference);
    Unchecked += !Difference;
    consumeError(Difference.takeError());
  }
  if (Unchecked)
    errs() << formatv("mneme: the CPU code of {0} was not compared with "
                      "unoptimized code within {1:f0} s (--check-code)\n",
                      formatCount(Unchecked, "kernel"), Seconds);
}
