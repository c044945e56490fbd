//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Bisect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Mneme/Tune/Study.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Sets of executions that are independently at fault, until the search goes
/// the other way round.
static constexpr unsigned MaxCulprits = 16;

/// How many of the members of an answer are skipped alone to see what that
/// does.
static constexpr unsigned MaxSingles = 16;

/// Times that an answer which does not hold is looked for again.
static constexpr unsigned MaxTries = 3;

/// What must be gained for a set to be skipped on the way to another, as a
/// share of what there is to gain.
static constexpr double MinGain = 0.1;

std::string mneme::printNumbers(const BitVector &Numbers) {
  std::string Text;
  raw_string_ostream OS(Text);
  for (int First = Numbers.find_first(); First >= 0;) {
    int End = Numbers.find_next_unset(First);
    int Last = (End < 0 ? static_cast<int>(Numbers.size()) : End) - 1;
    OS << (Text.empty() ? "" : ",") << First;
    if (Last > First)
      OS << '-' << Last;
    First = Numbers.find_next(Last);
  }
  return Text.empty() ? "none" : Text;
}

static BitVector without(BitVector A, const BitVector &B) { return A.reset(B); }

static BitVector unite(BitVector A, const BitVector &B) { return A |= B; }

static std::vector<unsigned> toList(const BitVector &Numbers) {
  return {Numbers.set_bits_begin(), Numbers.set_bits_end()};
}

namespace {
class Bisector {
public:
  Bisector(Evaluator &E, const BisectSides &Sides, const BisectSubject &Subject,
           const BisectOptions &O)
      : Sides(Sides), Subject(Subject), O(O), J(E, O.Judge) {}

  Expected<BisectOutcome> run();

private:
  const BisectSides &Sides;
  const BisectSubject &Subject;
  const BisectOptions &O;
  Judge J;
  BisectOutcome Out;
  PassListing Listing;  ///< Of BadConfig.
  BitVector All;        ///< Numbers that there are.
  BitVector Scope;      ///< Those that may be skipped here; the rest runs.
  BitVector Candidates; ///< Those of Scope that changed something.
  /// What it is when nothing of Scope runs.
  Answer WithoutScope = Answer::Unresolved;

  void say(const Twine &Text) const {
    if (Subject.Say)
      Subject.Say(Text.str());
  }
  void describeStep(const json::Object &Config, const Judgement &V) const;

  // Questions.
  Expected<std::vector<Answer>> ask(ArrayRef<json::Object> Configs);
  Expected<Answer> ask(const json::Object &Config);
  json::Object withRun(const BitVector &Run) const;
  json::Object withSkip(const BitVector &Skip) const;
  Expected<std::vector<Answer>> askRun(ArrayRef<BitVector> Sets);
  Expected<std::vector<Answer>> askSkip(ArrayRef<BitVector> Sets);

  // Settings.
  Error findSettings();
  json::Object mix(ArrayRef<std::string> Groups, const BitVector &Bad) const;
  bool actsOnPasses();

  // Halves.
  Error findHalf();
  Expected<std::optional<bool>> isRightOnHost(const json::Object &Config);

  // Passes.
  Error findPasses();
  Error listPasses();
  BitVector chooseCandidates(const PassListing &L) const;
  Error searchPasses(bool &Found);
  Expected<Boundary> findFirstBad(ArrayRef<unsigned> Ends,
                                  const BitVector &Skipped);
  Error searchPrefix(bool &Found);
  Expected<std::optional<BitVector>> findSkipSet(BitVector Skip);
  void noteBehind(StringRef Failure, StringRef Spec);
  Error findRunSet(const BitVector &First, unsigned Last);
  Error climb(bool &Found);
  double badness(const json::Object &Config) const;
  Error probe();
  Error listRequired();
  Error askSingles(const BitVector &Members);
  Error checkAnswer(std::optional<json::Object> &Wrong);
  Error finishSettings();
  Error checkRunSet(unsigned Replays, std::optional<json::Object> &Wrong);
  void describeCulprits();
};
} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Expected<std::vector<Answer>> Bisector::ask(ArrayRef<json::Object> Configs) {
  if (J.counts().Steps < O.MaxSteps)
    return J.ask(Configs);
  Out.Complete = false;
  return std::vector<Answer>(Configs.size(), Answer::Unresolved);
}

