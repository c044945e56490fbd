//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replays variants of one recorded launch in one process: the device is opened
/// and the memory is set up only once.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_SESSION_H
#define LLVM_MNEME_REPLAY_SESSION_H

#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/HeldAddresses.h"

namespace llvm {
namespace mneme {

/// A variant and its code, to be measured side by side with others.
struct Contestant {
  const ReplayPlan *Variant = nullptr;
  const CompiledKernel *Code = nullptr;
};

/// The result of measuring several variants side by side.
struct PairedResult {
  /// One per variant; sample I of each is from round I. Empty if one failed.
  std::vector<Measurement> Measured;
  /// The first variant that did not verify or whose launch failed.
  std::optional<size_t> Failed;
  Verdict V = Verdict::NotVerified; ///< Verdict of Failed, otherwise the worst.
  std::string Error;
  /// Of ReplayOptions::PairedCounters, one per variant; value I of each is from
  /// round I. Empty if none were wanted or could be read.
  std::vector<CounterSamples> Counters;
  std::string CounterProblem; ///< Why counters are missing; empty: none is.
};

class MeasuredKernel;
struct ElementTypes;

/// A cache of recently launched kernels by code hash, to avoid loading them
/// again.
class LoadedKernels {
public:
  /// Returns null if the kernel is not cached or has no hash.
  std::shared_ptr<DeviceKernel> find(StringRef CodeHash);
  void add(StringRef CodeHash, std::shared_ptr<DeviceKernel> Kernel);

private:
  /// Fits a baseline and a few candidates.
  static constexpr size_t MaxCount = 8;
  struct Entry {
    std::string Hash;
    std::shared_ptr<DeviceKernel> Kernel;
  };
  std::vector<Entry> List;
};

/// Evaluates variants of one plan (ReplayPlan::vary()).
class ReplaySession {
public:
  /// Called with each stage before it begins, and for each launch.
  using StageFn = function_ref<void(ReplayStage)>;

  /// Opens the plan's device, if the plan runs code. \p Plan must outlive the
  /// session. Fails if there is no such device or it cannot run the recording.
  static Expected<std::unique_ptr<ReplaySession>> create(const ReplayPlan &Plan,
                                                         StageFn Report);
  /// Makes a session for \p Plan in a forked process under its time limits and
  /// calls \p Body there (see mneme::runIsolated()).
  static Expected<ReplayResult> runIsolated(
      const ReplayPlan &Plan,
      function_ref<Expected<ReplayResult>(ReplaySession &, StageFn)> Body);
  /// Takes an open device; null to only compile.
  static Expected<std::unique_ptr<ReplaySession>>
  create(const ReplayPlan &Plan, std::unique_ptr<Device> D);
  ~ReplaySession();

  /// Returns how much verification of the recorded launch can detect. Unknown
  /// before the first run.
  const VerificationPower &power() const { return Power; }
  /// The poisoned bytes; null before the search.
  const std::shared_ptr<const PoisonMask> &poison() const { return Poison; }
  /// The envelope; null if none was measured.
  const std::shared_ptr<const Envelope> &envelope() const { return Measured; }
  /// Maps the memory, finds the bytes to poison unless the plan has them, and
  /// poisons them. Measures an envelope if the options demand it, or if they
  /// permit it and the search for poison shows that results vary. The first run
  /// does this if necessary.
  Error prepare(StageFn Report);
  /// Measures an envelope if the options permit it, none was measured, and
  /// launches of the recorded code do not all verify.
  Error probeEnvelope(StageFn Report);

  /// Keeps addresses reserved from opening the device until its memory is
  /// mapped.
  void hold(HeldAddresses Addresses) { Held = std::move(Addresses); }

  /// Returns null if the plan only compiles.
  Device *device() const { return D.get(); }

  /// Calls compile(), then run(). An Error means that the variant could not be
  /// set up; failures of the compiler and the kernel are in the result. All
  /// times in the result except Open, Prepare, Parse and Read belong to the
  /// variant.
  Expected<ReplayResult> evaluate(const ReplayPlan &Variant, StageFn Report);

