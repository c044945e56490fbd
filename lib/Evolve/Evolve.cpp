//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Evolve/Evolve.h"
#include "Inner.h"
#include "Proposer.h"
#include "Smallest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Evolve/Operators.h"
#include "llvm/Mneme/Farm/Farm.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Report/Export.h"
#include "llvm/Mneme/Source/UnitText.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Mneme/Tune/FinalTest.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

/// The share of candidates that come from two parents.
static constexpr unsigned CrossoverPercent = 15;
/// One candidate in so many has a parent from any island.
static constexpr unsigned MigrationInterval = 25;
/// Attempts to make an unknown version.
static constexpr unsigned Attempts = 64;
/// A candidate is worth an inner search if it has this share of its parent's
/// speed.
static constexpr double InnerShare = 0.9;
/// The share of the time after which the finalists' inner searches begin.
static constexpr double OuterShare = 0.75;
static constexpr unsigned NumInspirations = 5;

Expected<CandidateConfig> mneme::bindKnobs(StringRef Version,
                                           const ReplayFarm &Farm) {
  Expected<VersionSpace> Space = VersionSpace::create(Version, Farm);
  if (!Space)
    return Space.takeError();
  return Space->configureDefault();
}

namespace {
/// A search.
class Evolution {
public:
  Evolution(EvolveOptions O, std::unique_ptr<Judge> J, Archive A)
      : O(std::move(O)), TheJudge(std::move(J)), Known(std::move(A)) {}

  Expected<EvolveOutcome> run();

private:
  EvolveOptions O;
  std::unique_ptr<Judge> TheJudge;
  Archive Known;
  OperatorFacts Facts;
  LaunchShapes Shapes;
  std::unique_ptr<Proposer> External;
  bool IsExhausted = false; ///< No further candidates.
  EvolveOutcome Outcome;
  std::chrono::steady_clock::time_point Begin =
      std::chrono::steady_clock::now();

  void note(const Twine &Text) const {
    if (O.Note)
      O.Note(Text.str());
  }
  void findFacts();
  Error startProposer();
  bool isOver() const;
  bool isStopped() const { return O.Judge.Stop && O.Judge.Stop(); }
  bool isInnerOver(double Share = 1) const;
  std::mt19937_64 makeRandom(uint64_t Number) const;

  Expected<std::vector<EvolvedCandidate>> propose(size_t Count);
  Expected<std::optional<EvolvedCandidate>> proposeOne(uint64_t Number);
  std::optional<EvolvedCandidate> edit(const EvolvedCandidate &Parent,
                                       std::mt19937_64 &Random) const;
  std::optional<EvolvedCandidate> cross(const EvolvedCandidate &A,
                                        const EvolvedCandidate &B,
                                        std::mt19937_64 &Random) const;
  Error measure(ArrayRef<EvolvedCandidate *> Candidates);
  Error judge(std::vector<EvolvedCandidate> Batch);
  Error refine();
  Error refineOne(EvolvedCandidate C, uint64_t Trials);
  Expected<CandidateConfig> getConfig(const EvolvedCandidate &C) const;

  Error finish();
  Error removeStale() const;
  Error explain(const EvolvedCandidate &C, const CandidateConfig &Config,
                const Judgement &J);
  Error writeWinner(const EvolvedCandidate &C, json::Object Config,
                    FinalTestResult Final) const;
};
} // namespace

void Evolution::findFacts() {
  ArrayRef<std::unique_ptr<ReplayPlan>> Plans = TheJudge->farm().plans();
  for (auto [I, Plan] : enumerate(Plans)) {
    Facts.BlockThreads =
        std::max<unsigned>(Facts.BlockThreads, Plan->block().count());
    for (auto [N, Arg] : enumerate(Plan->kernel().Args)) {
      StringRef Bytes = Plan->state().args()[N];
      std::string Value;
      if (Arg.Type == "i32" && Bytes.size() == 4)
        Value =
            std::to_string(int32_t(support::endian::read32le(Bytes.data())));
      if (I == 0)
        Facts.Arguments.push_back(Value);
      else if (Facts.Arguments[N] != Value)
        Facts.Arguments[N].clear();
    }
  }
}