Expected<Answer> Bisector::ask(const json::Object &Config) {
  Expected<std::vector<Answer>> Answers = ask(ArrayRef(Config));
  if (!Answers)
    return Answers.takeError();
  return Answers->front();
}

/// The bad side, only these executions of the scope run.
json::Object Bisector::withRun(const BitVector &Run) const {
  json::Object Config = Out.BadConfig;
  Config["run_passes"] = printNumbers(unite(Run, without(All, Scope)));
  return Config;
}

json::Object Bisector::withSkip(const BitVector &Skip) const {
  json::Object Config = Out.BadConfig;
  if (Skip == All)
    Config["run_passes"] = "none";
  else if (Skip.any())
    Config["skip_passes"] = printNumbers(Skip);
  return Config;
}

Expected<std::vector<Answer>> Bisector::askRun(ArrayRef<BitVector> Sets) {
  std::vector<json::Object> Configs;
  for (const BitVector &Set : Sets)
    Configs.push_back(withRun(Set));
  return ask(Configs);
}

Expected<std::vector<Answer>> Bisector::askSkip(ArrayRef<BitVector> Sets) {
  std::vector<json::Object> Configs;
  for (const BitVector &Set : Sets)
    Configs.push_back(withSkip(Set));
  return ask(Configs);
}

static std::string describeJudgement(const Judgement &V,
                                     const Criterion &What) {
  std::string Text = getAnswerName(V.A).str();
  if (!V.Failure.empty())
    Text += " (" + V.Failure + ")";
  else if (V.Ratio && !What.isVerify())
    Text += formatv(" ({0} x {1:f3})", What.Metric, V.Ratio->Value).str();
  if (!V.Certain)
    Text += ", not for sure";
  if (V.Replays > 1)
    Text += formatv(", {0} of {1} replays failed", V.Failures, V.Replays).str();
  return Text;
}

