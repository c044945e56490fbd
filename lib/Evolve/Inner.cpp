//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inner.h"
#include "llvm/Mneme/Samplers/PointJSON.h"
#include "llvm/Mneme/Samplers/Sampler.h"
#include "llvm/Mneme/Source/Knobs.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Shapes that fail before all others are taken for failures.
static constexpr unsigned HopelessShapes = 8;
/// Untried shapes in a batch.
static constexpr unsigned UntriedShapes = 4;

Expected<VersionSpace> VersionSpace::create(StringRef Version,
                                            const ReplayFarm &Farm,
                                            const InnerSpace &Inner) {
  // No version is the recorded code.
  if (Version.trim().empty())
    return createStringError("the text of the version is empty");
  VersionSpace V;
  V.Text = Version.str();
  Expected<std::vector<SourceKnob>> Knobs = findKnobs(Version);
  if (!Knobs)
    return Knobs.takeError();
  CommandLineSpace Space;
  for (const SourceKnob &K : *Knobs)
    Space.push_back({K.Option, K.Text});
  append_range(Space, Inner.Options);
  Study S = Inner.Base;
  if (Space.empty() && S.Parameters.empty())
    return V;
  if (S.Name.empty())
    S.Name = "candidate";
  if (Error E = applyToStudy(Space, S))
    return std::move(E);
  for (const std::unique_ptr<ReplayPlan> &P : Farm.plans()) {
    Expected<SearchSpace> Bound =
        SearchSpace::create(S, makeRecordedFacts(P->kernel(), P->instance()));
    if (!Bound)
      return Bound.takeError();
    V.Spaces.push_back(std::move(*Bound));
  }
  return V;
}

Expected<CandidateConfig> VersionSpace::configure(const Point &P) const {
  StringMap<Value> Values = Spaces.front().values(P);
  std::vector<json::Object> All;
  for (const SearchSpace &S : Spaces) {
    Expected<Point> Own = S.makePoint(Values);
    if (!Own)
      return Own.takeError();
    Expected<json::Object> Config = S.configure(*Own);
    if (!Config)
      return Config.takeError();
    (*Config)["source"] = makeSourceSetting(Text);
    All.push_back(std::move(*Config));
  }
  return CandidateConfig(std::move(All));
}

Expected<CandidateConfig> VersionSpace::configureDefault() const {
  if (isEmpty())
    return CandidateConfig(json::Object{{"source", makeSourceSetting(Text)}});
  return configure(first().defaultPoint());
}

Expected<CandidateConfig>
VersionSpace::configure(const json::Object &Values) const {
  if (Values.empty() || isEmpty())
    return configureDefault();
  Expected<Point> P = parsePoint(first(), json::Object(Values));
  if (!P)
    return P.takeError();
  return configure(*P);
}

std::string LaunchShapes::get(const json::Object &Config,
                              const ReplayPlan &Plan) {
  std::string Shape, Recorded;
  for (auto [Prefix, Of] :
       {std::pair("block.", Plan.block()), std::pair("grid.", Plan.grid())})
    for (unsigned I : {0, 1, 2}) {
      int64_t Size = Of[I];
      Recorded += formatv("{0} ", Size);
      Size = Config.getInteger(std::string(Prefix) + "xyz"[I]).value_or(Size);
      Shape += formatv("{0} ", Size);
    }
  return Shape == Recorded ? std::string() : Shape;
}

static bool isCrash(FailureKind Failure) {
  return Failure == FailureKind::Crash || Failure == FailureKind::Timeout;
}

FailureKind LaunchShapes::predict(StringRef Shape) const {
  if (isTried(Shape)) {
    // Wrong results may be those of the passes, and cost little.
    FailureKind Known = Seen.lookup(Shape);
    return isCrash(Known) ? Known : FailureKind::None;
  }
  return Verified == 0 && Crashed >= HopelessShapes ? FailureKind::Invalid
                                                    : FailureKind::None;
}

void LaunchShapes::note(StringRef Shape, FailureKind Failure) {
  bool Ran =
      Failure.empty() || isCrash(Failure) || Failure == FailureKind::Mismatch;
  if (Shape.empty() || !Ran)
    return;
  FailureKind &Known =
      Seen.try_emplace(Shape, FailureKind::Mismatch).first->second;
  if (Known != FailureKind::Mismatch || Failure == FailureKind::Mismatch)
    return;
  Known = Failure;
  ++(Failure.empty() ? Verified : Crashed);
}

static Trial makeTrial(uint64_t Number, Point P, const InnerTrial &I) {
  Trial T;
  T.Number = Number;
  T.P = std::move(P);
  T.State = I.Failure.empty() ? TrialState::Complete : TrialState::Failed;
  T.Failure = I.Failure;
  if (I.Failure.empty() && I.Estimate)
    T.Values = {*I.Estimate};
  return T;
}

namespace {
/// One call of searchInner().
class InnerSearch {
public:
  InnerSearch(Judge &J, EvolvedCandidate &C, const VersionSpace &Space,
              LaunchShapes &Shapes)
      : J(J), C(C), Space(Space), Shapes(Shapes) {}

