//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Many replays of one recorded launch in one process: the device is opened
/// once, the memory is put there once.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_SESSION_H
#define LLVM_MNEME_REPLAY_SESSION_H

#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/HeldAddresses.h"

namespace llvm {
namespace mneme {

/// A variant and its code, to be measured beside others.
struct Contestant {
  const ReplayPlan *Variant = nullptr;
  const CompiledKernel *Code = nullptr;
};

/// What came of measuring several side by side.
struct PairedResult {
  /// One a contestant; sample I of each was taken in round I. None when
  /// one failed.
  std::vector<Measurement> Measured;
  /// The first that did not verify or whose launch failed.
  std::optional<size_t> Failed;
  Verdict V = Verdict::NotVerified; ///< Of that one; else of the worst.
  std::string Error;
};

class Contender;
struct ElementTypes;

/// The kernels that ran last, by the hash of their code: another launch of one
/// need not load it again.
class LoadedKernels {
public:
  /// Null when it is not there, or has no hash.
  std::shared_ptr<DeviceKernel> find(StringRef CodeHash);
  void add(StringRef CodeHash, std::shared_ptr<DeviceKernel> Kernel);

private:
  /// A baseline and a few candidates.
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
  /// Is told of each stage before it begins, and of each launch.
  using StageFn = function_ref<void(ReplayStage)>;

  /// Opens the plan's device; none when it only compiles. \p Plan outlives the
  /// session. Errors: no such device, or one that cannot run the recording.
  static Expected<std::unique_ptr<ReplaySession>> create(const ReplayPlan &Plan,
                                                         StageFn Report);
  /// The same with a device that is open; null to only compile.
  static Expected<std::unique_ptr<ReplaySession>>
  create(const ReplayPlan &Plan, std::unique_ptr<Device> D);
  ~ReplaySession();

  /// How much a verification of the recorded launch can notice. Before the first
  /// run: nothing is known.
  const VerificationPower &power() const { return Power; }
  /// Which bytes are poisoned; null before the search.
  const std::shared_ptr<const PoisonMask> &poison() const { return Poison; }
  /// Maps the memory, finds what is to be poisoned unless the plan says it, and
  /// poisons it. The first run does it, too.
  Error prepare(StageFn Report);

  /// What was held while the device opened, until its memory is made.
  void hold(HeldAddresses Addresses) { Held = std::move(Addresses); }

  /// Null when the plan only compiles.
  Device *device() const { return D.get(); }

  /// compile(), then run(). An Error means that the variant could not be set
  /// up; what compiler and kernel do is in the result. All of a result's times
  /// but Open, Prepare, Parse and Read are the variant's own.
  Expected<ReplayResult> evaluate(const ReplayPlan &Variant, StageFn Report);

  /// Compiles for the session's device, or as far as the variant's options want
  /// (wantsGPUImage(), files to write).
  Expected<CompiledKernel> compile(const ReplayPlan &Variant, StageFn Report,
                                   KnownCodeFn Known = nullptr);
  /// Runs, verifies, times what compile() made for \p Variant, or for one that
  /// differs in the launch alone. The times of the compilation are the code's,
  /// whenever that was made.
  Expected<ReplayResult> run(const ReplayPlan &Variant,
                             const CompiledKernel &Code, StageFn Report);

  /// Loads and verifies all, then measures them in turns: at least \p Rounds
  /// rounds, in an order that \p Seed decides; each second round has the order
  /// of the one before reversed. An Error means that the device is lost or
  /// cannot run one of them at all.
  Expected<PairedResult> compare(ArrayRef<Contestant> Contestants,
                                 unsigned Rounds, uint64_t Seed,
                                 StageFn Report);

  /// A kernel crashed or hung on a GPU: nothing runs there any more in this
  /// process.
  bool isLost() const { return Lost; }
  /// The process should be replaced: the device is lost, or has left too much
  /// memory behind (GPUDevice::leakedBytes()).
  bool isSpent() const;

private:
  ReplaySession(const ReplayPlan &Plan);

  const ReplayPlan &Plan;
  std::unique_ptr<Device> D;
  std::unique_ptr<SampleMachine> Machine;
  std::unique_ptr<Measurer> TheMeasurer;
  HeldAddresses Held; ///< Until then:
  std::optional<Replayer> Memory; ///< From the first run on.
  VerificationPower Power;
  std::shared_ptr<const PoisonMask> Poison;
  LoadedKernels Kernels;
  std::optional<GPUTimer> Timer; ///< That was chosen last.
  /// Of the plan's kernel; unset until a GPU wants to know.
  std::optional<bool> NeedsRestoring;
  double OpenTime = 0, PrepareTime = 0;
  bool Lost = false;
  /// Of the plan's kernel; null until something differs.
  std::unique_ptr<ElementTypes> Types;

  const ElementTypes &elementTypes();
  Error checkVariant(const ReplayPlan &Variant) const;
  Error checkRun(const ReplayPlan &Variant, const CompiledKernel &Code) const;
  void noteFailure();
  void noteEnd(const Contender &C);
  Error verifyAll(ArrayRef<Contestant> Contestants,
                  ArrayRef<std::unique_ptr<Contender>> Contenders,
                  PairedResult &Result);
  void noteFailed(size_t Index, const Contender &C, PairedResult &Result);
  Expected<PairedResult> measurePaired(ArrayRef<Contestant> Contestants,
                                       unsigned Rounds, uint64_t Seed,
                                       StageFn Report);
  Error choosePoison(StageFn Report);
  Error chooseTimer(GPUTimer Wanted);
  bool needsRestoring(const ReplayPlan &Variant);
  friend class Contender;
  friend class ReplayRun;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_SESSION_H
