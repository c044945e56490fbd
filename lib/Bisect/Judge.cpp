//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Judge.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Criteria
//===----------------------------------------------------------------------===//

namespace {
struct ShortName {
  StringLiteral Short, Metric;
};
} // namespace

static constexpr ShortName ShortNames[] = {
    {"regs", "reg_usage"},
    {"size", "code_size"},
    {"local", "local_mem_usage"},
    {"shared", "shared_mem_usage"},
};

Expected<Criterion> Criterion::parse(StringRef Name, double Threshold) {
  Criterion C;
  C.Threshold = Threshold;
  if (Name == "verify")
    return C;
  for (const ShortName &S : ShortNames)
    if (Name == S.Short)
      Name = S.Metric;
  if (Name == "compile_time")
    return createStringError(
        "compile_time cannot be bisected: equal code is compiled once; "
        "list-passes shows the time of each pass");
  if (std::optional<Direction> BetterWhen = getMetricDirection(Name)) {
    C.Metric = Name.str();
    C.Maximize = *BetterWhen == Direction::Maximize;
    return C;
  }
  return createStringError(formatv("unknown criterion '{0}': expected one of "
                                   "verify, regs, size, local, shared, {1}",
                                   Name, join(getMetricNames(), ", "))
                               .str());
}

//===----------------------------------------------------------------------===//
// Evaluations
//===----------------------------------------------------------------------===//

/// How often a job is submitted again because its worker was lost.
static constexpr unsigned MaxLosses = 3;

static std::string printConfig(const json::Object &Config) {
  return formatv("{0}", json::Value(json::Object(Config))).str();
}

/// Returns a key that is the same for equal code with equal launch
/// configurations.
static std::string makeCodeKey(StringRef CodeHash, const json::Object &Config) {
  json::Object Launch;
  for (const auto &[Key, Value] : Config)
    if (isLaunchField(Key))
      Launch[Key] = Value;
  return (CodeHash + "\n" + printConfig(Launch)).str();
}

EvaluationRequest Judge::makeRequest(const json::Object &Config) {
  EvaluationRequest R;
  R.Id = NextId++;
  R.Config = Config;
  R.LaunchTimeout = LaunchLimit;
  R.Fresh = !O.Reuse;
  R.OwnProcess = OwnProcesses;
  return R;
}

/// Makes a request with a compilation of its own. It also has a launch of its
/// own if the same code may be good or bad.
EvaluationRequest Judge::makeReplay(const json::Object &Config) {
  EvaluationRequest R = makeRequest(Config);
  R.Attempt = NextAttempt++;
  R.Fresh |= Rerun;
  return R;
}

