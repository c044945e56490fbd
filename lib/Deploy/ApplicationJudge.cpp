//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/ApplicationJudge.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// ApplicationJudge
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<ApplicationJudge>>
ApplicationJudge::create(ApplicationOptions O) {
  std::unique_ptr<ApplicationJudge> J(new ApplicationJudge);
  std::string Program = O.Command.front();
  if (Error E = Application::create(std::move(O)).moveInto(J->App))
    return std::move(E);
  if (ErrorOr<std::string> Path = sys::findProgramByName(Program)) {
    // Only an executable with -fgpu-rdc is needed: the command may be a script.
    Expected<std::vector<ApplicationKernel>> All = readApplication(*Path);
    if (All)
      J->Kernels = std::move(*All);
    else
      consumeError(All.takeError());
  }
  return J;
}

Expected<ApplicationVerdict> ApplicationJudge::run(const TunedPackage &P) {
  std::string Path = App->pathOf("candidate.mneme");
  if (Error E = writePackage(Path, P))
    return std::move(E);
  RunSettings S;
  S.Packages = {Path};
  S.Serve.Scope = "kernel";
  S.Serve.LaunchShape = "unproven";
  S.Serve.Code = "unproven";
  ++NumRuns;
  Expected<ApplicationRun> R = App->run(S);
  if (!R)
    return R.takeError();
  ApplicationVerdict V;
  // A process that died could not report.
  if (R->Use.Served == 0 && !(R->hasFailed() && R->Use.NumReports == 0)) {
    V.Failure = FailureKind::Invalid;
    V.Error = "no launch of the application was served: " + R->Use.explain();
    return V;
  }
  if (Error E = App->compare(*R).moveInto(V.Error))
    return std::move(E);
  if (!V.Error.empty())
    V.Failure = FailureKind::Mismatch;
  return V;
}

Expected<TunedPackage>
ApplicationJudge::pack(const ReplayPlan &Base,
                       const json::Object &Config) const {
  ReplayOptions Options = Base.options();
  if (Error E = applySide(Config, Options))
    return std::move(E);
  Expected<std::unique_ptr<ReplayPlan>> Plan = Base.vary(std::move(Options));
  if (!Plan)
    return Plan.takeError();
  Expected<PackagedKernel> K = packCandidate(**Plan, isOnHost());
  if (!K)
    return K.takeError();
  TunedPackage P;
  updatePackage(P, std::move(*K));
  addLinks(P, Kernels);
  return P;
}

Expected<ApplicationVerdict> ApplicationJudge::judge(const ReplayPlan &Base,
                                                     const json::Object &Config,
                                                     bool Anew) {
  ApplicationVerdict V;
  Expected<TunedPackage> P = pack(Base, Config);
  if (!P) {
    V.Failure = P.errorIsA<PackRefusal>() ? FailureKind::Unsupported
                                          : FailureKind::CompileError;
    V.Error = toString(P.takeError());
    return V;
  }
  Expected<std::string> Bytes = packageBytes(*P);
  if (!Bytes)
    return Bytes.takeError();
  std::string Key = toHexString(digest128(*Bytes));
  if (auto Same = Known.find(Key); Same != Known.end() && !Anew)
    return Same->second;
  if (Error E = run(*P).moveInto(V))
    return std::move(E);
  V.CodeHash =
      toHexString(digest128(P->Kernels.front().Variants.front().Image));
  Known[Key] = V;
  return V;
}

//===----------------------------------------------------------------------===//
// ApplicationEvaluator
//===----------------------------------------------------------------------===//

Error ApplicationEvaluator::submit(EvaluationRequest Request) {
  Queue.push_back(std::move(Request));
  return Error::success();
}

Expected<std::vector<Evaluation>> ApplicationEvaluator::wait(double) {
  if (Queue.empty())
    return std::vector<Evaluation>();
  EvaluationRequest R = std::move(Queue.front());
  Queue.pop_front();
  Evaluation V;
  V.Id = R.Id;
  V.Started = epochSeconds();
  Expected<ApplicationVerdict> Verdict = J.judge(Plan, R.Config, R.Fresh);
  if (!Verdict)
    return Verdict.takeError();
  // To go on would mean to judge the application's own code.
  if (Verdict->Failure == FailureKind::Invalid)
    return createStringError(Verdict->Error);
  V.Failure = Verdict->Failure;
  V.Error = Verdict->Error;
  V.CodeHash = Verdict->CodeHash;
  V.Ended = epochSeconds();
  V.RunSeconds = V.Ended - V.Started;
  std::vector<Evaluation> Results;
  Results.push_back(std::move(V));
  return Results;
}

Expected<PairedEvaluation>
ApplicationEvaluator::comparePaired(ArrayRef<EvaluationRequest>, unsigned,
                                    function_ref<bool()>) {
  return createStringError("an application judges results, not times");
}