void Bisector::describeStep(const json::Object &Config,
                            const Judgement &V) const {
  std::string What;
  for (StringRef Key : {"run_passes", "skip_passes"})
    if (std::optional<StringRef> Text = Config.getString(Key)) {
      StringRef Short = *Text;
      What = (StringRef(Key == "run_passes" ? "run " : "skip ") +
              Short.take_front(60) + (Short.size() > 60 ? "..." : ""))
                 .str();
    }
  if (What.empty())
    What = quoteCommand(makeOptions(Config));
  say(formatv("step {0}: {1}: {2}", J.counts().Steps,
              What.empty() ? "as given" : What,
              describeJudgement(V, J.what())));
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

/// The shape of a launch makes sense as a whole only.
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

/// The good side with some of the bad side's settings.
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
    say(formatv("the sides differ in {0} settings", Keys.size()));
    Expected<BitVector> Least =
        minimize(Kept, BitVector(Groups.size()), Answer::Bad, J.width(),
                 [&](ArrayRef<BitVector> Sets) {
                   std::vector<json::Object> Configs;
                   for (const BitVector &Set : Sets)
                     Configs.push_back(mix(Groups, Set));
                   return ask(Configs);
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
  // A good side that chooses passes by itself must not do so in the bad one.
  if (!Mixed.get("run_passes") && !Mixed.get("skip_passes"))
    Out.BadConfig = std::move(Mixed);
  std::vector<std::string> Responsible;
  for (const BisectSetting &S : Out.Settings)
    Responsible.push_back(S.Key);
  say("responsible: " + join(Responsible, ", "));
  return Error::success();
}

/// Can what is responsible do anything by way of a pass?
bool Bisector::actsOnPasses() {
  if (!Subject.ListPasses) {
    Out.Reason = "passes cannot be chosen here";
    return false;
  }
  if (Sides.GoodIsNoPass)
    return true;
  bool Acts = false;
  for (const BisectSetting &S : Out.Settings) {
    SettingStage Stage = getSettingStage(S.Key);
    Acts |= Stage == SettingStage::Pipeline || Stage == SettingStage::CodeGen;
  }
  if (!Acts)
    Out.Reason = "what differs acts on no pass";
  return Acts;
}

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

/// Unset: it cannot be told, and HalfReason says why, if there is a reason.
Expected<std::optional<bool>>
Bisector::isRightOnHost(const json::Object &Config) {
  Expected<std::optional<Evaluation>> Result = Subject.RunOnHost(Config);
  if (!Result)
    return Result.takeError();
  if (!*Result)
    return std::nullopt;
  const Evaluation &V = **Result;
  if (V.Failure.empty())
    return true;
  if (V.Failure == "Mismatch" || V.Failure == "Crash")
    return false;
  Out.HalfReason = "the host device cannot say (" + V.Failure +
                   (V.Error.empty() ? "" : ": " + V.Error) + ")";
  return std::nullopt;
}

Error Bisector::findHalf() {
  if (!Subject.RunOnHost || !J.what().isVerify())
    return Error::success();
  // With no good side, the recorded memory alone says what is right.
  if (Out.Good.A == Answer::Good) {
    Expected<std::optional<bool>> Good = isRightOnHost(Sides.Good);
    if (!Good)
      return Good.takeError();
    if (*Good == false)
      Out.HalfReason = "the good side does not verify on the host device";
    if (*Good != true) {
      if (!Out.HalfReason.empty())
        say(Out.HalfReason);
      return Error::success();
    }
  }
  Expected<std::optional<bool>> Bad = isRightOnHost(Out.BadConfig);
  if (!Bad)
    return Bad.takeError();
  if (*Bad) {
    Out.Half = **Bad ? FaultyHalf::BackEnd : FaultyHalf::Pipeline;
    Out.HalfReason = **Bad ? "the host device is right with the same IR"
                           : "the host device is wrong with the same IR";
  }
  if (!Out.HalfReason.empty())
    say(Out.HalfReason);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Those that changed something, of what may be skipped.
BitVector Bisector::chooseCandidates(const PassListing &L) const {
  BitVector Changed(All.size());
  for (const PassExecution &E : L.Executions)
    if (E.Number && E.Number < All.size() && E.Changed.value_or(true))
      Changed.set(E.Number);
  // What the last one did before the compiler died, nobody has seen.
  if (!L.Failure.empty() && !L.Executions.empty() &&
      L.Executions.back().Number < All.size())
    Changed.set(L.Executions.back().Number);
  Changed.reset(0);
  return Changed &= Scope;
}

Error Bisector::listPasses() {
  Expected<PassListing> L = Subject.ListPasses(Out.BadConfig);
  if (!L)
    return L.takeError();
  Listing = std::move(*L);
  unsigned Last = 0;
  for (const PassExecution &E : Listing.Executions)
    Last = std::max(Last, E.Number);
  All = BitVector(Last + 1);
  BitVector InHalf(Last + 1);
  for (const PassExecution &E : Listing.Executions) {
    if (!E.Number)
      continue;
    All.set(E.Number);
    PassStage Wanted =
        Out.Half == FaultyHalf::BackEnd ? PassStage::CodeGen : PassStage::IR;
    if (Out.Half == FaultyHalf::Unknown || E.Stage == Wanted)
      InHalf.set(E.Number);
  }
  Scope = InHalf;
  Candidates = chooseCandidates(Listing);
  Out.NumExecutions = All.count();
  Out.NumCandidates = Candidates.count();
  say(formatv("{0} pass executions that can be skipped, {1} of them changed "
              "something",
              Out.NumExecutions, Out.NumCandidates));
  return Error::success();
}

/// Where it turns bad if the scope's executions run up to one of \p Ends only,
/// without \p Skipped. All of them run: bad; none: good.
Expected<Boundary> Bisector::findFirstBad(ArrayRef<unsigned> Ends,
                                          const BitVector &Skipped) {
  auto Ask = [&](ArrayRef<size_t> Positions) {
    std::vector<BitVector> Sets;
    for (size_t Position : Positions) {
      BitVector Run(All.size());
      Run.set(1, Ends[Position - 1] + 1);
      Sets.push_back(without(Run &= Scope, Skipped));
    }
    return askRun(Sets);
  };
  // A question more than there are processors for is a question too many.
  return findBoundary(Ends.size(), (J.width() + 1) / 2, Ask);
}

/// Members of the smallest set that is enough, given that \p First, the last
/// ones of the first bad prefix, belong to it.
Error Bisector::findRunSet(const BitVector &First, unsigned Last) {
  BitVector Prefix(All.size());
  Prefix.set(1, Last + 1);
  for (const BitVector &Among : {Candidates, Scope}) {
    BitVector Start = unite(BitVector(Prefix) &= Among, First);
    Expected<std::vector<Answer>> A = askRun(Start);
    if (!A)
      return A.takeError();
    if (A->front() != Answer::Bad)
      continue;
    const BitVector None(All.size());
    BitVector Always = First.count() == 1 ? First : None;
    auto Ask = [&](ArrayRef<BitVector> Sets) { return askRun(Sets); };
    Expected<BitVector> Least =
        minimize(Start, Always, Answer::Bad, J.width(), Ask);
    if (!Least)
      return Least.takeError();
    // What it took behind others may be of no use without them.
    if (BitVector Rest = without(*Least, Always); Always.any() && Rest.any()) {
      Expected<std::vector<Answer>> OfRest = askRun(Rest);
      if (!OfRest)
        return OfRest.takeError();
      if (OfRest->front() == Answer::Bad)
        Least = minimize(Rest, None, Answer::Bad, J.width(), Ask);
      if (!Least)
        return Least.takeError();
    }
    // It may be all there is.
    if (!Out.Complete)
      return Error::success();
    Out.RunSet = toList(*Least);
    Out.SmallestConfig = withRun(*Least);
    return Error::success();
  }
  if (Out.Complete)
    Out.Notes.push_back(
        "no set of executions alone makes it bad: it also takes "
        "some that seemed to change nothing");
  return Error::success();
}

/// What the compiler came to behind what it died of: nobody has numbered that.
void Bisector::noteBehind(StringRef Failure, StringRef Spec) {
  Out.Notes.push_back(
      formatv("without it the compiler gets further, and it fails behind it "
              "({0}{1}), where no execution has a number: that is not searched",
              Failure, Spec.empty() ? "" : (" in " + Spec).str())
          .str());
}

/// Adds to \p Skip what is at fault beside it, until it is good without all of
/// that, and takes away what need not be skipped. Unset: not found.
Expected<std::optional<BitVector>> Bisector::findSkipSet(BitVector Skip) {
  auto Ask = [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); };
  for (unsigned Round = 0; Round != MaxCulprits; ++Round) {
    Expected<Answer> A = ask(withSkip(Skip));
    if (!A)
      return A.takeError();
    if (*A == Answer::Good)
      return minimize(Skip, BitVector(All.size()), Answer::Good, J.width(),
                      Ask);
    // Not any set can be chosen of what another program runs.
    if (Out.Complete && J.get(withSkip(Skip)).Failure == "Invalid")
      return std::nullopt;
    if (*A == Answer::Unresolved && Out.Complete && !Listing.Failure.empty()) {
      noteBehind(J.get(withSkip(Skip)).Failure, "");
      return std::nullopt;
    }
    if (*A == Answer::Unresolved)
      break;
    // What others left undone may be done by those that had nothing to do.
    Expected<PassListing> L = Subject.ListPasses(withSkip(Skip));
    if (!L)
      return L.takeError();
    if (!Listing.Failure.empty() && !L->Failure.empty() &&
        !L->Executions.empty() && !L->Executions.back().Number) {
      noteBehind("CompileError", L->Executions.back().spec());
      return std::nullopt;
    }
    BitVector Rest = without(J.isRandom() ? Scope : chooseCandidates(*L), Skip);
    std::vector<unsigned> Ends = toList(Rest);
    if (Ends.empty())
      break;
    Expected<Boundary> B = findFirstBad(Ends, Skip);
    if (!B)
      return B.takeError();
    for (size_t I = B->LastGood; I != B->FirstBad; ++I)
      Skip.set(Ends[I]);
  }
  if (!Out.Complete)
    return std::nullopt;
  // Good is only what nearly nothing is left of: from there.
  Expected<BitVector> Least =
      minimize(Scope, BitVector(All.size()), Answer::Good, J.width(), Ask);
  if (!Least)
    return Least.takeError();
  return *Least;
}

/// It is good if nothing of the scope runs.
Error Bisector::searchPrefix(bool &Found) {
  std::vector<unsigned> Ends = toList(Candidates);
  if (Ends.empty())
    return Error::success();
  Expected<Boundary> B = findFirstBad(Ends, BitVector(All.size()));
  if (!B)
    return B.takeError();
  unsigned Last = Ends[B->FirstBad - 1];
  Out.FirstBad = Last;
  Out.LastGood = B->LastGood ? Ends[B->LastGood - 1] : 0;
  BitVector First(All.size());
  for (size_t I = B->LastGood; I != B->FirstBad; ++I)
    First.set(Ends[I]);
  say(formatv("bad from execution {0} on", Last));
  Expected<std::optional<BitVector>> Skip = findSkipSet(First);
  if (!Skip)
    return Skip.takeError();
  // The place is all that is known.
  if (!*Skip && !Out.Complete)
    return Error::success();
  if (!*Skip) {
    Found = true;
    Out.PrefixOnly = true;
    Out.SkipSet = toList(First);
    BitVector Prefix(All.size());
    Prefix.set(1, Last + 1);
    Out.SmallestConfig = withRun(Prefix);
    Prefix.reset(First.find_first(), Last + 1);
    Out.HealedConfig = withRun(Prefix);
    return Error::success();
  }
  if ((*Skip)->any()) {
    Found = true;
    Out.SkipSet = toList(**Skip);
    Out.HealedConfig = withSkip(**Skip);
  }
  // What made a number worse for a while need not be what it is in the end.
  if (*Skip && !J.what().isVerify() && !First.anyCommon(**Skip))
    return Error::success();
  return findRunSet(First, Last);
}

double Bisector::badness(const json::Object &Config) const {
  const Judgement &V = J.get(Config);
  if (V.A == Answer::Unresolved)
    return HUGE_VAL;
  if (J.what().isTime())
    return V.Ratio ? V.Ratio->Value : HUGE_VAL;
  double Value = V.Value.value_or(V.A == Answer::Bad);
  return J.what().Maximize ? -Value : Value;
}

/// It is not good if nothing runs, but it may be if something does not: skips
/// all of one pass, or what follows each other; where none of that is enough,
/// goes on from what helped most.
Error Bisector::climb(bool &Found) {
  std::map<std::string, BitVector> ByPass;
  for (const PassExecution &E : Listing.Executions)
    if (E.Number && Candidates[E.Number])
      ByPass.try_emplace(E.Pass, All.size()).first->second.set(E.Number);
  std::vector<BitVector> Groups;
  for (auto &[Pass, Group] : ByPass)
    Groups.push_back(std::move(Group));
  llvm::append_range(Groups, makeChunks(Candidates));
  BitVector Skip(All.size());
  double Now = badness(Out.BadConfig);
  double Start = Now, Goal = J.what().isVerify() ? 0
                             : J.what().isTime() ? 1
                                                 : badness(Sides.Good);
  auto Ask = [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); };
  for (unsigned Round = 0; Round != MaxCulprits && Out.Complete; ++Round) {
    std::vector<BitVector> Sets;
    for (const BitVector &G : Groups)
      if (BitVector More = unite(Skip, G); More != Skip)
        Sets.push_back(std::move(More));
    Expected<std::optional<size_t>> First =
        findFirst(Sets, Answer::Good, J.width(), Ask);
    if (!First)
      return First.takeError();
    if (*First) {
      Expected<BitVector> Least = minimize(Sets[**First], BitVector(All.size()),
                                           Answer::Good, J.width(), Ask);
      if (!Least)
        return Least.takeError();
      Found = true;
      Out.SkipSet = toList(*Least);
      Out.HealedConfig = withSkip(*Least);
      return Error::success();
    }
    if (!Out.Complete || Sets.empty())
      break;
    auto Best = llvm::min_element(Sets, [&](const auto &A, const auto &B) {
      return badness(withSkip(A)) < badness(withSkip(B));
    });
    double Better = badness(withSkip(*Best));
    if (!(Now - Better > MinGain * (Now - Goal)))
      break;
    Skip = *Best;
    Now = Better;
  }
  if (Skip.any())
    Out.Notes.push_back(
        formatv("without executions {0} it is better, but not good: {1} {2:g} "
                "instead of {3:g}",
                printNumbers(Skip),
                J.what().isTime() ? "times the good side's" : J.what().Metric,
                Now, Start)
            .str());
  return Error::success();
}

/// Other things that can be changed for a moment, when no pass is at fault.
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
  Expected<std::vector<Answer>> Answers = ask(Configs);
  if (!Answers)
    return Answers.takeError();
  for (auto [P, A] : zip_equal(Subject.Probes, *Answers))
    if (A == Answer::Good)
      Out.Blamed.push_back(P.Blames);
  return Error::success();
}