/// Returns the evaluations of all requests, in order.
Expected<std::vector<Evaluation>>
Judge::evaluate(std::vector<EvaluationRequest> Requests) {
  std::vector<Evaluation> Results(Requests.size());
  std::map<uint64_t, size_t> Index;
  std::vector<unsigned> Losses(Requests.size(), 0);
  size_t Next = 0;
  for (auto [I, R] : enumerate(Requests))
    Index[R.Id] = I;
  size_t UnderWay = 0, Done = 0;
  while (Done != Requests.size()) {
    for (; Next != Requests.size() && UnderWay < width(); ++Next, ++UnderWay)
      if (Error Lost = E.submit(Requests[Next]))
        return std::move(Lost);
    Expected<std::vector<Evaluation>> Some = E.wait(1);
    if (!Some)
      return Some.takeError();
    for (Evaluation &V : *Some) {
      auto It = Index.find(V.Id);
      if (It == Index.end())
        continue;
      size_t I = It->second;
      if (V.Failure == FailureKind::WorkerLost && ++Losses[I] <= MaxLosses) {
        if (Error Lost = E.submit(Requests[I]))
          return std::move(Lost);
        continue;
      }
      --UnderWay;
      ++Done;
      Counts.Compilations += V.DuplicateKind != Duplicate::Config;
      Counts.Duplicates += V.DuplicateKind != Duplicate::None &&
                           V.DuplicateKind != Duplicate::Config;
      Counts.Launches +=
          V.DuplicateKind == Duplicate::None && !V.CodeHash.empty() &&
          !needsResources(O.What.Metric); // computed from the code alone
      Results[I] = std::move(V);
    }
  }
  return Results;
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

Judgement Judge::judgeVerdict(const Evaluation &V) const {
  Judgement J;
  J.Failure = V.Failure;
  J.Error = V.Error;
  J.Metrics = V.Metrics;
  J.CodeHash = V.CodeHash;
  J.Replays = 1;
  if (V.Failure.empty()) {
    J.A = Answer::Good;
  } else if (V.Failure == BadFailure) {
    J.A = Answer::Bad;
    J.Failures = 1;
  }
  return J;
}

void Judge::judgeValue(Judgement &J) const {
  J.A = Answer::Unresolved;
  auto It = J.Metrics.find(O.What.Metric);
  if (It == J.Metrics.end())
    return;
  double Value = It->second, Reference = *Good.Value;
  J.Value = Value;
  J.A = O.What.isWorse(Value, Reference) ? Answer::Bad : Answer::Good;
  if (Reference > 0) {
    double Ratio = Value / Reference;
    J.Ratio = RatioEstimate{Ratio, Ratio, Ratio};
  }
}

void Judge::accept(double Value) {
  O.What.Accepted = Value;
  for (auto &[Config, J] : Known)
    judgeValue(J);
}

Error Judge::measure(const json::Object &Config, Judgement &J) {
  J.A = Answer::Unresolved;
  if (!J.Failure.empty())
    return Error::success();
  auto Time = J.Metrics.find(O.What.Metric);
  if (Time != J.Metrics.end())
    J.Value = Time->second;
  std::string Key = makeCodeKey(J.CodeHash, Config);
  auto Same = ByCode.find(Key);
  if (O.Reuse && Same != ByCode.end() && !J.CodeHash.empty()) {
    J.A = Same->second.A;
    J.Ratio = Same->second.Ratio;
    J.Certain = Same->second.Certain;
    return Error::success();
  }
  std::vector<double> Reference, Candidate;
  double Limit = 1 + O.What.Threshold;
  for (unsigned Rounds = O.FirstRounds;; Rounds = Reference.size()) {
    EvaluationRequest Pair[] = {makeRequest(GoodConfig), makeRequest(Config)};
    for (EvaluationRequest &R : Pair)
      R.Fresh = true;
    Expected<PairedEvaluation> P = E.comparePaired(Pair, Rounds);
    if (!P)
      return P.takeError();
    if (!P->Failure.empty() || P->Samples.size() != 2 ||
        P->Samples[0].empty()) {
      J.Failure = P->Failure;
      J.Error = P->Error;
      return Error::success();
    }
    append_range(Reference, P->Samples[0]);
    append_range(Candidate, P->Samples[1]);
    Counts.Rounds += P->Samples[0].size();
    J.Ratio = estimatePairedRatio(Candidate, Reference);
    J.Certain = J.Ratio->Low > Limit || J.Ratio->High <= Limit;
    if (J.Certain || Reference.size() >= O.MaxRounds)
      break;
  }
  J.A = J.Ratio->Value > Limit ? Answer::Bad : Answer::Good;
  ByCode.try_emplace(Key, J);
  return Error::success();
}

Expected<Judgement> Judge::judge(const json::Object &Config,
                                 const Evaluation &V) {
  Judgement J = judgeVerdict(V);
  if (O.What.isTime()) {
    if (Error Lost = measure(Config, J))
      return std::move(Lost);
  } else if (!O.What.isVerify()) {
    judgeValue(J);
  }
  return J;
}

//===----------------------------------------------------------------------===//
// Random faults
//===----------------------------------------------------------------------===//

/// Returns the lower bound of the one-sided 90 % Wilson confidence interval of
/// the fraction \p Count / \p Of.
static double getLowerBound(double Count, double Of) {
  constexpr double Z = 1.2816;
  double P = Count / Of;
  double Center = P + Z * Z / (2 * Of);
  double Half = Z * std::sqrt(P * (1 - P) / Of + Z * Z / (4 * Of * Of));
  return std::max((Center - Half) / (1 + Z * Z / Of), 0.0);
}

/// Limit of replays per configuration; rarer faults are not worth bisecting.
static constexpr unsigned MaxRepeats = 500;

/// Sets the bad side's failure, failure rate and number of repeats from its
/// replays \p All.
void Judge::noteRandomness(ArrayRef<Evaluation> All) {
  std::map<FailureKind, unsigned> Failures;
  std::map<std::string, std::set<FailureKind>> OfCode;
  std::set<std::string> Codes;
  for (const Evaluation &V : All) {
    if (!V.Failure.empty())
      ++Failures[V.Failure];
    Codes.insert(V.CodeHash);
    if (!V.CodeHash.empty())
      OfCode[V.CodeHash].insert(V.Failure);
  }
  if (Failures.empty())
    return;
  auto Most = llvm::max_element(Failures, [](const auto &A, const auto &B) {
    return A.second < B.second;
  });
  BadFailure = Most->first;
  Rate = double(Most->second) / All.size();
  Rerun = any_of(OfCode, [](const auto &C) { return C.second.size() > 1; });
  if (Rate == 1 && Codes.size() == 1) {
    Repeats = 1;
    return;
  }
  setRepeats(Most->second, All.size());
}

void Judge::setRepeats(double Failures, double Of) {
  double Least = getLowerBound(Failures, Of);
  double Wanted = std::ceil(std::log(1 - O.Sure) / std::log(1 - Least));
  Repeats = std::clamp<double>(Wanted, 2, MaxRepeats);
}

/// Replays until \p All has \p Replays results.
Error Judge::sample(const json::Object &Config, unsigned Replays,
                    std::vector<Evaluation> &All) {
  std::vector<EvaluationRequest> Requests;
  while (All.size() + Requests.size() < Replays) {
    Requests.push_back(makeReplay(Config));
    Requests.back().Fresh = true;
  }
  Expected<std::vector<Evaluation>> More = evaluate(std::move(Requests));
  if (!More)
    return More.takeError();
  append_range(All, std::move(*More));
  return Error::success();
}

Error Judge::becomeRandom(const json::Object &Config) {
  OwnProcesses = true;
  std::vector<Evaluation> All;
  if (Error Lost = sample(Config, O.RandomReplays, All))
    return Lost;
  // Count the failure that led here, too.
  double Failures = 1 + count_if(All, [&](const Evaluation &V) {
                      return V.Failure == BadFailure;
                    });
  double Of = All.size() + 1;
  unsigned Before = Repeats;
  setRepeats(Failures, Of);
  Repeats = std::max(Repeats, Before);
  Rate = std::min(Rate, Failures / Of);
  Rerun = true;
  for (auto It = Known.begin(); It != Known.end();)
    It = It->second.A == Answer::Good ? Known.erase(It) : std::next(It);
  return Error::success();
}

/// Repeats good configurations until one of their replays fails or \p Replays
/// have passed.
Error Judge::repeat(MutableArrayRef<Judgement> Judgements,
                    ArrayRef<const json::Object *> Configs, unsigned Replays) {
  auto IsOpen = [&](const Judgement &J) {
    return J.A == Answer::Good && J.Replays < Replays;
  };
  while (any_of(Judgements, IsOpen)) {
    std::vector<EvaluationRequest> Requests;
    std::vector<size_t> Of;
    std::vector<unsigned> Left;
    for (const Judgement &J : Judgements)
      Left.push_back(IsOpen(J) ? Replays - J.Replays : 0);
    while (Requests.size() < width() &&
           any_of(Left, [](unsigned L) { return L != 0; }))
      for (auto [I, L] : enumerate(Left)) {
        if (L == 0 || Requests.size() >= width())
          continue;
        --L;
        Requests.push_back(makeReplay(*Configs[I]));
        Of.push_back(I);
      }
    Expected<std::vector<Evaluation>> Results = evaluate(std::move(Requests));
    if (!Results)
      return Results.takeError();
    for (auto [I, V] : zip_equal(Of, *Results)) {
      Judgement &J = Judgements[I];
      Judgement New = judgeVerdict(V);
      unsigned Total = J.Replays + 1, Failures = J.Failures + New.Failures;
      // Keep the bad side's failure, which decides, over any other.
      if (New.A != Answer::Good && J.A != Answer::Bad)
        J = std::move(New);
      J.Replays = Total;
      J.Failures = Failures;
    }
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The two sides
//===----------------------------------------------------------------------===//

/// "Mismatch: word 3 of ..."
static std::string describe(FailureKind Failure, StringRef Error) {
  return Error.empty() ? Failure.str() : (Failure.name() + ": " + Error).str();
}

/// Sets the launch limit to 100 times the good side's time, at least 5 s,
/// unless the user has set one. Until that time is known, only the evaluator's
/// own limit applies.
void Judge::setLaunchLimit(const Evaluation &V) {
  LaunchLimit = O.LaunchTimeout;
  auto Time = V.Metrics.find("time");
  if (LaunchLimit == 0 && V.Failure.empty() && Time != V.Metrics.end())
    LaunchLimit = std::max(5.0, 100e-9 * Time->second);
}

Expected<Judge::Sides> Judge::begin(const json::Object &GoodSide,
                                    const json::Object &BadSide) {
  GoodConfig = GoodSide;
  BadConfig = BadSide;
  LaunchLimit = O.LaunchTimeout;
  BadFailure = FailureKind();
  Rate = 1;
  Repeats = 1;
  Rerun = false;
  OwnProcesses = O.OwnProcesses;
  Schedules.clear();
  Known.clear();
  Expected<Sides> S = O.What.isVerify() ? beginVerify() : beginMetric();
  if (!S)
    return S.takeError();
  Known[printConfig(GoodConfig)] = Good;
  Known[printConfig(BadConfig)] = Bad;
  Counts.Steps += 2;
  return S;
}

Expected<Judge::Sides> Judge::beginVerify() {
  std::vector<EvaluationRequest> Requests;
  for (unsigned I = 0; I != std::max(O.GoodReplays, 1u); ++I) {
    Requests.push_back(makeReplay(GoodConfig));
    Requests.back().Fresh = true;
  }
  Expected<std::vector<Evaluation>> GoodRuns = evaluate(std::move(Requests));
  if (!GoodRuns)
    return GoodRuns.takeError();
  for (const Evaluation &V : *GoodRuns)
    setLaunchLimit(V);
  std::vector<Evaluation> BadRuns;
  if (Error Lost = sample(BadConfig, std::max(O.Replays, 1u), BadRuns))
    return std::move(Lost);
  noteRandomness(BadRuns);
  // A bad side that verified may still fail, but rarely.
  if (isRandom() || BadFailure.empty() || O.AssumeRandom) {
    // Drop results of reused processes: a replay compiles in its own process.
    if (!std::exchange(OwnProcesses, true))
      BadRuns.clear();
    if (Error Lost = sample(BadConfig, O.RandomReplays, BadRuns))
      return std::move(Lost);
    noteRandomness(BadRuns);
  }
  auto Summarize = [&](ArrayRef<Evaluation> Runs) {
    Judgement Sum;
    for (const Evaluation &V : Runs) {
      Judgement J = judgeVerdict(V);
      unsigned Replays = Sum.Replays + 1;
      unsigned Failures = Sum.Failures + !V.Failure.empty();
      if (Sum.Replays == 0 || (Sum.Failure.empty() && !V.Failure.empty()) ||
          (Sum.A != Answer::Bad && J.A == Answer::Bad))
        Sum = std::move(J);
      Sum.Replays = Replays;
      Sum.Failures = Failures;
    }
    return Sum;
  };
  Good = Summarize(*GoodRuns);
  Bad = Summarize(BadRuns);
  // The good side needs as many passing replays as any other configuration.
  if (isRandom())
    if (Error Lost = repeat(Good, &GoodConfig, Repeats))
      return std::move(Lost);
  if (Good.A != Answer::Good) {
    Text = formatv("{0} of {1} replays: {2}", Good.Failures, Good.Replays,
                   ::describe(Good.Failure, Good.Error));
    return Sides::NotGood;
  }
  if (Bad.A != Answer::Bad) {
    Text = formatv("{0} of {0} replays verify", Bad.Replays);
    return Sides::NotBad;
  }
  return Sides::Ready;
}

Expected<Judge::Sides> Judge::beginMetric() {
  auto Ask = [&](const json::Object &Config) -> Expected<Evaluation> {
    Expected<std::vector<Evaluation>> V = evaluate({makeRequest(Config)});
    if (!V)
      return V.takeError();
    return std::move(V->front());
  };
  Expected<Evaluation> G = Ask(GoodConfig);
  if (!G)
    return G.takeError();
  setLaunchLimit(*G);
  Expected<Evaluation> B = Ask(BadConfig);
  if (!B)
    return B.takeError();
  const std::pair<const Evaluation &, StringRef> Both[] = {{*G, "good"},
                                                           {*B, "bad"}};
  for (const auto &[V, Name] : Both) {
    if (V.Metrics.count(O.What.Metric) &&
        (!O.What.isTime() || V.Failure.empty()))
      continue;
    if (!V.Failure.empty())
      return createStringError(formatv("the {0} side has no {1}: {2}", Name,
                                       O.What.Metric,
                                       ::describe(V.Failure, V.Error))
                                   .str());
    return createStringError(
        formatv("'{0}' is not measured here", O.What.Metric).str());
  }
  Good = judgeVerdict(*G);
  Good.A = Answer::Good;
  Good.Value = G->Metrics.lookup(O.What.Metric);
  Good.Ratio = RatioEstimate();
  if (O.What.isTime())
    ByCode[makeCodeKey(G->CodeHash, GoodConfig)] = Good;
  Expected<Judgement> J = judge(BadConfig, *B);
  if (!J)
    return J.takeError();
  Bad = std::move(*J);
  if (Bad.A == Answer::Bad)
    return Sides::Ready;
  if (Bad.A == Answer::Unresolved)
    return createStringError("the bad side cannot be measured: " +
                             ::describe(Bad.Failure, Bad.Error));
  if (!G->CodeHash.empty() && G->CodeHash == B->CodeHash)
    Text = "both sides have the same machine code";
  else if (O.What.isTime())
    Text = formatv("it takes {0:f3} times as long as the good side, 95 % "
                   "interval {1}",
                   Bad.Ratio->Value, describeInterval(*Bad.Ratio));
  else
    raw_string_ostream(Text)
        << O.What.Metric
        << format(" %g, the good side's %g", *Bad.Value, *Good.Value);
  return Sides::NotBad;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Expected<std::vector<Answer>> Judge::ask(ArrayRef<json::Object> Configs) {
  std::vector<const json::Object *> New;
  std::vector<EvaluationRequest> Requests;
  std::set<std::string> Seen;
  for (const json::Object &C : Configs) {
    std::string Key = printConfig(C);
    if (Known.count(Key) || !Seen.insert(Key).second)
      continue;
    New.push_back(&C);
    Requests.push_back(isRandom() ? makeReplay(C) : makeRequest(C));
  }
  Expected<std::vector<Evaluation>> Results = evaluate(std::move(Requests));
  if (!Results)
    return Results.takeError();
  std::vector<Judgement> Judgements;
  for (auto [C, V] : zip_equal(New, *Results)) {
    Expected<Judgement> J = judge(*C, V);
    if (!J)
      return J.takeError();
    Judgements.push_back(std::move(*J));
  }
  if (isRandom())
    if (Error Lost = repeat(Judgements, New, Repeats))
      return std::move(Lost);
  if (Error Lost = judgeSchedules(Judgements, New))
    return std::move(Lost);
  for (auto [C, J] : zip_equal(New, Judgements)) {
    ++Counts.Steps;
    if (Progress)
      Progress(*C, J);
    Known[printConfig(*C)] = std::move(J);
  }
  std::vector<Answer> Answers;
  for (const json::Object &C : Configs)
    Answers.push_back(get(C).A);
  return Answers;
}

Expected<Answer> Judge::ask(const json::Object &Config) {
  Expected<std::vector<Answer>> Answers = ask(ArrayRef(Config));
  if (!Answers)
    return Answers.takeError();
  return Answers->front();
}

const Judgement &Judge::get(const json::Object &Config) const {
  const Judgement *J = find(Config);
  assert(J && "not judged yet");
  return *J;
}

const Judgement *Judge::find(const json::Object &Config) const {
  auto It = Known.find(printConfig(Config));
  return It == Known.end() ? nullptr : &It->second;
}

Expected<std::vector<Evaluation>>
Judge::tryOut(ArrayRef<json::Object> Configs) {
  std::vector<EvaluationRequest> Requests;
  for (const json::Object &Config : Configs) {
    Requests.push_back(makeRequest(Config));
    Requests.back().Measure = false;
  }
  return evaluate(std::move(Requests));
}

Error Judge::judgeSchedules(MutableArrayRef<Judgement> Judgements,
                            ArrayRef<const json::Object *> Configs) {
  std::vector<json::Object> Others;
  std::vector<std::pair<Judgement *, StringRef>> Of;
  for (auto [J, Config] : zip_equal(Judgements, Configs)) {
    if (J.A != Answer::Good)
      continue;
    for (const std::string &Schedule : Schedules) {
      Others.push_back(*Config);
      Others.back()[ScheduleKey] = Schedule;
      Of.push_back({&J, Schedule});
    }
  }
  Expected<std::vector<Evaluation>> Results = tryOut(Others);
  if (!Results)
    return Results.takeError();
  for (auto [JudgementAndSchedule, V] : zip_equal(Of, *Results)) {
    auto [J, Schedule] = JudgementAndSchedule;
    Judgement New = judgeVerdict(V);
    if (New.A == Answer::Good || J->A == Answer::Bad)
      continue;
    New.Replays = J->Replays;
    New.Failures = J->Failures + New.Failures;
    New.Schedule = Schedule.str();
    *J = std::move(New);
  }
  return Error::success();
}

Expected<std::vector<Evaluation>> Judge::replayAnew(const json::Object &Config,
                                                    unsigned Replays) {
  std::vector<Evaluation> All;
  if (Error Lost = sample(Config, Replays, All))
    return std::move(Lost);
  return All;
}

Expected<Judgement> Judge::judgeAnew(const json::Object &Config) {
  if (O.What.isVerify())
    return askAgain(Config, Repeats);
  EvaluationRequest R = makeReplay(Config);
  R.Fresh = true;
  Expected<std::vector<Evaluation>> V = evaluate({R});
  if (!V)
    return V.takeError();
  bool Reused = std::exchange(O.Reuse, false);
  Expected<Judgement> J = judge(Config, V->front());
  O.Reuse = Reused;
  return J;
}

Expected<Judgement> Judge::askAgain(const json::Object &Config,
                                    unsigned Replays) {
  if (!O.What.isVerify()) {
    if (Error Lost = ask(Config).takeError())
      return std::move(Lost);
    const Judgement &Before = get(Config);
    for (unsigned I = 0; I != (O.What.isTime() ? 1 : Replays); ++I) {
      Expected<Judgement> Now = judgeAnew(Config);
      // What is not significant refutes nothing.
      if (!Now ||
          (Now->A != Before.A && Now->A != Answer::Unresolved && Now->Certain))
        return Now;
    }
    return Before;
  }
  EvaluationRequest R = makeReplay(Config);
  R.Fresh = true;
  Expected<std::vector<Evaluation>> First = evaluate({R});
  if (!First)
    return First.takeError();
  Judgement J = judgeVerdict(First->front());
  bool WasRerun = std::exchange(Rerun, true);
  Error Lost = repeat(J, &Config, Replays);
  Rerun = WasRerun;
  if (Lost)
    return std::move(Lost);
  if (Error Lost = judgeSchedules(J, &Config))
    return std::move(Lost);
  return J;
}