/// The next candidate depends on the seed and on the history only.
std::mt19937_64 Evolution::makeRandom(uint64_t Number) const {
  return std::mt19937_64(O.Seed * 0x9e3779b97f4a7c15 + Number);
}

/// \param Share  of the time.
bool Evolution::isInnerOver(double Share) const {
  return (O.Interrupts && *O.Interrupts) ||
         (O.Seconds > 0 && secondsSince(Begin) >= Share * O.Seconds) ||
         (O.InnerTrials && Outcome.InnerTrials >= O.InnerTrials);
}

bool Evolution::isOver() const {
  return IsExhausted || isInnerOver(O.Inner[2] ? OuterShare : 1) ||
         (O.Candidates && Known.all().size() >= O.Candidates) ||
         (O.Cost > 0 && Outcome.Cost >= O.Cost);
}

//===----------------------------------------------------------------------===//
// Proposals
//===----------------------------------------------------------------------===//

Error Evolution::startProposer() {
  if (O.Proposer.empty())
    return Error::success();
  json::Array Arguments;
  for (const std::string &A : Facts.Arguments)
    Arguments.push_back(orNull(A));
  const RecordedKernel &K = TheJudge->farm().plans().front()->kernel();
  return Proposer::start(
             O.Proposer, O.ProposerSeconds,
             json::Object{
                 {"mneme_proposer", 1},
                 {"kernel", K.displayName()},
                 {"arch", K.Arch},
                 {"seed", O.Seed},
                 {"start", json::fixUTF8(O.Start)},
                 {"facts", json::Object{{"block_threads", Facts.BlockThreads},
                                        {"arguments", std::move(Arguments)}}}},
             [&] { return O.Interrupts && *O.Interrupts; })
      .moveInto(External);
}

std::optional<EvolvedCandidate> Evolution::edit(const EvolvedCandidate &Parent,
                                                std::mt19937_64 &Random) const {
  std::vector<SourceEditing> Edits = findEdits(Parent.Text, Facts, O.Operators);
  if (Edits.empty())
    return std::nullopt;
  // Operators with many places must not displace the others.
  std::vector<unsigned> Present;
  for (const SourceEditing &E : Edits)
    if (!is_contained(Present, E.Operator))
      Present.push_back(E.Operator);
  unsigned Operator = Present[Random() % Present.size()];
  erase_if(Edits,
           [&](const SourceEditing &E) { return E.Operator != Operator; });
  const SourceEditing &E = Edits[Random() % Edits.size()];
  EvolvedCandidate C;
  C.Parent = Parent.Number;
  C.Origin = getOperators()[Operator].Name.str();
  C.Description = E.Description;
  C.Text = E.apply(Parent.Text);
  return C;
}

/// Takes each block of a version from one of two.
std::optional<EvolvedCandidate>
Evolution::cross(const EvolvedCandidate &A, const EvolvedCandidate &B,
                 std::mt19937_64 &Random) const {
  Expected<MarkedText> First = cutAtMarkers(A.Text),
                       Second = cutAtMarkers(B.Text);
  if (!First || !Second || First->Parts.size() != Second->Parts.size()) {
    consumeError(First.takeError());
    consumeError(Second.takeError());
    return std::nullopt;
  }
  EvolvedCandidate C;
  C.Parent = A.Number;
  C.Origin = "crossover";
  C.Description = formatv("with candidate {0}", B.Number).str();
  size_t At = 0;
  for (size_t I = 1; I < First->Parts.size(); I += 2) {
    size_t Block = First->Parts[I].data() - A.Text.data();
    C.Text += StringRef(A.Text).slice(At, Block);
    C.Text += Random() % 2 ? First->Parts[I] : Second->Parts[I];
    At = Block + First->Parts[I].size();
  }
  C.Text += StringRef(A.Text).drop_front(At);
  return C;
}