Error Bisector::searchPasses(bool &Found) {
  Expected<Answer> None = ask(withSkip(Scope));
  if (!None)
    return None.takeError();
  WithoutScope = *None;
  if (*None == Answer::Good)
    return searchPrefix(Found);
  if (*None == Answer::Bad && J.what().isVerify())
    return Error::success();
  return climb(Found);
}

/// What runs where nothing does that can be skipped.
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
  return Error::success();
}

static std::string getRemainder(FaultyHalf Half) {
  if (Half == FaultyHalf::BackEnd)
    return "required passes of the code generator, those of it that never "
           "ask, and the assembler";
  return "required passes, specialization, the code generator's passes that "
         "never ask, the assembler, and the IR itself";
}

Error Bisector::findPasses() {
  bool Found = false;
  if (Error E = listPasses())
    return E;
  if (J.isRandom())
    Candidates = Scope;
  if (Error E = searchPasses(Found))
    return E;
  // What seemed to do nothing may do something when others do not run.
  if (!Found && Candidates != Scope && Out.Complete &&
      Out.Half == FaultyHalf::Unknown) {
    Candidates = Scope;
    if (Error E = searchPasses(Found))
      return E;
  }
  if (!Found && Scope != All && Out.Complete) {
    say("it is none of this half; all passes");
    Scope = All;
    Candidates = chooseCandidates(Listing);
    if (Error E = searchPasses(Found))
      return E;
  }
  if (Found)
    return Error::success();
  if (!Out.Complete)
    Out.Reason =
        formatv("the limit of {0} steps was reached", O.MaxSteps).str();
  else if (J.what().isVerify() && WithoutScope == Answer::Bad)
    Out.Reason = "it is none of the passes that can be skipped; what remains "
                 "are " +
                 getRemainder(Out.Half);
  else
    Out.Reason = "no set of passes was found without which it is good";
  if (!Out.Complete)
    return Error::success();
  if (Error E = listRequired())
    return E;
  return probe();
}

