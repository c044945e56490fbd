//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "Coordinator.h"
#include "ReplayBackend.h"
#include "Resources.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class LocalReplayFarm final : public ReplayFarm {
public:
  LocalReplayFarm(std::unique_ptr<ReplayBackend> B, FarmConfig C)
      : Backend(std::move(B)), TheCoordinator(*Backend, std::move(C)) {}

  Coordinator &coordinator() { return TheCoordinator; }

  unsigned capacity() const override { return TheCoordinator.capacity(); }
  Error submit(EvaluationRequest R) override {
    return TheCoordinator.submit(std::move(R));
  }
  Expected<std::vector<Evaluation>> wait(double Seconds) override {
    return TheCoordinator.wait(Seconds);
  }
  Expected<PairedEvaluation>
  comparePaired(ArrayRef<EvaluationRequest> Requests,
                unsigned Rounds) override {
    return TheCoordinator.comparePaired(Requests, Rounds);
  }
  void remember(const EvaluationRequest &R, const Evaluation &Known) override {
    TheCoordinator.remember(R, Known);
  }
  std::vector<uint64_t> cancel() override { return TheCoordinator.cancel(); }
  json::Object describe() const override { return TheCoordinator.describe(); }

  ArrayRef<std::unique_ptr<ReplayPlan>> plans() const override {
    return Backend->plans();
  }
  FarmStatistics statistics() const override {
    return TheCoordinator.statistics();
  }
  std::string address() const override { return ""; }

private:
  std::unique_ptr<ReplayBackend> Backend;
  Coordinator TheCoordinator;
};
} // namespace

/// An evaluation is one of many: it writes no files, and is compared with
/// others by the study.
static ReplayOptions makeBase(ReplayOptions O) {
  O.App = O.appFile().str();
  O.CompareWithApp.clear();
  O.OutputIR.clear();
  O.OutputAsm.clear();
  O.OutputObject.clear();
  O.Compared = Baseline::None;
  O.Execute = true;
  O.Isolate = false;
  return O;
}

Expected<std::unique_ptr<ReplayFarm>> ReplayFarm::create(FarmOptions Options) {
  ReplayOptions Base = makeBase(std::move(Options.Base));
  std::vector<std::string> Ids = Options.RecordIds;
  if (Ids.empty())
    Ids.push_back(Base.RecordId);
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  for (const std::string &Id : Ids) {
    ReplayOptions O = Base;
    O.RecordId = Id;
    Expected<std::unique_ptr<ReplayPlan>> Plan =
        ReplayPlan::create(Options.Database, std::move(O));
    if (!Plan)
      return Plan.takeError();
    Plans.push_back(std::move(*Plan));
  }
  bool IsGPU = false;
  Expected<FarmConfig> Config = makeFarmConfig(Options, *Plans.front(), IsGPU);
  if (!Config)
    return Config.takeError();
  if (IsGPU)
    if (Error E = checkPTXCompiler(Base.Assembler, Base.CudaPath))
      return std::move(E);
  auto Backend = std::make_unique<ReplayBackend>(
      Base, std::move(Plans), IsGPU ? CodeTarget::GPU : CodeTarget::Host);
  auto Farm = std::make_unique<LocalReplayFarm>(std::move(Backend),
                                                std::move(*Config));
  if (Error E = Farm->coordinator().start())
    return std::move(E);
  return std::move(Farm);
}