  /// Compiles for the session's device or, without one, as far as the variant's
  /// options require (wantsGPUImage(), files to write).
  Expected<CompiledKernel> compile(const ReplayPlan &Variant, StageFn Report,
                                   KnownCodeFn Known = nullptr);
  /// Runs, verifies and measures code that compile() produced for \p Variant or
  /// for a variant that differs only in the launch. Compile times in the result
  /// are those of \p Code, whenever it was compiled.
  Expected<ReplayResult> run(const ReplayPlan &Variant,
                             const CompiledKernel &Code, StageFn Report);

  /// See replayUnread().
  Expected<ReplayResult> testUnread(const ReplayPlan &Variant, uint64_t Seed,
                                    StageFn Report);

  /// Loads and verifies all variants, then measures them in at least \p Rounds
  /// interleaved rounds. \p Seed determines their order; every second round
  /// reverses the order of the previous one. An Error means that the device is
  /// lost or cannot run one of the variants.
  Expected<PairedResult> compare(ArrayRef<Contestant> Contestants,
                                 unsigned Rounds, uint64_t Seed,
                                 StageFn Report);

  /// Returns true if a kernel crashed or hung on a GPU, which this process can
  /// no longer use.
  bool isLost() const { return Lost; }
  /// Returns true if the process should be replaced: the device is lost or has
  /// leaked too much memory (GPUDevice::leakedBytes()).
  bool isSpent() const;

private:
  ReplaySession(const ReplayPlan &Plan);

  const ReplayPlan &Plan;
  std::unique_ptr<Device> D;
  std::unique_ptr<SampleMachine> Machine;
  std::unique_ptr<Measurer> TheMeasurer;
  HeldAddresses Held;             ///< Released by the first run.
  std::optional<Replayer> Memory; ///< Set by the first run.
  VerificationPower Power;
  std::shared_ptr<const PoisonMask> Poison;
  std::shared_ptr<const Envelope> Measured;
  /// Whether results of the recorded code may vary in a way that was not
  /// measured.
  bool MayVary = true;
  /// The bytes that the traced launch has to move, for the bound.
  std::optional<LaunchWork> Traced;
  double TracedNanoseconds = 0;
  LoadedKernels Kernels;
  std::optional<GPUTimer> Timer; ///< The last timer used.
  /// Whether the plan's kernel needs restored memory; set on demand for a GPU.
  std::optional<bool> NeedsRestoring;
  double OpenTime = 0, PrepareTime = 0;
  bool Lost = false;
  /// Element types of the plan's kernel; null until a comparison fails.
  std::unique_ptr<ElementTypes> Types;

  const ElementTypes &elementTypes();
  Error checkVariant(const ReplayPlan &Variant) const;
  Error checkRun(const ReplayPlan &Variant, const CompiledKernel &Code) const;
  void noteFailure();
  void noteEnd(const MeasuredKernel &C);
  Error verifyAll(ArrayRef<Contestant> Contestants,
                  ArrayRef<std::unique_ptr<MeasuredKernel>> MeasuredKernels,
                  PairedResult &Result);
  void noteFailed(size_t Index, const MeasuredKernel &C, PairedResult &Result);
  Expected<PairedResult> measurePaired(ArrayRef<Contestant> Contestants,
                                       unsigned Rounds, uint64_t Seed,
                                       StageFn Report);
  Error countPaired(ArrayRef<std::unique_ptr<MeasuredKernel>> MeasuredKernels,
                    const CounterSet &Counters, PairedResult &Result);
  Error choosePoison(StageFn Report);
  bool wantsBound() const;
  Error findBound(StageFn Report);
  Error checkBound(const ReplayPlan &Variant, MeasuredKernel &C,
                   const Measurement &M, StageFn Report,
                   std::optional<LaunchBound> &Own);
  Error measure(bool OnlyIfVaries, StageFn Report);
  Error findVacuous();
  /// Returns how to compare the memory that a launch of \p Variant leaves.
  const ComparePlan &comparison(const ReplayPlan &Variant) const;
  Error chooseTimer(GPUTimer Wanted);
  bool needsRestoring(const ReplayPlan &Variant);
  friend class MeasuredKernel;
  friend class ReplayRun;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_SESSION_H