/// What the members of an answer do alone.
Error Bisector::askSingles(const BitVector &Members) {
  std::vector<unsigned> Numbers = toList(Members);
  std::vector<BitVector> Sets;
  if (Numbers.size() <= MaxSingles && !Out.PrefixOnly)
    for (unsigned Number : Numbers) {
      BitVector One(All.size());
      One.set(Number);
      Sets.push_back(std::move(One));
    }
  Expected<std::vector<Answer>> Answers = askSkip(Sets);
  if (!Answers)
    return Answers.takeError();
  for (const PassExecution &E : Listing.Executions) {
    if (!E.Number || !Members[E.Number])
      continue;
    BisectCulprit C;
    C.Execution = E;
    C.InRunSet = is_contained(Out.RunSet, E.Number);
    C.InSkipSet = is_contained(Out.SkipSet, E.Number);
    for (auto [Number, A] : zip(Numbers, *Answers))
      if (Number == E.Number && A != Answer::Unresolved)
        C.HealsAlone = A == Answer::Good;
    Out.Culprits.push_back(std::move(C));
  }
  return Error::success();
}

/// Does it take each of RunSet to make it bad?
Error Bisector::checkRunSet(unsigned Replays,
                            std::optional<json::Object> &Wrong) {
  if (!J.what().isVerify() || Out.RunSet.size() > MaxSingles)
    return Error::success();
  BitVector Whole(All.size());
  for (unsigned Number : Out.RunSet)
    Whole.set(Number);
  for (unsigned Number : Out.RunSet) {
    json::Object Config = withRun(BitVector(Whole).reset(Number));
    Expected<Judgement> Rest = J.askAgain(Config, Replays);
    if (!Rest)
      return Rest.takeError();
    if (Rest->A != Answer::Bad)
      continue;
    Wrong = std::move(Config);
    break;
  }
  return Error::success();
}