Expected<std::optional<EvolvedCandidate>>
Evolution::proposeOne(uint64_t Number) {
  std::mt19937_64 Random = makeRandom(Number);
  for (unsigned Try = 0; Try != Attempts; ++Try) {
    unsigned Island =
        Number % MigrationInterval ? Number % O.Islands : Random() % O.Islands;
    // When the elites yield nothing new, others may.
    const EvolvedCandidate *Parent =
        Try < Attempts / 2 ? Known.choose(Island, O.Islands, Random)
                           : Known.chooseAny(Random);
    if (!Parent)
      return std::nullopt;
    std::optional<EvolvedCandidate> C;
    if (External) {
      Expected<std::optional<Proposal>> P =
          External->ask(Number, *Parent, Known.best(NumInspirations));
      if (!P)
        return P.takeError();
      if (!*P)
        return std::nullopt;
      C.emplace();
      C->Parent = Parent->Number;
      C->Origin = "proposer";
      C->Text = std::move((*P)->Text);
      C->Description = std::move((*P)->Description);
      C->Cost = (*P)->Cost;
      Outcome.Cost += C->Cost;
    } else if (Random() % 100 < CrossoverPercent) {
      const EvolvedCandidate *Other =
          Known.choose(Random() % O.Islands, O.Islands, Random);
      if (Other && Other != Parent)
        C = cross(*Parent, *Other, Random);
    } else {
      C = edit(*Parent, Random);
    }
    if (!C || Known.isKnown(C->Text))
      continue;
    C->Number = Number;
    C->Values = Parent->Values;
    return std::move(*C);
  }
  return std::nullopt;
}

Expected<std::vector<EvolvedCandidate>> Evolution::propose(size_t Count) {
  std::vector<EvolvedCandidate> Batch;
  uint64_t Next = Known.all().size();
  while (Batch.size() < Count) {
    Expected<std::optional<EvolvedCandidate>> C =
        proposeOne(Next + Batch.size());
    if (!C)
      return C.takeError();
    if (*C) {
      Batch.push_back(std::move(**C));
      continue;
    }
    // The results of this batch may be parents of others.
    IsExhausted = Batch.empty();
    break;
  }
  return std::move(Batch);
}

//===----------------------------------------------------------------------===//
// Judgements
//===----------------------------------------------------------------------===//

Expected<CandidateConfig>
Evolution::getConfig(const EvolvedCandidate &C) const {
  Expected<VersionSpace> Space = VersionSpace::create(
      C.Text, TheJudge->farm(), C.Values.empty() ? InnerSpace() : O.Space);
  if (!Space)
    return Space.takeError();
  return Space->configure(C.Values);
}

Error Evolution::measure(ArrayRef<EvolvedCandidate *> Candidates) {
  std::vector<CandidateConfig> Configs;
  std::vector<EvolvedCandidate *> Judged;
  for (EvolvedCandidate *C : Candidates) {
    Expected<CandidateConfig> Config = getConfig(*C);
    if (!Config) {
      C->J.Failure = FailureKind::Invalid;
      C->J.Error = toString(Config.takeError());
      continue;
    }
    C->Config = Config->of(0);
    C->Config.erase("source");
    Configs.push_back(std::move(*Config));
    Judged.push_back(C);
  }
  Expected<std::vector<Judgement>> Results =
      TheJudge->judge(Configs, JudgeStage::Measure);
  if (!Results)
    return Results.takeError();
  for (auto [C, J] : zip_equal(Judged, *Results))
    C->J = std::move(J);
  return Error::success();
}

Error Evolution::judge(std::vector<EvolvedCandidate> Batch) {
  std::vector<EvolvedCandidate *> All, Again;
  for (EvolvedCandidate &C : Batch)
    All.push_back(&C);
  if (Error E = measure(All))
    return E;
  // What the parent was tuned to need not suit the version.
  for (EvolvedCandidate *C : All)
    if (!C->verified() && !C->Values.empty() &&
        C->J.Failure != FailureKind::CompileError) {
      C->Values.clear();
      C->J = Judgement();
      Again.push_back(C);
    }
  if (Error E = measure(Again))
    return E;
  for (EvolvedCandidate &C : Batch) {
    std::string What = C.Description.empty() ? C.Origin : C.Description;
    std::string Result = C.verified() ? formatv("{0:f3}x", *C.J.Estimate).str()
                                      : C.J.Failure.str();
    note(formatv("{0}: {1} ({2})", C.Number, Result, What));
    if (Error E = Known.add(std::move(C)))
      return E;
  }
  return Error::success();
}