std::vector<uint64_t> ApplicationEvaluator::cancel() {
  std::vector<uint64_t> Ids;
  for (const EvaluationRequest &R : Queue)
    Ids.push_back(R.Id);
  Queue.clear();
  return Ids;
}

json::Object ApplicationEvaluator::describe() const {
  return json::Object{
      {"devices",
       json::Array{json::Object{{"device", J.isOnHost() ? "host" : "cuda"}}}}};
}

//===----------------------------------------------------------------------===//
// JudgedEvaluator
//===----------------------------------------------------------------------===//

Error JudgedEvaluator::begin() {
  for (const std::unique_ptr<ReplayPlan> &Plan : Plans) {
    Expected<ApplicationVerdict> V = J.judge(*Plan, {});
    if (!V)
      return V.takeError();
    if (!V->Failure.empty())
      return createStringError(
          "the application does not accept the recorded configuration: " +
          V->Error);
  }
  return Error::success();
}

Error JudgedEvaluator::submit(EvaluationRequest Request) {
  if (!Waiting.empty()) {
    Held.push_back(std::move(Request));
    return Error::success();
  }
  UnderWay[Request.Id] = Request;
  return E.submit(std::move(Request));
}

/// Such code was judged by begin(), or is the application's.
static bool isBaseline(const EvaluationRequest &R) {
  return R.Config.empty() || R.AppCode;
}

/// Returns true for a candidate that is faster than all accepted ones.
bool JudgedEvaluator::mustJudge(const Evaluation &V) const {
  auto It = UnderWay.find(V.Id);
  if (It == UnderWay.end() || !V.Failure.empty() || V.Stopped ||
      V.Samples.empty() || isBaseline(It->second))
    return false;
  double Limit = Fastest[It->second.Instance];
  return Limit == 0 || summarize(V.Samples).Median < Limit;
}

/// Appends the judged results.
Error JudgedEvaluator::judgeWaiting(std::vector<Evaluation> &Results) {
  for (auto &[Request, V] : Waiting) {
    double Time = summarize(V.Samples).Median,
           &Limit = Fastest[Request.Instance];
    Expected<ApplicationVerdict> Verdict =
        J.judge(*Plans[Request.Instance], Request.Config);
    if (!Verdict)
      return Verdict.takeError();
    V.Failure = Verdict->Failure;
    V.Error = Verdict->Error;
    if (V.Failure.empty() && (Limit == 0 || Time < Limit))
      Limit = Time;
    Results.push_back(std::move(V));
  }
  Waiting.clear();
  while (!Held.empty()) {
    EvaluationRequest R = std::move(Held.front());
    Held.pop_front();
    if (Error Lost = submit(std::move(R)))
      return Lost;
  }
  return Error::success();
}

Expected<std::vector<Evaluation>> JudgedEvaluator::wait(double Seconds) {
  Expected<std::vector<Evaluation>> Some = E.wait(Seconds);
  if (!Some)
    return Some;
  std::vector<Evaluation> Results;
  for (Evaluation &V : *Some) {
    bool Must = mustJudge(V);
    auto It = UnderWay.find(V.Id);
    // The first incumbent is the baseline.
    if (It != UnderWay.end() && isBaseline(It->second) && !V.Samples.empty())
      if (double &Limit = Fastest[It->second.Instance]; Limit == 0)
        Limit = summarize(V.Samples).Median;
    if (Must)
      Waiting.push_back({std::move(It->second), std::move(V)});
    else
      Results.push_back(std::move(V));
    if (It != UnderWay.end())
      UnderWay.erase(It);
  }
  if (UnderWay.empty() && !Waiting.empty())
    if (Error Lost = judgeWaiting(Results))
      return std::move(Lost);
  return Results;
}

Expected<PairedEvaluation>
JudgedEvaluator::comparePaired(ArrayRef<EvaluationRequest> Requests,
                               unsigned Rounds, function_ref<bool()> Stop) {
  for (const EvaluationRequest &R : Requests) {
    if (isBaseline(R))
      continue;
    Expected<ApplicationVerdict> V = J.judge(*Plans[R.Instance], R.Config);
    if (!V)
      return V.takeError();
    if (V->Failure.empty())
      continue;
    PairedEvaluation Failed;
    Failed.Id = R.Id;
    Failed.Failure = V->Failure;
    Failed.Error = V->Error;
    return Failed;
  }
  return E.comparePaired(Requests, Rounds, Stop);
}

std::vector<uint64_t> JudgedEvaluator::cancel() {
  std::vector<uint64_t> Ids = E.cancel();
  for (uint64_t Id : Ids)
    UnderWay.erase(Id);
  for (const EvaluationRequest &R : Held)
    Ids.push_back(R.Id);
  Held.clear();
  return Ids;
}