/// Everything that is said of the answer, once more and afresh. \p Wrong: what
/// is not as it was.
Error Bisector::checkAnswer(std::optional<json::Object> &Wrong) {
  unsigned Replays = std::max(J.repeats(), O.Judge.GoodReplays);
  Expected<Judgement> Healed = J.askAgain(*Out.HealedConfig, Replays);
  if (!Healed)
    return Healed.takeError();
  Out.Healed = std::move(*Healed);
  if (Out.Healed.A != Answer::Good)
    Wrong = *Out.HealedConfig;
  if (!Out.SmallestConfig)
    return Error::success();
  Expected<Judgement> Smallest = J.askAgain(*Out.SmallestConfig, Replays);
  if (!Smallest)
    return Smallest.takeError();
  Out.Smallest = std::move(*Smallest);
  if (Out.Smallest.A != Answer::Bad && !Wrong)
    Wrong = *Out.SmallestConfig;
  return Wrong ? Error::success() : checkRunSet(Replays, Wrong);
}

/// Settings are the answer, if both sides are as they were.
Error Bisector::finishSettings() {
  if (J.what().isVerify()) {
    unsigned Replays = std::max(J.repeats(), O.Judge.GoodReplays);
    for (auto [Config, Wanted] : {std::pair(&Sides.Good, Answer::Good),
                                  {&Out.BadConfig, Answer::Bad}}) {
      Expected<Judgement> V = J.askAgain(*Config, Replays);
      if (!V)
        return V.takeError();
      if (V->A == Wanted)
        continue;
      Out.Reason = "the answer did not hold when it was checked";
      return Error::success();
    }
  }
  Out.End = BisectOutcome::FoundSettings;
  return Error::success();
}

