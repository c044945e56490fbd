//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Bisect.h"
#include "ChangeSearch.h"
#include "CounterSearch.h"
#include "PassSearch.h"
#include "ScheduleSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Members of an answer are also tested one by one, unless there are more.
static constexpr unsigned MaxSingles = 16;

/// Schedule seeds to try if the same code fails only sometimes, and if the bad
/// side never fails.
static constexpr unsigned MaxSeedsOfRandom = 48, MaxSeedsOfGood = 16;

/// An answer of more passes says little about a metric.
static constexpr size_t ManyPasses = 4;

/// Number of new searches if the final check refutes the answer.
static constexpr unsigned MaxTries = 3;

namespace {
/// Counts of replays on the host device.
struct HostReplays {
  unsigned Right = 0, Wrong = 0;
  /// The same code was right in one replay and wrong in another.
  bool Wavers = false;
};

class Bisector {
public:
  Bisector(Evaluator &E, const BisectSides &Sides, const BisectSubject &Subject,
           const BisectOptions &O)
      : Sides(Sides), Subject(Subject), O(O), J(E, O.Judge),
        Q(J, O.MaxSteps, Subject.Say) {}

  Expected<BisectOutcome> run();

private:
  BisectSides Sides;
  const BisectSubject &Subject;
  const BisectOptions &O;
  Judge J;
  Questions Q;
  BisectOutcome Out;

  Error begin(Judge::Sides &Begin);
  Error chooseSchedule(Judge::Sides &Begin);
  Error findAll(Judge::Sides Begin);

  // Settings.
  Error findSettings();
  json::Object mix(ArrayRef<std::string> Groups, const BitVector &Bad) const;
  bool actsOnPasses();
  bool hasTwoPipelines() const;
  Error finishSettings();

  // Halves.
  Error findHalf();
  Expected<std::optional<HostReplays>> runOnHost(const json::Object &Config);
  Expected<std::string> findScheduleOnHost();
  void noteOtherHalf();

  // Passes.
  Error findPasses();
  void noteAccepted();
  Error finishPasses(PassSearch &Search);
  Error checkAnswer(const PassSearch &Search,
                    std::optional<json::Object> &Wrong);
  Error checkRunSet(const PassSearch &Search,
                    std::optional<json::Object> &Wrong);
  Error describeCulprits(const PassSearch &Search);
  Error checkRequired();
  Error findRewrites();
  Error findChange();

  // No pass is responsible.
  Error explainFailure(const PassSearch &Search);
  Error listRequired();
  Expected<std::optional<std::pair<PipelineStep, PipelineStep>>>
  findWrongStep(const json::Object &Config,
                function_ref<size_t(ArrayRef<PipelineStep>)> Begin,
                std::vector<PassExecution> &Suspects);
  Error probe();