/// \param Trials  of the candidate, with earlier ones.
Error Evolution::refineOne(EvolvedCandidate C, uint64_t Trials) {
  size_t Before = C.Inner.size();
  if (O.InnerTrials)
    Trials = std::min(Trials, Before + O.InnerTrials -
                                  std::min(O.InnerTrials, Outcome.InnerTrials));
  if (Before >= Trials)
    return Error::success();
  if (Error E = searchInner(*TheJudge, C, Trials, O.Space, O.Seed + C.Number,
                            Shapes, [&] { return isInnerOver(); }))
    return E;
  if (C.Inner.size() == Before)
    return Error::success();
  Outcome.InnerTrials += C.Inner.size() - Before;
  note(formatv("{0}: {1:f3}x after {2} inner trials", C.Number, C.score(),
               C.Inner.size()));
  return Known.add(std::move(C));
}

/// Gives inner trials to the candidates that deserve more.
Error Evolution::refine() {
  size_t Third = divideCeil(Known.best(SIZE_MAX).size(), 3);
  SmallVector<uint64_t> Good;
  for (const EvolvedCandidate *C : Known.best(Third))
    Good.push_back(C->Number);
  for (uint64_t N = 0; N != Known.all().size() && !isInnerOver(OuterShare);
       ++N) {
    const EvolvedCandidate &C = Known.all()[N];
    if (!C.verified())
      continue;
    double Parents = C.Parent ? Known.all()[*C.Parent].score() : 0;
    unsigned Trials = C.score() >= InnerShare * Parents ? O.Inner[0] : 0;
    if (is_contained(Good, N))
      Trials = std::max(Trials, O.Inner[1]);
    if (Error E = refineOne(C, Trials))
      return E;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// \param Config  of the first launch.
Error Evolution::writeWinner(const EvolvedCandidate &C, json::Object Config,
                             FinalTestResult Final) const {
  const std::string Path = pathIn(O.Output, "winner.cu");
  if (Error E = writeFileAtomically(Path, C.Text))
    return E;
  if (Error E = writeFileAtomically(pathIn(O.Output, "winner.diff"),
                                    makeDiff(O.Start, C.Text)))
    return E;
  const ReplayFarm &Farm = TheJudge->farm();
  Config["source"] = Path;
  for (json::Object &OnLaunch : Final.Confirmed->Configs)
    OnLaunch["source"] = Path;
  Trial Winner;
  Winner.Number = C.Number;
  Winner.Config = std::move(Config);
  Winner.Metrics = C.J.Metrics;
  Winner.Samples = Final.Confirmed->Samples;
  Winner.CodeHash = C.J.CodeHash;
  Winner.Device = Final.Confirmed->Device;
  StudyOutcome Outcome;
  std::vector<RecordedInstance> Launches;
  for (unsigned I : TheJudge->training()) {
    Launches.push_back(Farm.plans()[I]->instance());
    Outcome.Instances.emplace_back().Id = Launches.back().DynamicHash;
  }
  Outcome.Instances.front().Samples = Final.Confirmed->BaselineSamples;
  Outcome.Final = std::move(Final);
  WinnerRecord R{Winner, Outcome};
  R.setRecording(Farm.plans().front()->kernel(), Launches);
  R.Device = describeDevices(Farm.describe());
  bool OnHost = StringRef(Winner.Device).ends_with("/host");
  if (!OnHost)
    R.GPU = findGPUName(Farm.describe(), Winner.Device);
  R.Base = makeConfig(O.Judge.Farm.Base);
  R.Options = makeResultOptions(O.Judge.Farm.Base, OnHost);
  for (const std::unique_ptr<ReplayPlan> &Plan : Farm.plans())
    R.Level = std::max(R.Level, Plan->comparison().level());
  if (O.Judge.Untrusted)
    if (Error E = TheJudge
                      ->describeTested(
                          CandidateConfig(Outcome.Final.Confirmed->Configs))
                      .moveInto(R.Tested))
      return E;
  return writeBest(R, pathIn(O.Output, "best.json"));
}

/// Finds the part of the winner that matters.
Error Evolution::explain(const EvolvedCandidate &C,
                         const CandidateConfig &Config, const Judgement &J) {
  if (!O.Explain || (O.Interrupts && *O.Interrupts))
    return Error::success();
  Expected<std::optional<SmallestChange>> Smallest = findSmallestChange(
      *TheJudge, {O.Start, C.Text, Config, J, O.Judge.Rounds},
      [&] { return O.Interrupts && *O.Interrupts; });
  if (!Smallest)
    return Smallest.takeError();
  Outcome.Smallest = std::move(*Smallest);
  if (!Outcome.Smallest)
    return Error::success();
  if (Error E = writeFileAtomically(pathIn(O.Output, "smallest.cu"),
                                    Outcome.Smallest->Text))
    return E;
  return writeFileAtomically(pathIn(O.Output, "smallest.diff"),
                             makeDiff(O.Start, Outcome.Smallest->Text));
}

/// Removes what an earlier end of the search has written and this one has not.
Error Evolution::removeStale() const {
  std::vector<StringRef> Stale;
  if (!Outcome.Winner)
    Stale = {"best.json", "winner.cu", "winner.diff"};
  if (!Outcome.Smallest)
    Stale.insert(Stale.end(), {"smallest.cu", "smallest.diff"});
  for (StringRef Name : Stale)
    if (std::error_code EC = sys::fs::remove(pathIn(O.Output, Name)))
      return createFileError(pathIn(O.Output, Name), EC);
  return Error::success();
}

/// Re-tests the best candidates, until one holds on all that none has seen.
Error Evolution::finish() {
  for (const EvolvedCandidate *C : Known.best(O.FinalCandidates))
    if (Error E = refineOne(*C, O.Inner[2]))
      return E;
  std::map<uint64_t, CandidateConfig> Configs;
  std::vector<TestCase> Cases;
  for (const EvolvedCandidate *C : Known.best(O.FinalCandidates)) {
    // The recorded kernel is the baseline.
    if (!C->Number && C->Values.empty())
      continue;
    Expected<CandidateConfig> Config = getConfig(*C);
    if (!Config)
      return Config.takeError();
    TestCase &T = Cases.emplace_back(TheJudge->makeCase(*Config));
    T.Number = C->Number;
    T.RawSpeedup = C->score();
    Configs.insert({C->Number, std::move(*Config)});
  }
  while (!Cases.empty()) {
    Expected<FinalTestResult> R =
        runFinalTest(TheJudge->makeSetting(O.Judge.Rounds, O.MinEffect), Cases);
    if (!R)
      return R.takeError();
    if (!R->isSignificant() || isStopped())
      return Error::success();
    uint64_t Number = R->Confirmed->Number;
    const EvolvedCandidate &C = Known.all()[Number];
    const CandidateConfig &Config = Configs.find(Number)->second;
    Judgement J = C.J;
    J.Failure = FailureKind::None;
    J.Speedup = R->Confirmed->Speedup;
    if (Error E = TheJudge->testFinalist(Config, J))
      return E;
    if (J.passed()) {
      Outcome.Winner = Number;
      Outcome.Speedup = *J.Speedup;
      Outcome.UnseenSpeedup = J.UnseenSpeedup;
      Outcome.Untimed = J.Untimed;
      if (Error E = writeWinner(C, Config.of(0), std::move(*R)))
        return E;
      return explain(C, Config, J);
    }
    if (isStopped())
      return Error::success();
    note(formatv("{0}: rejected: {1}", Number, J.Error));
    Outcome.Rejected[Number] = J.Error;
    erase_if(Cases, [&](const TestCase &T) { return T.Number == Number; });
  }
  return Error::success();
}

static json::Value makeSmallest(const std::optional<SmallestChange> &S) {
  if (!S)
    return nullptr;
  return json::Object{{"hunks", S->Hunks},
                      {"kept_hunks", S->KeptHunks},
                      {"config", json::Object(S->Config)},
                      {"speedup", toArray(S->Speedup)},
                      {"kept", S->Kept},
                      {"evaluations", S->Evaluations}};
}

static json::Object makeReport(const EvolveOutcome &R, const Judge &J,
                               ArrayRef<EvolvedCandidate> All) {
  json::Array Rejected;
  for (const auto &[Number, Why] : R.Rejected)
    Rejected.push_back(
        json::Object{{"number", Number}, {"reason", json::fixUTF8(Why)}});
  json::Value Winner = nullptr;
  if (R.Winner) {
    const EvolvedCandidate &C = All[*R.Winner];
    json::Array Lineage;
    for (std::optional<uint64_t> N = R.Winner; N; N = All[*N].Parent)
      Lineage.push_back(
          json::Object{{"number", *N},
                       {"origin", All[*N].Origin},
                       {"description", json::fixUTF8(All[*N].Description)}});
    Winner = json::Object{{"number", *R.Winner},
                          {"speedup", toArray(R.Speedup)},
                          {"unseen_speedup", toArray(R.UnseenSpeedup)},
                          {"untimed", orNull(R.Untimed)},
                          {"config", json::Object(C.Config)},
                          {"lineage", std::move(Lineage)}};
  }
  return json::Object{{"candidates", R.Candidates},
                      {"verified", R.Verified},
                      {"distinct", R.Distinct},
                      {"inner_trials", R.InnerTrials},
                      {"cost", R.Cost},
                      {"seconds", R.Seconds},
                      {"winner", std::move(Winner)},
                      {"smallest", makeSmallest(R.Smallest)},
                      {"rejected", std::move(Rejected)},
                      {"trust", J.describe()}};
}

Expected<EvolveOutcome> Evolution::run() {
  findFacts();
  if (Error E = startProposer())
    return std::move(E);
  // The judge draws other values: an operator that promises these would lose.
  if (O.Judge.Untrusted && !O.Judge.FixedScalars)
    Facts.Arguments.clear();
  for (const EvolvedCandidate &C : Known.all()) {
    Outcome.InnerTrials += C.Inner.size();
    Outcome.Cost += C.Cost;
  }
  if (Known.all().empty()) {
    EvolvedCandidate Start;
    Start.Origin = "start";
    Start.Text = O.Start;
    Known.isKnown(Start.Text);
    std::vector<EvolvedCandidate> First;
    First.push_back(std::move(Start));
    if (Error E = judge(std::move(First)))
      return std::move(E);
  }
  const EvolvedCandidate &Start = Known.all().front();
  if (!Start.verified())
    return createStringError("the version to start with does not verify (" +
                             Start.J.Failure.str() + "): " + Start.J.Error);
  if (Error E = refine())
    return std::move(E);
  while (!isOver()) {
    size_t Count = TheJudge->farm().capacity();
    // An external program learns from each result.
    if (External)
      Count = 1;
    if (O.Candidates)
      Count = std::min<size_t>(Count, O.Candidates - Known.all().size());
    Expected<std::vector<EvolvedCandidate>> Batch = propose(Count);
    if (!Batch)
      return Batch.takeError();
    if (Error E = judge(std::move(*Batch)))
      return std::move(E);
    if (Error E = refine())
      return std::move(E);
  }
  if (Error E = finish())
    return std::move(E);
  if (Error E = removeStale())
    return std::move(E);
  Outcome.Candidates = Known.all().size();
  Outcome.Verified = count_if(
      Known.all(), [](const EvolvedCandidate &C) { return C.verified(); });
  Outcome.Distinct = Known.best(SIZE_MAX).size();
  Outcome.Seconds = secondsSince(Begin);
  if (Error E = writeFileAtomically(
          pathIn(O.Output, "report.json"),
          formatv("{0:2}\n",
                  json::Value(makeReport(Outcome, *TheJudge, Known.all())))
              .str()))
    return std::move(E);
  return std::move(Outcome);
}

/// Makes \p Dir a source folder, so that the versions in it can be compiled.
static Error copyUnit(StringRef From, StringRef Dir) {
  for (StringRef Name : {SourceInfoName, UnitSourceName}) {
    Expected<std::unique_ptr<MemoryBuffer>> File = readFile(pathIn(From, Name));
    if (!File)
      return File.takeError();
    if (Error E = writeFileAtomically(pathIn(Dir, Name), (*File)->getBuffer()))
      return E;
  }
  return Error::success();
}

Expected<EvolveOutcome> mneme::evolve(EvolveOptions O) {
  Expected<Archive> A = Archive::open(O.Output, O.Resume);
  if (!A)
    return A.takeError();
  if (Error E = copyUnit(O.Judge.Farm.Base.SourceDir, O.Output))
    return std::move(E);
  if (O.Interrupts)
    O.Judge.Stop = [Interrupts = O.Interrupts] { return *Interrupts > 1; };
  Expected<std::unique_ptr<Judge>> J = Judge::create(O.Judge);
  if (!J)
    return J.takeError();
  return Evolution(std::move(O), std::move(*J), std::move(*A)).run();
}