void Bisector::describeCulprits() {
  for (const BisectCulprit &C : Out.Culprits)
    say(formatv("execution {0}: {1} on {2}", C.Execution.Number,
                C.Execution.Pass, C.Execution.Unit));
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

Expected<BisectOutcome> Bisector::run() {
  if (Sides.Bad.get("run_passes") || Sides.Bad.get("skip_passes"))
    return createStringError("the bad side chooses its passes already");
  if (findDifferences(Sides).empty())
    return createStringError("both sides are the same");
  J.Progress = [&](const json::Object &Config, const Judgement &V) {
    describeStep(Config, V);
  };
  Out.Sides = Sides;
  Expected<Judge::Sides> Begin = J.begin(Sides.Good, Sides.Bad);
  if (!Begin)
    return Begin.takeError();
  Out.Good = J.good();
  Out.Bad = J.bad();
  say("good side: " + describeJudgement(Out.Good, J.what()));
  say("bad side: " + describeJudgement(Out.Bad, J.what()));
  auto Finish = [&]() -> BisectOutcome && {
    Out.Counts = J.counts();
    Out.Random = J.isRandom();
    Out.Rate = J.rate();
    Out.Repeats = J.repeats();
    return std::move(Out);
  };
  if (*Begin == Judge::Sides::NotBad) {
    Out.End = BisectOutcome::NothingToFind;
    Out.Reason =
        ("nothing to bisect: the bad side is not bad: " + J.text()).str();
    if (J.text() == "both sides have the same machine code")
      Out.Reason = ("nothing to bisect: " + J.text()).str();
    return Finish();
  }
  if (*Begin == Judge::Sides::NotGood && !Sides.GoodIsNoPass)
    return createStringError("the good side is not good: " + J.text());
  if (*Begin == Judge::Sides::NotGood && Out.Bad.A != Answer::Bad) {
    Out.End = BisectOutcome::NothingToFind;
    Out.Reason = "nothing to bisect: the bad side is not bad: it verifies";
    return Finish();
  }
  if (J.isRandom())
    say(formatv("the fault comes at random, in {0:f0} % of {1} replays; what "
                "looks good is replayed {2} times",
                100 * J.rate(), Out.Bad.Replays, J.repeats()));
  if (Error E = findSettings())
    return std::move(E);
  if (Error E = findHalf())
    return std::move(E);
  // Another failure than the bad side's says nothing of what runs.
  if (*Begin == Judge::Sides::NotGood && Out.Good.A == Answer::Bad) {
    Out.Reason = ("it fails without any optional pass, too: " + J.text() +
                  "; what remains are " + getRemainder(Out.Half))
                     .str();
    if (Error E = listRequired())
      return std::move(E);
    if (Error E = probe())
      return std::move(E);
    return Finish();
  }
  if (!actsOnPasses()) {
    if (Error E = finishSettings())
      return std::move(E);
    return Finish();
  }
  for (unsigned Try = 0;; ++Try) {
    if (Error E = findPasses())
      return std::move(E);
    if (!Out.HealedConfig) {
      if (!Out.Settings.empty())
        if (Error E = finishSettings())
          return std::move(E);
      return Finish();
    }
    std::optional<json::Object> Wrong;
    if (Error E = checkAnswer(Wrong))
      return std::move(E);
    if (!Wrong)
      break;
    if (Try == MaxTries || !J.what().isVerify()) {
      Out.Reason = "the answer did not hold when it was checked";
      return Finish();
    }
    if (Error E = J.becomeRandom(*Wrong))
      return std::move(E);
    say(formatv("the answer did not hold when it was checked: once more, as of "
                "a fault that comes at random; what looks good is replayed {0} "
                "times",
                J.repeats()));
    Out.SkipSet.clear();
    Out.RunSet.clear();
    Out.HealedConfig.reset();
    Out.SmallestConfig.reset();
    Out.FirstBad.reset();
    Out.LastGood.reset();
    Out.PrefixOnly = false;
    Out.Notes.clear();
  }
  BitVector Members(All.size());
  for (ArrayRef<unsigned> Set : {ArrayRef(Out.SkipSet), ArrayRef(Out.RunSet)})
    for (unsigned Number : Set)
      Members.set(Number);
  if (Error E = askSingles(Members))
    return std::move(E);
  describeCulprits();
  if (!Out.Complete)
    Out.Notes.push_back(formatv("the limit of {0} steps was reached: not each "
                                "of these need be at fault",
                                O.MaxSteps)
                            .str());
  Out.End = BisectOutcome::FoundPasses;
  return Finish();
}

Expected<BisectOutcome> mneme::bisect(Evaluator &E, const BisectSides &Sides,
                                      const BisectSubject &Subject,
                                      const BisectOptions &Options) {
  return Bisector(E, Sides, Subject, Options).run();
}