  Error run(unsigned Trials, uint64_t Seed, function_ref<bool()> IsOver);

private:
  Judge &J;
  EvolvedCandidate &C;
  const VersionSpace &Space;
  LaunchShapes &Shapes;
  std::vector<Trial> History;
  DenseSet<uint64_t> Proposed;

  /// A trial of a batch that has a configuration.
  struct Bound {
    InnerTrial *Trial;
    CandidateConfig Config;
    std::string Shape;
  };

  Error readHistory();
  Error evaluate(ArrayRef<Point> Points);
  Error judge(ArrayRef<Bound *> Some);
  void add(Point P, InnerTrial T);
};
} // namespace

void InnerSearch::add(Point P, InnerTrial T) {
  Proposed.insert(Space.first().digest(P));
  History.push_back(makeTrial(History.size(), std::move(P), T));
}

Error InnerSearch::readHistory() {
  for (const InnerTrial &T : C.Inner) {
    Expected<Point> P = parsePoint(Space.first(), json::Object(T.Values));
    if (!P)
      return P.takeError();
    add(std::move(*P), T);
  }
  return Error::success();
}

Error InnerSearch::judge(ArrayRef<Bound *> Some) {
  std::vector<CandidateConfig> Configs;
  for (const Bound *B : Some)
    Configs.push_back(B->Config);
  Expected<std::vector<Judgement>> Results =
      J.judge(Configs, JudgeStage::Measure);
  if (!Results)
    return Results.takeError();
  for (auto [B, R] : zip_equal(Some, *Results)) {
    B->Trial->Failure = R.Failure;
    B->Trial->Estimate = R.Estimate;
    Shapes.note(B->Shape, R.Failure);
    if (!R.Failure.empty() || !R.Estimate || *R.Estimate <= C.score())
      continue;
    C.Values = json::Object(B->Trial->Values);
    C.Config = B->Config.of(0);
    C.Config.erase("source");
    C.J = std::move(R);
  }
  return Error::success();
}

Error InnerSearch::evaluate(ArrayRef<Point> Points) {
  std::vector<InnerTrial> Trials(Points.size());
  std::vector<Bound> All;
  for (auto [P, T] : zip_equal(Points, Trials)) {
    T.Values = printPoint(Space.first(), P);
    Expected<CandidateConfig> Config = Space.configure(P);
    if (Config) {
      std::string Shape =
          LaunchShapes::get(Config->of(0), *J.farm().plans().front());
      All.push_back({&T, std::move(*Config), std::move(Shape)});
      continue;
    }
    // A constraint does not hold for another launch.
    consumeError(Config.takeError());
    T.Failure = FailureKind::Invalid;
  }
  std::vector<Bound *> Left;
  for (Bound &B : All)
    Left.push_back(&B);
  while (!Left.empty()) {
    std::vector<Bound *> Now, Later;
    unsigned Untried = 0;
    for (Bound *B : Left) {
      FailureKind Known = Shapes.predict(B->Shape);
      if (!Known.empty())
        B->Trial->Failure = Known;
      else if (Shapes.isTried(B->Shape) || Untried++ < UntriedShapes)
        Now.push_back(B);
      else
        Later.push_back(B);
    }
    if (Now.empty())
      break;
    if (Error E = judge(Now))
      return E;
    Left = std::move(Later);
  }
  for (auto [P, T] : zip_equal(Points, Trials)) {
    add(P, T);
    C.Inner.push_back(std::move(T));
  }
  return Error::success();
}

Error InnerSearch::run(unsigned Trials, uint64_t Seed,
                       function_ref<bool()> IsOver) {
  // The values of the parent.
  if (C.Inner.empty() && !C.Values.empty())
    C.Inner.push_back({C.Values, FailureKind::None, C.J.Estimate});
  if (Error E = readHistory())
    return E;
  SamplerContext Context{
      Space.first(), {Direction::Maximize}, Seed, History, Proposed};
  Expected<std::unique_ptr<Sampler>> S = createSampler("lfbo", Context);
  if (!S)
    return S.takeError();
  while (C.Inner.size() < Trials && !IsOver()) {
    Expected<std::vector<Point>> Points = (*S)->ask(
        std::min<size_t>(J.farm().capacity(), Trials - C.Inner.size()));
    if (!Points)
      return Points.takeError();
    if (Points->empty())
      break;
    size_t Begin = History.size();
    if (Error E = evaluate(*Points))
      return E;
    for (const Trial &T : ArrayRef(History).drop_front(Begin))
      (*S)->tell(T);
  }
  return Error::success();
}

Error mneme::searchInner(Judge &J, EvolvedCandidate &C, unsigned Trials,
                         const InnerSpace &Inner, uint64_t Seed,
                         LaunchShapes &Shapes, function_ref<bool()> IsOver) {
  Expected<VersionSpace> Space = VersionSpace::create(C.Text, J.farm(), Inner);
  if (!Space)
    return Space.takeError();
  if (Space->isEmpty())
    return Error::success();
  return InnerSearch(J, C, *Space, Shapes).run(Trials, Seed, IsOver);
}
