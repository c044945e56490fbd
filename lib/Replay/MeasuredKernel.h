//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A loaded kernel that is verified and measured.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_MEASUREDKERNEL_H
#define LLVM_MNEME_LIB_REPLAY_MEASUREDKERNEL_H

#include "llvm/Mneme/Replay/Session.h"

namespace llvm {
namespace mneme {
/// A loaded kernel with its launch, to be verified and measured.
class MeasuredKernel final : public SampleSource {
public:
  /// The session is prepared.
  MeasuredKernel(ReplaySession &Session, const ReplayPlan &Plan,
                 ReplayTimes &Times, ReplaySession::StageFn Report);

  /// Takes the kernel from \p Kernels, or loads it. What cannot be loaded is
  /// Unsupported. Error: a shortage.
  Error load(const CompiledKernel &Code, LoadedKernels &Kernels);
  /// Launches once and compares what that leaves; a wrong kernel is not timed.
  /// \param MayWait  a short launch may be compared by confirm() alone.
  Error verify(bool MayWait = false);
  /// After the last timed launch: compares once more, so that what was timed is
  /// what was verified. Launches again where the last launch was another
  /// kernel's, or did not begin with the recorded memory.
  Error confirm();
  Expected<std::optional<double>> sample(unsigned Repeat) override;
  Expected<bool> sampleMany(unsigned Count, unsigned Repeat,
                            std::vector<double> &Nanoseconds) override;

  /// After a mismatch: launches again, to see whether that leaves the same. If
  /// not, the kernel is to blame, or the recording, rather than the compiler.
  Error checkReproducibility();

  /// Can one of its launches see what the one before left, but in the recorded
  /// memory? A launch that follows right behind another one can.
  bool keepsState() const {
    return Config.DynamicShared || Kernel->keepsState();
  }

  bool isGood() const { return !failed() && V != Verdict::Mismatch; }
  /// Did the device stop it?
  bool failed() const {
    return V == Verdict::Crash || V == Verdict::Timeout ||
           V == Verdict::Unsupported;
  }

  Verdict V = Verdict::NotVerified;
  std::string Message; ///< Why not; empty when it matches.
  bool Executed = false;
  double LastNanoseconds = 0; ///< Of the last launch; 0: there was none.
  MemoryComparison Compared;
  std::shared_ptr<DeviceKernel> Kernel;
  CacheMode Cache;
  bool Restore = true;

private:
  ReplaySession &Session;
  const ReplayPlan &Plan;
  Device &D;
  Replayer &Memory;
  ReplayTimes &Times;
  ReplaySession::StageFn Report;
  LaunchConfig Config;
  /// To prepare and launch once took no longer than this.
  double LongestSeconds = 0;
  /// Replayer::numLaunches() after the last launch that began with the recorded
  /// memory, and after the last one that was compared.
  uint64_t LastRestored = 0, LastCompared = 0;

  Error restore();
  Error compare();
  Error describeElements();
  Error flushCache();
  Expected<bool> sampleBatch(unsigned Count, unsigned Repeat,
                             std::vector<double> &Nanoseconds);
  bool noteOutcome(const LaunchOutcome &Outcome);
  Expected<std::vector<std::vector<char>>> readFailures();
};

/// Match, MatchWithinTolerance or Mismatch.
Verdict judge(const MemoryComparison &C);

/// Measures loaded kernels side by side on the session's device.
/// \returns none when one of them fails.
Expected<std::vector<Measurement>>
measureAll(Measurer &M, Device &D, ArrayRef<MeasuredKernel *> MeasuredKernels,
           bool Restore, MeasureRules Rules);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_MEASUREDKERNEL_H
