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
#include <random>

namespace llvm {
namespace mneme {
/// A loaded kernel with its launch, to be verified and measured.
class MeasuredKernel final : public SampleSource {
public:
  /// The session must be prepared.
  MeasuredKernel(ReplaySession &Session, const ReplayPlan &Plan,
                 ReplayTimes &Times, ReplaySession::StageFn Report);

  /// Takes the kernel from \p Kernels or loads it. If it cannot be loaded, the
  /// verdict is Unsupported. Errors are shortages.
  Error load(const CompiledKernel &Code, LoadedKernels &Kernels);
  /// Launches once and compares the result; a wrong kernel is not timed.
  /// \param MayWait  leaves the comparison of a short launch to confirm().
  Error verify(bool MayWait = false);
  /// If results vary, compares further launches, on the host device in other
  /// orders of blocks: a fault may show rarely. On the host device, also
  /// compares launches of untrusted code from all kinds of memory.
  Error verifyRepeatedly();
  /// Compares again after the last timed launch, so that the code that was
  /// timed is the code that was verified. Launches again if the last launch was
  /// another kernel's or did not start from the recorded memory.
  Error confirm();
  /// May also compare the result (ReplayOptions::Untrusted).
  Expected<std::optional<double>> sample(unsigned Repeat) override;
  Expected<bool> sampleMany(unsigned Count, unsigned Repeat,
                            std::vector<double> &Nanoseconds) override;

  /// Reads hardware counters in further launches, each from the recorded
  /// memory, and the energy.
  Error count(const CounterSet &Counters, CounterReading &Reading);

  /// Launches again after a mismatch to check whether the result is
  /// reproducible. If not, the kernel or the recording is at fault rather than
  /// the compiler.
  Error checkReproducibility();
  /// Keeps what checkReproducibility() needs of the memory, if other code is
  /// launched before it.
  Error keepFailures();

  /// Returns true if a launch can observe state that the preceding one left
  /// outside of the recorded memory. This matters for launches in immediate
  /// succession.
  bool keepsState() const {
    return Config.DynamicShared || Kernel->keepsState();
  }

  bool isGood() const {
    return !failed() && V != Verdict::Mismatch && V != Verdict::TooFast;
  }
  /// Returns true if the kernel could not be loaded or its launch failed.
  bool failed() const {
    return V == Verdict::Crash || V == Verdict::Timeout ||
           V == Verdict::Unsupported;
  }

  Verdict V = Verdict::NotVerified;
  std::string Message; ///< Reason for the verdict; empty on a match.
  bool Executed = false;
  double LastNanoseconds = 0; ///< Of the last launch; 0 if there was none.
  MemoryComparison Compared;
  unsigned NumCompared = 0; ///< Compared launches.
  std::shared_ptr<DeviceKernel> Kernel;
  CacheMode Cache;
  bool Restore = true;

private:
  std::optional<std::vector<std::vector<char>>> Kept; ///< By keepFailures().
  ReplaySession &Session;
  const ReplayPlan &Plan;
  Device &D;
  Replayer &Memory;
  ReplayTimes &Times;
  ReplaySession::StageFn Report;
  LaunchConfig Config;
  /// Upper bound on the time to prepare and launch once.
  double LongestSeconds = 0;
  /// Replayer::numLaunches() after the last launch that started from the
  /// recorded memory, and after the last one that was compared.
  uint64_t LastRestored = 0, LastCompared = 0;

  std::minstd_rand Random{std::random_device()()};

  /// Launches of untrusted code start from different memory. Not those that
  /// have to repeat one.
  bool Varies = true;

  Error vary();
  Error restore();
  Expected<std::optional<double>> launch(unsigned Repeat);
  bool comparesTimed() const;
  Error compare();
  Error compareLater();
  Error describeTypes();
  std::string describeMismatch() const;
  bool isUndecided(size_t Part) const;
  Error flushCache();
  Expected<bool> sampleBatch(unsigned Count, unsigned Repeat,
                             std::vector<double> &Nanoseconds);
  bool noteOutcome(const LaunchOutcome &Outcome);
  Error measureEnergy(CounterReading &Reading);
  Expected<std::optional<double>> readJoules(GPUDevice &GPU, bool Launches);
  Expected<std::vector<std::vector<char>>> readFailures();
};

/// Returns Mismatch, or the verdict of the most lenient level of all buffers.
Verdict judge(const MemoryComparison &C);

/// Measures loaded kernels side by side on the session's device.
/// \returns an empty vector if one of them fails.
Expected<std::vector<Measurement>>
measureAll(Measurer &M, Device &D, ArrayRef<MeasuredKernel *> MeasuredKernels,
           bool Restore, MeasureRules Rules);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_MEASUREDKERNEL_H
