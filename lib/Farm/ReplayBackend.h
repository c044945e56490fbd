//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The backend of a replay farm: compiles, runs and compares variants of
/// recorded launches.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_REPLAYBACKEND_H
#define LLVM_MNEME_LIB_FARM_REPLAYBACKEND_H

#include "llvm/Mneme/Farm/Farm.h"
#include "llvm/Mneme/Replay/Session.h"
#include <map>

namespace llvm {
namespace mneme {

class ReplayBackend final : public FarmBackend {
public:
  /// \param Base Options that configurations do not set.
  /// \param Plans One per instance, made with \p Base.
  ReplayBackend(ReplayOptions Base,
                std::vector<std::unique_ptr<ReplayPlan>> Plans,
                CodeTarget Target);

  ArrayRef<std::unique_ptr<ReplayPlan>> plans() const { return Plans; }

  Expected<FarmKeys> keys(const EvaluationRequest &R) const override;
  Expected<FarmCode> compile(const EvaluationRequest &R, KnownFn Known,
                             function_ref<void(StringRef)> Stage) override;
  Expected<Opened> openDevice(StringRef Name, StageFn Stage) override;
  Expected<Evaluation> run(const EvaluationRequest &R, const FarmCode &Code,
                           StageFn Stage) override;
  Expected<PairedEvaluation> compare(ArrayRef<EvaluationRequest> Requests,
                                     ArrayRef<const FarmCode *> Codes,
                                     unsigned Rounds, StageFn Stage) override;
  bool isSpent() const override;

private:
  ReplayOptions Base;
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  CodeTarget Target;

  //===--- Of a run process. ---------------------------------------------===//

  std::string DeviceName;
  /// Keeps the device open while the sessions change.
  std::unique_ptr<Device> Keeper;
  /// For one instance at a time: the memory of all instances has the same
  /// addresses.
  std::unique_ptr<ReplaySession> Session;
  unsigned SessionInstance = 0;
  /// Code that was run recently.
  std::map<std::string, CompiledKernel> Loaded;

  /// \param Compared  ReplayOptions::ComparedLaunches.
  Expected<std::unique_ptr<ReplayPlan>>
  vary(const EvaluationRequest &R, bool WillCompile,
       std::optional<unsigned> Compared = 1) const;
  Error openSession(unsigned Instance);
  Expected<const CompiledKernel *> load(const FarmCode &Code);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_REPLAYBACKEND_H
