//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A farm on this machine.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_LOCALFARM_H
#define LLVM_MNEME_LIB_FARM_LOCALFARM_H

#include "Coordinator.h"
#include "RemoteWorkers.h"
#include "ReplayBackend.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"

namespace llvm {
namespace mneme {

class LocalFarm final : public ReplayFarm {
public:
  static Expected<std::unique_ptr<LocalFarm>> create(FarmOptions Options);

  unsigned capacity() const override { return TheCoordinator.capacity(); }
  Coordinator &coordinator() { return TheCoordinator; }
  Error submit(EvaluationRequest R) override {
    return TheCoordinator.submit(withText(std::move(R)));
  }
  Expected<std::vector<Evaluation>> wait(double Seconds) override {
    return TheCoordinator.wait(Seconds);
  }
  Expected<PairedEvaluation> comparePaired(ArrayRef<EvaluationRequest> Requests,
                                           unsigned Rounds,
                                           function_ref<bool()> Stop) override;
  void remember(const EvaluationRequest &R, const Evaluation &Known) override {
    TheCoordinator.remember(R, Known);
  }
  std::vector<uint64_t> cancel() override { return TheCoordinator.cancel(); }
  Expected<std::vector<Evaluation>> wait(double Seconds, int Also) override {
    return TheCoordinator.wait(Seconds, Also);
  }
  void withdraw(const DenseSet<uint64_t> &Ids) override {
    TheCoordinator.withdraw(Ids);
  }
  json::Object describe() const override { return TheCoordinator.describe(); }

  ArrayRef<std::unique_ptr<ReplayPlan>> plans() const override {
    return Backend->plans();
  }
  ArrayRef<VerificationPower> powers() const override { return Powers; }
  FarmStatistics statistics() const override {
    return TheCoordinator.statistics();
  }

private:
  LocalFarm(std::unique_ptr<ReplayBackend> B, FarmConfig C)
      : Backend(std::move(B)), TheCoordinator(*Backend, std::move(C)) {}

  EvaluationRequest withText(EvaluationRequest R) const;
  Error startWorkers(const FarmOptions &Options, const ReplayOptions &Base);

  std::unique_ptr<ReplayBackend> Backend;
  std::unique_ptr<RemoteWorkers> Nodes;
  std::vector<VerificationPower> Powers;
  StringMap<std::string> Controls; ///< FarmOptions::Controls.
  Coordinator TheCoordinator;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_LOCALFARM_H