  std::string noteUnfinished() const {
    return (Q.stopReason() + ": not all of these need be responsible").str();
  }
  /// Number of replays that check an answer or run on the host device.
  unsigned checks() const { return std::max(J.repeats(), O.Judge.GoodReplays); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

/// Groups all fields of the launch configuration: a mixture of two of them need
/// not be valid.
static StringRef getGroup(StringRef Key) {
  return isLaunchField(Key) ? "launch" : Key;
}

static std::vector<std::string> findDifferences(const BisectSides &Sides) {
  std::set<std::string> Keys;
  for (const json::Object *Side : {&Sides.Good, &Sides.Bad})
    for (const auto &KV : *Side) {
      const json::Value *A = Sides.Good.get(KV.first);
      const json::Value *B = Sides.Bad.get(KV.first);
      if (!A || !B || *A != *B)
        Keys.insert(KV.first.str());
    }
  return {Keys.begin(), Keys.end()};
}

/// Returns the good side with the bad side's settings for the groups in \p Bad.
json::Object Bisector::mix(ArrayRef<std::string> Groups,
                           const BitVector &Bad) const {
  json::Object Config = Sides.Good;
  for (const std::string &Key : findDifferences(Sides)) {
    auto Group = llvm::find(Groups, getGroup(Key));
    if (!Bad[Group - Groups.begin()])
      continue;
    if (const json::Value *V = Sides.Bad.get(Key))
      Config[Key] = *V;
    else
      Config.erase(Key);
  }
  return Config;
}

Error Bisector::findSettings() {
  std::vector<std::string> Keys = findDifferences(Sides);
  Out.BadConfig = Sides.Bad;
  if (Sides.GoodIsNoPass)
    return Error::success();
  std::set<std::string> Names;
  for (const std::string &Key : Keys)
    Names.insert(getGroup(Key).str());
  std::vector<std::string> Groups(Names.begin(), Names.end());
  Out.NumSettings = Keys.size();
  BitVector Kept(Groups.size(), true);
  if (Groups.size() > 1) {
    Q.say(formatv("the sides differ in {0} settings", Keys.size()));
    Expected<BitVector> Least =
        minimize(Kept, BitVector(Groups.size()), Answer::Bad, J.width(),
                 [&](ArrayRef<BitVector> Sets) {
                   std::vector<json::Object> Configs;
                   for (const BitVector &Set : Sets)
                     Configs.push_back(mix(Groups, Set));
                   return Q.ask(Configs);
                 });
    if (!Least)
      return Least.takeError();
    Kept = *Least;
  }
  json::Object Mixed = mix(Groups, Kept);
  for (const std::string &Key : Keys) {
    if (!Kept[llvm::find(Groups, getGroup(Key)) - Groups.begin()])
      continue;
    BisectSetting S{Key, std::nullopt, std::nullopt};
    if (const json::Value *V = Sides.Good.get(Key))
      S.Good = *V;
    if (const json::Value *V = Sides.Bad.get(Key))
      S.Bad = *V;
    Out.Settings.push_back(std::move(S));
  }
  // The search selects the passes of the bad configuration itself, so the good
  // side's selection must not be part of it.
  if (!Mixed.get("run_passes") && !Mixed.get("skip_passes"))
    Out.BadConfig = std::move(Mixed);
  std::vector<std::string> Responsible;
  for (const BisectSetting &S : Out.Settings)
    Responsible.push_back(S.Key);
  Q.say("responsible: " + join(Responsible, ", "));
  return Error::success();
}

/// Returns true if a responsible setting affects a pass; sets Reason otherwise.
bool Bisector::actsOnPasses() {
  if (!Subject.ListPasses) {
    Out.Reason = "passes cannot be selected here";
    return false;
  }
  if (Sides.GoodIsNoPass)
    return true;
  bool Acts = false;
  for (const BisectSetting &S : Out.Settings) {
    SettingStage Stage = getSettingStage(S.Key);
    // The host device's own pipeline may expose the mistake of a pass. Its
    // effect on a metric is not a pass's.
    bool MayShow = !isOfHostOnly(S.Key) || J.what().isVerify();
    bool HasPasses = Stage <= SettingStage::CodeGen || S.Key == "llc_tool";
    Acts |= HasPasses && MayShow;
  }
  if (!Acts)
    Out.Reason = "none of the differing settings affects a pass";
  return Acts;
}

/// Returns true if both sides run passes of the same compiler on the same IR.
bool Bisector::hasTwoPipelines() const {
  return !Sides.GoodIsNoPass && none_of(Out.Settings, [](const auto &S) {
    return S.Key == "opt_tool" || S.Key == "llc_tool" || S.Key == "ir";
  });
}

/// Reports settings as the answer if new replays confirm both sides.
Error Bisector::finishSettings() {
  if (J.what().isVerify()) {
    for (auto [Config, Wanted] : {std::pair(&Sides.Good, Answer::Good),
                                  {&Out.BadConfig, Answer::Bad}}) {
      Expected<Judgement> V = J.askAgain(*Config, checks());
      if (!V)
        return V.takeError();
      if (V->A == Wanted)
        continue;
      Out.Reason =
          "the final check did not confirm the answer: " + Q.describeVariance();
      return Error::success();
    }
  }
  if (!Q.complete())
    Out.Notes.push_back(noteUnfinished());
  Out.End = BisectOutcome::FoundSettings;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

/// Replays \p Config checks() times on the host device. Unset: the host device
/// is under test, or cannot run the launch; HalfReason then has the reason.
Expected<std::optional<HostReplays>>
Bisector::runOnHost(const json::Object &Config) {
  HostReplays Replays;
  std::map<std::string, bool> RightOf; // by code
  for (unsigned I = 0; I != checks() && !Replays.Wavers; ++I) {
    Expected<std::optional<Evaluation>> Result = Subject.RunOnHost(Config, I);
    if (!Result)
      return Result.takeError();
    if (!*Result)
      return std::nullopt;
    const Evaluation &V = **Result;
    bool IsRight = V.Failure.empty();
    if (!IsRight && V.Failure != FailureKind::Mismatch &&
        V.Failure != FailureKind::Crash) {
      Out.HalfReason = "the host device cannot tell (" + V.Failure.str() +
                       (V.Error.empty() ? "" : ": " + V.Error) + ")";
      return std::nullopt;
    }
    ++(IsRight ? Replays.Right : Replays.Wrong);
    bool Before = RightOf.try_emplace(V.CodeHash, IsRight).first->second;
    Replays.Wavers = Before != IsRight;
  }
  return Replays;
}

/// Returns the first schedule of the host device under which the bad side is
/// wrong and the good side is right. Empty: none of a few seeds is one.
Expected<std::string> Bisector::findScheduleOnHost() {
  constexpr unsigned NumSeeds = 4;
  for (unsigned Seed = 1; Seed <= NumSeeds; ++Seed) {
    std::string Schedule = HostSchedule{HostSchedule::Random, Seed}.toString();
    FailureKind Failures[2];
    for (auto [Side, Failure] : {std::pair(&Out.BadConfig, &Failures[0]),
                                 {&Sides.Good, &Failures[1]}}) {
      json::Object Config = *Side;
      Config[ScheduleKey] = Schedule;
      Expected<std::optional<Evaluation>> V = Subject.RunOnHost(Config, Seed);
      if (!V)
        return V.takeError();
      if (!*V)
        return std::string();
      *Failure = (*V)->Failure;
    }
    bool IsWrong = Failures[0] == FailureKind::Mismatch ||
                   Failures[0] == FailureKind::Crash;
    if (IsWrong && Failures[1].empty())
      return Schedule;
  }
  return std::string();
}

Error Bisector::findHalf() {
  Out.Half = FaultyHalf::Unknown;
  Out.HalfReason.clear();
  if (!Subject.RunOnHost || !J.what().isVerify())
    return Error::success();
  // If the good side is not good, only the recorded memory defines what is
  // right.
  if (Out.Good.A == Answer::Good) {
    Expected<std::optional<HostReplays>> Good = runOnHost(Sides.Good);
    if (!Good)
      return Good.takeError();
    if (*Good && (*Good)->Wrong)
      Out.HalfReason = "the good side does not verify on the host device";
    if (!*Good || (*Good)->Wrong) {
      if (!Out.HalfReason.empty())
        Q.say(Out.HalfReason);
      return Error::success();
    }
  }
  Expected<std::optional<HostReplays>> Bad = runOnHost(Out.BadConfig);
  if (!Bad)
    return Bad.takeError();
  if (*Bad) {
    auto [Right, Wrong, Wavers] = **Bad;
    std::string Count =
        formatv("{0} of {1} replays", Wrong, Right + Wrong).str();
    std::string Schedule;
    if (Wrong == 0 && Out.Good.A == Answer::Good)
      if (Error E = findScheduleOnHost().moveInto(Schedule))
        return E;
    if (!Schedule.empty()) {
      Out.Half = FaultyHalf::Pipeline;
      Out.HalfReason = "the host device is wrong with the same IR and "
                       "--host-schedule=" +
                       Schedule;
    } else if (Wrong == 0) {
      Out.Half = FaultyHalf::BackEnd;
      Out.HalfReason = "the host device is right with the same IR";
    } else if (Wavers || (Right && !J.isRandom())) {
      Out.HalfReason = "the host device is wrong in " + Count +
                       (Wavers ? " of the same code" : "");
    } else {
      Out.Half = FaultyHalf::Pipeline;
      Out.HalfReason = "the host device is wrong with the same IR";
      if (Right)
        Out.HalfReason += ", in " + Count;
    }
  }
  if (!Out.HalfReason.empty())
    Q.say(Out.HalfReason);
  return Error::success();
}

/// Handles an answer whose culprits all belong to the other half than the one
/// that the host device blames.
void Bisector::noteOtherHalf() {
  if (Out.Half == FaultyHalf::BackEnd) {
    Out.Notes.push_back(
        "no skippable pass of the code generator is responsible: the passes "
        "found may only trigger a fault of the back end");
    return;
  }
  Out.HalfReason += ", but the passes found are the code generator's";
  Out.Half = FaultyHalf::Unknown;
}

//===----------------------------------------------------------------------===//
// None of the passes
//===----------------------------------------------------------------------===//

/// Runs the subject's probes, which test other causes than passes.
Error Bisector::probe() {
  if (!J.what().isVerify())
    return Error::success();
  std::vector<json::Object> Configs;
  for (const BisectProbe &P : Subject.Probes) {
    json::Object Config = Out.BadConfig;
    for (const auto &KV : P.Config)
      Config[KV.first] = KV.second;
    Configs.push_back(std::move(Config));
  }
  Expected<std::vector<Answer>> Answers = Q.ask(Configs);
  if (!Answers)
    return Answers.takeError();
  for (auto [P, A] : zip_equal(Subject.Probes, *Answers))
    if (A == Answer::Good)
      Out.Blamed.push_back(P.Blames);
  return Error::success();
}

/// Returns the points before and behind the execution that makes the IR wrong
/// in the pipeline of \p Config. Unset: it is not known, because the IR at \p
/// Begin is not good or that at the end not bad. All members of \p Suspects are
/// required executions that may be the one.
/// \param Begin  chooses the first point.
Expected<std::optional<std::pair<PipelineStep, PipelineStep>>>
Bisector::findWrongStep(const json::Object &Config,
                        function_ref<size_t(ArrayRef<PipelineStep>)> Begin,
                        std::vector<PassExecution> &Suspects) {
  if (!Subject.TakeSteps)
    return std::nullopt;
  Expected<std::vector<PipelineStep>> All = Subject.TakeSteps(Config);
  if (!All) {
    consumeError(All.takeError()); // the answer is valid without it
    return std::nullopt;
  }
  auto Steps = ArrayRef(*All).drop_front(Begin(*All));
  for (const PipelineStep &S : drop_begin(Steps))
    if (S.Execution.Required)
      Suspects.push_back(S.Execution);
  if (Suspects.empty())
    return std::nullopt;
  auto Ask = [&](ArrayRef<size_t> Positions) {
    std::vector<json::Object> Configs;
    for (size_t Position : Positions)
      Configs.push_back(Steps[Position].Config);
    return Q.ask(Configs);
  };
  size_t Last = Steps.size() - 1;
  Expected<std::vector<Answer>> Ends = Ask({0, Last});
  if (!Ends)
    return Ends.takeError();
  if ((*Ends)[0] != Answer::Good || (*Ends)[1] != Answer::Bad)
    return std::nullopt;
  Expected<Boundary> B = findBoundary(Last, J.width(), Ask);
  if (!B)
    return B.takeError();
  Suspects.clear();
  for (size_t I = B->LastGood + 1; I <= B->FirstBad; ++I)
    if (Steps[I].Execution.Required)
      Suspects.push_back(Steps[I].Execution);
  if (B->FirstBad - B->LastGood > 1)
    return std::nullopt;
  return std::pair(Steps[B->LastGood], Steps[B->FirstBad]);
}

/// Finds the required execution that is wrong if all others are skipped, or
/// lists those that change something.
Error Bisector::listRequired() {
  if (!J.what().isVerify() || !Subject.ListPasses)
    return Error::success();
  json::Object Config = Out.BadConfig;
  Config["run_passes"] = "none";
  Expected<PassListing> L = Subject.ListPasses(Config);
  if (!L)
    return L.takeError();
  for (const PassExecution &E : L->Executions)
    if (E.Required && E.Ran && E.Changed == true)
      Out.Required.push_back(E);
  if (!L->Failure.empty() && !L->Executions.empty() &&
      L->Executions.back().Required)
    Out.Required = {L->Executions.back()};
  if (!L->Failure.empty() || J.isRandom())
    return Error::success();
  std::vector<PassExecution> Suspects;
  if (Error E = findWrongStep(
                    Config, [](ArrayRef<PipelineStep>) { return 0; }, Suspects)
                    .moveInto(Out.WrongStep))
    return E;
  if (Out.WrongStep)
    Out.Required = {Out.WrongStep->second.Execution};
  return Error::success();
}

static std::string getRemainder(FaultyHalf Half) {
  if (Half == FaultyHalf::BackEnd)
    return "required passes of the code generator, its passes that ignore "
           "opt-bisect, and the assembler";
  return "required passes, specialization, the code generator's passes that "
         "ignore opt-bisect, the assembler, and the IR itself";
}

Error Bisector::explainFailure(const PassSearch &Search) {
  if (!Q.complete()) {
    Out.Reason = Q.stopReason().str();
    return Error::success();
  }
  if (J.what().isVerify() && Search.withoutAny() == Answer::Bad)
    Out.Reason = "no skippable pass is responsible; what remains are " +
                 getRemainder(Out.Half);
  else
    Out.Reason = "no set of skipped passes makes it good";
  if (Error E = listRequired())
    return E;
  return probe();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Checks that RunSet is minimal: no proper subset may be bad. \p Wrong gets a
/// subset that is.
Error Bisector::checkRunSet(const PassSearch &Search,
                            std::optional<json::Object> &Wrong) {
  if (!J.what().isVerify() || Out.RunSet.size() > MaxSingles)
    return Error::success();
  BitVector Whole = Search.makeSet(Out.RunSet);
  for (unsigned Number : Out.RunSet) {
    json::Object Config = Search.withRun(BitVector(Whole).reset(Number));
    Expected<Judgement> Rest = J.askAgain(Config, checks());
    if (!Rest)
      return Rest.takeError();
    if (Rest->A != Answer::Bad)
      continue;
    Wrong = std::move(Config);
    break;
  }
  return Error::success();
}

/// Checks the claims of the answer with new replays. \p Wrong gets the first
/// configuration with another result than before.
Error Bisector::checkAnswer(const PassSearch &Search,
                            std::optional<json::Object> &Wrong) {
  if (Out.SpoiledConfig) {
    Expected<Judgement> Spoiled = J.askAgain(*Out.SpoiledConfig, checks());
    if (!Spoiled)
      return Spoiled.takeError();
    Out.Smallest = std::move(*Spoiled);
    if (Out.Smallest.A != Answer::Bad)
      Wrong = *Out.SpoiledConfig;
    return Error::success();
  }
  Expected<Judgement> Healed = J.askAgain(*Out.HealedConfig, checks());
  if (!Healed)
    return Healed.takeError();
  Out.Healed = std::move(*Healed);
  if (Out.Healed.A != Answer::Good)
    Wrong = *Out.HealedConfig;
  if (!Out.SmallestConfig)
    return Error::success();
  Expected<Judgement> Smallest = J.askAgain(*Out.SmallestConfig, checks());
  if (!Smallest)
    return Smallest.takeError();
  Out.Smallest = std::move(*Smallest);
  // The printed commands need the schedule that made it fail.
  if (!Out.Smallest.Schedule.empty())
    (*Out.SmallestConfig)[ScheduleKey] = Out.Smallest.Schedule;
  if (Out.Smallest.A != Answer::Bad && !Wrong)
    Wrong = *Out.SmallestConfig;
  return Wrong ? Error::success() : checkRunSet(Search, Wrong);
}

/// Describes the executions of both sets and skips each alone.
Error Bisector::describeCulprits(const PassSearch &Search) {
  // The cause heads the list, even if the fault shows only behind an earlier
  // execution.
  std::vector<unsigned> Numbers = Out.SkipSet;
  copy_if(Out.RunSet, std::back_inserter(Numbers),
          [&](unsigned N) { return !is_contained(Out.SkipSet, N); });
  std::vector<json::Object> Alone;
  if (Numbers.size() <= MaxSingles && !Out.PrefixOnly)
    for (unsigned Number : Numbers)
      Alone.push_back(Search.withSkip(Search.makeSet(Number)));
  Expected<std::vector<Answer>> Answers = Q.ask(Alone);
  if (!Answers)
    return Answers.takeError();
  for (unsigned Wanted : Numbers) {
    const std::vector<PassExecution> &All = Search.listing().Executions;
    auto It = find_if(
        All, [&](const PassExecution &E) { return E.Number == Wanted; });
    if (It == All.end())
      continue;
    const PassExecution &E = *It;
    BisectCulprit C;
    C.Execution = E;
    C.InRunSet = is_contained(Out.RunSet, E.Number);
    C.InSkipSet = is_contained(Out.SkipSet, E.Number);
    C.IsExploiter = C.InRunSet && !C.InSkipSet && Out.SkipSet.size() == 1 &&
                    E.Number > Out.SkipSet.front();
    for (auto [Number, A] : zip(Numbers, *Answers))
      if (Number == E.Number && A != Answer::Unresolved)
        C.HealsAlone = A == Answer::Good;
    Q.say(formatv("execution {0}: {1} on {2}", E.Number, E.Pass, E.Unit));
    Out.Culprits.push_back(std::move(C));
  }
  return Error::success();
}

/// Checks that an execution of the smallest set makes the IR wrong. They may
/// also make the input of a required execution, which is the one.
Error Bisector::checkRequired() {
  if (!J.what().isVerify() || J.isRandom() || !Q.complete() || Out.PrefixOnly ||
      !Out.SmallestConfig || Out.RunSet.empty() ||
      Out.Smallest.CodeHash.empty() ||
      any_of(Out.Culprits, [](const BisectCulprit &C) {
        return C.Execution.Stage == PassStage::CodeGen;
      }))
    return Error::success();
  auto BeforeCulprits = [&](ArrayRef<PipelineStep> Steps) -> size_t {
    auto It = find_if(Steps, [&](const PipelineStep &S) {
      return is_contained(Out.RunSet, S.Execution.Number);
    });
    return It == Steps.end() ? Steps.size() - 1 : It - Steps.begin() - 1;
  };
  if (Error E = findWrongStep(*Out.SmallestConfig, BeforeCulprits, Out.Required)
                    .moveInto(Out.WrongStep))
    return E;
  if (Out.WrongStep && !Out.WrongStep->second.Execution.Required)
    Out.WrongStep.reset();
  if (!Out.WrongStep)
    return Error::success();
  Out.Required.clear();
  ChangeKind Kind = ChangeKind::Code;
  if (Subject.ClassifyChange && Out.SkipSet.size() == 1)
    if (Error E =
            Subject
                .ClassifyChange(Out.BadConfig, Out.Culprits.front().Execution)
                .moveInto(Kind))
      return E;
  BisectCulprit C;
  C.Execution = Out.WrongStep->second.Execution;
  C.IsExploiter = Kind == ChangeKind::Facts;
  Q.say(formatv("required execution: {0} on {1}", C.Execution.Pass,
                C.Execution.Unit));
  if (C.IsExploiter) {
    Out.Culprits.push_back(std::move(C));
    return Error::success();
  }
  for (BisectCulprit &Other : Out.Culprits)
    Other.IsExploiter = false;
  Out.Culprits.insert(Out.Culprits.begin(), std::move(C));
  return Error::success();
}

/// Searches the rewrites of the blamed executions.
Error Bisector::findRewrites() {
  // The search in an execution takes about as many steps as the search for it.
  static constexpr size_t MaxSearched = 4;
  if (Out.PrefixOnly || !Q.complete() || !Subject.CountRewrites)
    return Error::success();
  const json::Object &Config =
      Out.SmallestConfig ? *Out.SmallestConfig : Out.BadConfig;
  // Others only make the input of the cause.
  bool HasCause = any_of(Out.Culprits, [](const BisectCulprit &C) {
    return C.InRunSet && C.InSkipSet;
  });
  for (const BisectCulprit &C : Out.Culprits) {
    if (Out.Rewrites.size() == MaxSearched || !Q.complete())
      break;
    if (C.Execution.Required || (Out.SmallestConfig && !C.InRunSet) ||
        (HasCause && !C.InSkipSet && !C.IsExploiter))
      continue;
    const PassExecution &E = C.Execution;
    Expected<PassListing> Counted = Subject.CountRewrites(Config, E.Stage);
    if (!Counted) {
      BlamedRewrite None;
      None.Number = E.Number;
      None.Missing = toString(Counted.takeError());
      Out.Rewrites.push_back(std::move(None));
      continue;
    }
    Expected<BlamedRewrite> R = CounterSearch(Q, Config, *Counted).run(E);
    if (!R)
      return R.takeError();
    Out.Rewrites.push_back(std::move(*R));
  }
  return Error::success();
}

/// Searches the changed lines of the IR if the pass has no debug counter.
Error Bisector::findChange() {
  if (!Subject.WithIR || !Q.complete() || !J.what().isVerify() ||
      J.isRandom() || Out.Bad.Failure == FailureKind(Verdict::CompileError) ||
      Out.Rewrites.size() != 1 || Out.Rewrites[0].Missing.empty() ||
      !Out.SmallestConfig)
    return Error::success();
  auto C = find_if(Out.Culprits, [](const auto &C) { return C.InRunSet; });
  // With other IR, executions have other numbers. So this one must be the only
  // one that runs.
  if (C == Out.Culprits.end() || C->Execution.Stage != PassStage::IR ||
      Out.SmallestConfig->getString("run_passes") !=
          std::to_string(C->Execution.Number))
    return Error::success();
  Expected<BlamedChange> Change =
      searchChange(Q, Subject, *Out.SmallestConfig, C->Execution);
  if (!Change)
    return Change.takeError();
  Out.Change = std::move(*Change);
  return Error::success();
}

/// Notes which share of the metric's difference the culprits explain.
void Bisector::noteAccepted() {
  if (!Out.Accepted)
    return;
  double Good = *Out.Good.Value, Bad = *Out.Bad.Value, Now = *Out.Accepted;
  double Share = J.what().Maximize ? Good / Now - 1 : Now / Good - 1;
  std::string Note;
  raw_string_ostream OS(Note);
  OS << format("explains %g of %g: ", std::abs(Bad - Now), std::abs(Bad - Good))
     << J.what().Metric
     << format(" is %g without them, %g on the good side and %g on the bad "
               "side. ",
               Now, Good, Bad)
     << "No set of skipped passes meets the threshold";
  if (std::isfinite(Share))
    OS << "; --threshold=" << printThreshold(Share) << " would accept this";
  Out.Notes.push_back(std::move(Note));
}

Error Bisector::finishPasses(PassSearch &Search) {
  if (Out.SpoiledConfig) {
    if (!Q.complete())
      Out.Notes.push_back(noteUnfinished());
    Out.End = BisectOutcome::FoundMissing;
    return Error::success();
  }
  noteAccepted();
  if (Sides.GoodIsNoPass && !J.what().isVerify() &&
      Out.SkipSet.size() > ManyPasses)
    Out.Notes.push_back("the good side runs no pass that can be skipped, and "
                        "many passes change this metric: compare with another "
                        "pipeline by --good");
  if (Search.isOfOtherHalf())
    noteOtherHalf();
  if (Error E = describeCulprits(Search))
    return E;
  if (Error E = checkRequired())
    return E;
  // Their rewrites only make the input of a required execution.
  if (Out.Culprits.empty() || !Out.Culprits.front().Execution.Required) {
    if (Error E = findRewrites())
      return E;
    if (Error E = findChange())
      return E;
  }
  if (!Q.complete())
    Out.Notes.push_back(noteUnfinished());
  Out.End = BisectOutcome::FoundPasses;
  return Error::success();
}

Error Bisector::findPasses() {
  for (unsigned Try = 0;; ++Try) {
    PassSearch Search(Q, Subject, Sides.Good, Out.BadConfig, Out.Half, O.Depth);
    if (hasTwoPipelines())
      Search.comparePipelines();
    if (Error E = Search.run())
      return E;
    static_cast<PassAnswer &>(Out) = Search.answer();
    std::optional<json::Object> Wrong = Q.takeVarying();
    StringRef Why = Wrong ? "the answers vary"
                          : "the final check did not confirm the answer";
    if (!Wrong && !Out.HealedConfig && !Out.SpoiledConfig) {
      // If settings are the answer, no pass needs to be.
      bool IsAnswered = !Out.Settings.empty() && Q.complete();
      if (Error E = IsAnswered ? probe() : explainFailure(Search))
        return E;
      return Out.Settings.empty() ? Error::success() : finishSettings();
    }
    if (!Wrong)
      if (Error E = checkAnswer(Search, Wrong))
        return E;
    if (!Wrong)
      return finishPasses(Search);
    if (Try == MaxTries || !J.what().isVerify()) {
      Out.Reason = (Why + ": " + Q.describeVariance()).str();
      return Error::success();
    }
    if (Error E = J.becomeRandom(*Wrong))
      return E;
    Q.say(formatv("{0}: searching again as for a nondeterministic fault, with "
                  "{1} replays of each candidate that looks good",
                  Why, J.repeats()));
    if (Error E = findHalf())
      return E;
  }
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

/// Gives both sides a schedule under which only the bad side fails, if the host
/// device is under test and the same code fails only sometimes, or the bad side
/// never does.
Error Bisector::chooseSchedule(Judge::Sides &Begin) {
  bool ComesAndGoes = Begin == Judge::Sides::Ready && J.isCodeRandom();
  bool IsGood = Begin == Judge::Sides::NotBad;
  if (!J.what().isVerify() || (!ComesAndGoes && !IsGood) ||
      !Subject.CanSchedule || !Subject.CanSchedule() ||
      Sides.Good.get(ScheduleKey) || Sides.Bad.get(ScheduleKey))
    return Error::success();
  Q.say("searching for a host schedule under which the bad side fails");
  std::string Without = formatv("without it, {0} of {1} replays fail",
                                J.bad().Failures, J.bad().Replays);
  Expected<ScheduleChoice> Choice =
      findSchedule(J, Sides, ComesAndGoes ? MaxSeedsOfRandom : MaxSeedsOfGood);
  if (!Choice)
    return Choice.takeError();
  if (Choice->Schedule.empty() && ComesAndGoes)
    Out.ScheduleReason = formatv(
        "none of {0} seeds makes the fault deterministic", Choice->Tried);
  if (Choice->Schedule.empty() && ComesAndGoes && Choice->BothFail)
    Out.ScheduleReason += formatv("; the good side fails with {0} of them, too",
                                  Choice->BothFail);
  if (Choice->Schedule.empty())
    return Error::success();
  BisectSides Plain = Sides;
  for (json::Object *Side : {&Sides.Good, &Sides.Bad})
    (*Side)[ScheduleKey] = Choice->Schedule;
  if (Error E = J.begin(Sides.Good, Sides.Bad).moveInto(Begin))
    return E;
  if (Begin == Judge::Sides::Ready && !J.isRandom()) {
    Out.Schedule = std::move(Choice->Schedule);
    Out.ScheduleReason = std::move(Without);
    J.alsoJudgeWith(std::move(Choice->Others));
    Q.say("searching with --host-schedule=" + Out.Schedule + ": " +
          Out.ScheduleReason);
    return Error::success();
  }
  Sides = std::move(Plain);
  return J.begin(Sides.Good, Sides.Bad).moveInto(Begin);
}

/// Judges both sides. Sets Reason if the bad side is not bad: then there is
/// nothing to search.
Error Bisector::begin(Judge::Sides &Begin) {
  if (Sides.Bad.get("run_passes") || Sides.Bad.get("skip_passes"))
    return createStringError("the bad side already selects its passes");
  if (findDifferences(Sides).empty())
    return createStringError("both sides are the same");
  if (Error E = J.begin(Sides.Good, Sides.Bad).moveInto(Begin))
    return E;
  if (Error E = chooseSchedule(Begin))
    return E;
  Out.Sides = Sides;
  Out.Good = J.good();
  Out.Bad = J.bad();
  Q.say("good side: " + describeJudgement(Out.Good, J.what()));
  Q.say("bad side: " + describeJudgement(Out.Bad, J.what()));
  if (Begin == Judge::Sides::NotGood && !Sides.GoodIsNoPass)
    return createStringError("the good side is not good: " + J.text());
  if (Begin == Judge::Sides::NotGood && Out.Bad.A != Answer::Bad)
    Out.Reason = "nothing to bisect: the bad side is not bad: it verifies";
  if (Begin == Judge::Sides::NotBad)
    Out.Reason =
        ("nothing to bisect: the bad side is not bad: " + J.text()).str();
  if (Begin == Judge::Sides::NotBad &&
      J.text() == "both sides have the same machine code")
    Out.Reason = ("nothing to bisect: " + J.text()).str();
  if (!Out.Reason.empty())
    Out.End = BisectOutcome::NothingToFind;
  else if (J.isRandom())
    Q.say(formatv("the fault is nondeterministic, in {0:f0} % of {1} replays; "
                  "each candidate that looks good is replayed {2} times",
                  100 * J.rate(), Out.Bad.Replays, J.repeats()));
  return Error::success();
}

Error Bisector::findAll(Judge::Sides Begin) {
  if (Error E = findSettings())
    return E;
  if (Error E = findHalf())
    return E;
  // Without optional passes, only the bad side's own failure blames the rest of
  // the compilation.
  if (Begin == Judge::Sides::NotGood && Out.Good.A == Answer::Bad) {
    Out.Reason = ("it also fails without any optional pass: " + J.text() +
                  "; what remains are " + getRemainder(Out.Half))
                     .str();
    if (Error E = listRequired())
      return E;
    return probe();
  }
  return actsOnPasses() ? findPasses() : finishSettings();
}

Expected<BisectOutcome> Bisector::run() {
  Judge::Sides Begin = Judge::Sides::Ready;
  if (Error E = begin(Begin))
    return std::move(E);
  if (Out.End != BisectOutcome::NothingToFind)
    if (Error E = findAll(Begin))
      return std::move(E);
  Out.Counts = J.counts();
  Out.Random = J.isRandom();
  Out.Rate = J.rate();
  Out.Repeats = J.repeats();
  Out.Complete = Q.complete();
  return std::move(Out);
}

Expected<BisectOutcome> mneme::bisect(Evaluator &E, const BisectSides &Sides,
                                      const BisectSubject &Subject,
                                      const BisectOptions &Options) {
  return Bisector(E, Sides, Subject, Options).run();
}
