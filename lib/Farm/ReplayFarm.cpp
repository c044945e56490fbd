//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FarmResources.h"
#include "LocalFarm.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/Replay/Poison.h"
#include "llvm/Mneme/Support/FileUtils.h"

using namespace llvm;
using namespace llvm::mneme;

/// Options of one of many evaluations: it writes no files, and the study
/// compares it with others.
static ReplayOptions makeBase(ReplayOptions O) {
  O.App = O.appFile().str();
  O.CompareWithApp.clear();
  O.OutputIR.clear();
  O.OutputAsm.clear();
  O.OutputObject.clear();
  O.Compared = Baseline::None;
  O.Isolate = false;
  return O;
}

/// Replaces the names of a source's file and of a controls file by their
/// contents, so that the request keeps its meaning when the file changes, and
/// has it on other machines.
EvaluationRequest LocalFarm::withText(EvaluationRequest R) const {
  loadControls(R.Config, Controls);
  std::optional<StringRef> Source = R.Config.getString("source");
  if (plans().front()->options().SourceDir.empty() || !Source ||
      Source->contains('\n'))
    return R;
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(*Source);
  if (File)
    R.Config["source"] = (*File)->getBuffer().str();
  else
    consumeError(File.takeError()); // becomes the result
  return R;
}

Expected<PairedEvaluation>
LocalFarm::comparePaired(ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
                         function_ref<bool()> Stop) {
  std::vector<EvaluationRequest> All;
  for (const EvaluationRequest &R : Requests)
    All.push_back(withText(R));
  return TheCoordinator.comparePaired(All, Rounds, Stop);
}

Error LocalFarm::startWorkers(const FarmOptions &Options,
                              const ReplayOptions &Base) {
  MappedFiles Files;
  Expected<RemoteStudy> Study =
      makeRemoteStudy(Options.Database, Base, plans(), Files);
  if (!Study)
    return Study.takeError();
  Study->CompileTimeout = Options.CompileTimeout;
  Study->LaunchTimeout = Options.LaunchTimeout;
  RemoteWorkersOptions O;
  O.Workers = Options.Workers;
  O.SilenceSeconds = Options.SilenceSeconds.value_or(O.SilenceSeconds);
  O.Message = Options.Message;
  O.Note = Options.Note;
  Nodes = std::make_unique<RemoteWorkers>(std::move(O), std::move(*Study),
                                          std::move(Files));
  TheCoordinator.setOutside(Nodes.get());
  return Error::success();
}

/// Determines, once for all run processes, which memory to poison and how the
/// recorded results vary.
static Expected<std::vector<VerificationPower>>
prepareAll(MutableArrayRef<std::unique_ptr<ReplayPlan>> Plans,
           StringRef Device) {
  std::vector<VerificationPower> Powers(Plans.size());
  for (auto [Plan, Power] : zip_equal(Plans, Powers)) {
    Expected<std::unique_ptr<ReplayPlan>> Prepared =
        prepareIsolated(*Plan, Device, Power);
    if (!Prepared)
      return Prepared.takeError();
    Plan = std::move(*Prepared);
  }
  return Powers;
}

Expected<std::unique_ptr<LocalFarm>> LocalFarm::create(FarmOptions Options) {
  ReplayOptions Base = makeBase(std::move(Options.Base));
  if (Error E = loadControls(Base.PtxasControls).moveInto(Base.PtxasControls))
    return std::move(E);
  std::vector<std::string> Ids = Options.RecordIds;
  if (Ids.empty())
    Ids.push_back(Base.RecordId);
  // Before the fork, so that all compile processes have the compiled prefix.
  auto Sources = std::make_shared<SourceCompiler>();
  if (!Base.SourceDir.empty())
    if (Error E = Sources->prepare(Base.SourceDir))
      return std::move(E);
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  for (const std::string &Id : Ids) {
    ReplayOptions O = Base;
    O.RecordId = Id;
    Expected<std::unique_ptr<ReplayPlan>> Plan =
        ReplayPlan::create(Options.Database, std::move(O), Sources);
    if (!Plan)
      return Plan.takeError();
    Plans.push_back(std::move(*Plan));
  }
  bool IsGPU = false;
  Expected<FarmConfig> Config = makeFarmConfig(Options, *Plans.front(), IsGPU);
  if (!Config)
    return Config.takeError();
  if (Config->Devices.empty() && Options.Workers.empty())
    return createStringError("no device, and no workers: give --device or "
                             "--hosts");
  Config->Executes = Base.Execute;
  Config->StageTimeout = Base.Timeout;
  CodeTarget Target = !Base.Execute ? CodeTarget::None
                      : IsGPU       ? CodeTarget::GPU
                                    : CodeTarget::Host;
  if (IsGPU)
    if (Error E = checkPTXCompiler(Base.Assembler, Base.CudaPath, Base.Ptxas))
      return std::move(E);
  std::vector<VerificationPower> Powers(Plans.size());
  if (Base.Execute && Base.Verify && !Config->Devices.empty())
    if (Error E = prepareAll(Plans, Config->Devices.front()).moveInto(Powers))
      return std::move(E);
  auto Backend =
      std::make_unique<ReplayBackend>(Base, std::move(Plans), Target);
  std::unique_ptr<LocalFarm> Farm(
      new LocalFarm(std::move(Backend), std::move(*Config)));
  Farm->Powers = std::move(Powers);
  Farm->Controls = std::move(Options.Controls);
  if (!Options.Workers.empty())
    if (Error E = Farm->startWorkers(Options, Base))
      return std::move(E);
  Farm->TheCoordinator.start();
  return std::move(Farm);
}

Expected<std::unique_ptr<ReplayFarm>> ReplayFarm::create(FarmOptions Options) {
  Expected<std::unique_ptr<LocalFarm>> Farm =
      LocalFarm::create(std::move(Options));
  if (!Farm)
    return Farm.takeError();
  return std::move(*Farm);
}

std::string mneme::getFirstDevice(const ReplayFarm &Farm) {
  json::Object Description = Farm.describe();
  if (const json::Array *Devices = Description.getArray("devices"))
    for (const json::Value &V : *Devices)
      if (const json::Object *D = V.getAsObject())
        return D->getString("device").value_or("host").str();
  return "host";
}
