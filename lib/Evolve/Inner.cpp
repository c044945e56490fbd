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

static RecordedFacts makeFacts(const ReplayPlan &Plan) {
  const RecordedInstance &I = Plan.instance();
  const RecordedKernel &K = Plan.kernel();
  return makeRecordedFacts(I.Grid, I.Block, I.SharedMem, I.Cooperative,
                           K.OptLevel, K.Arch, K.KernelName);
}

Expected<VersionSpace> VersionSpace::create(StringRef Version,
                                            const ReplayFarm &Farm,
                                            CommandLineSpace More) {
  VersionSpace V;
  V.Text = Version.str();
  Expected<std::vector<SourceKnob>> Knobs = findKnobs(Version);
  if (!Knobs)
    return Knobs.takeError();
  CommandLineSpace Space;
  for (const SourceKnob &K : *Knobs)
    Space.push_back({K.Option, K.Text});
  append_range(Space, More);
  if (Space.empty())
    return V;
  Study S;
  S.Name = "candidate";
  if (Error E = applyToStudy(Space, S))
    return std::move(E);
  for (const std::unique_ptr<ReplayPlan> &P : Farm.plans()) {
    Expected<SearchSpace> Bound = SearchSpace::create(S, makeFacts(*P));
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
    (*Config)["source"] = json::fixUTF8(Text);
    All.push_back(std::move(*Config));
  }
  return CandidateConfig(std::move(All));
}

Expected<CandidateConfig> VersionSpace::configureDefault() const {
  if (isEmpty())
    return CandidateConfig(json::Object{{"source", json::fixUTF8(Text)}});
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

Expected<unsigned> mneme::searchInner(Judge &J, EvolvedCandidate &C,
                                      unsigned Trials,
                                      const CommandLineSpace &More,
                                      uint64_t Seed) {
  Expected<VersionSpace> Space = VersionSpace::create(C.Text, J.farm(), More);
  if (!Space)
    return Space.takeError();
  if (Space->isEmpty())
    return 0;
  std::vector<Trial> History;
  DenseSet<uint64_t> Proposed;
  SamplerContext Context{
      Space->first(), {Direction::Maximize}, Seed, History, Proposed};
  Expected<std::unique_ptr<Sampler>> S = createSampler("lfbo", Context);
  if (!S)
    return S.takeError();
  while (History.size() < Trials) {
    Expected<std::vector<Point>> Points = (*S)->ask(
        std::min<unsigned>(J.farm().capacity(), Trials - History.size()));
    if (!Points)
      return Points.takeError();
    if (Points->empty())
      break;
    std::vector<CandidateConfig> Configs;
    std::vector<Point> Valid;
    for (Point &P : *Points) {
      Proposed.insert(Space->first().digest(P));
      Expected<CandidateConfig> Config = Space->configure(P);
      if (!Config) {
        // A constraint does not hold for another launch.
        consumeError(Config.takeError());
        continue;
      }
      Configs.push_back(std::move(*Config));
      Valid.push_back(std::move(P));
    }
    Expected<std::vector<Judgement>> Results =
        J.judge(Configs, JudgeStage::Measure);
    if (!Results)
      return Results.takeError();
    for (auto [P, R, Config] : zip_equal(Valid, *Results, Configs)) {
      Trial &T = History.emplace_back();
      T.Number = History.size() - 1;
      T.P = P;
      T.State = R.Failure.empty() ? TrialState::Complete : TrialState::Failed;
      T.Failure = R.Failure;
      if (R.Estimate)
        T.Values = {*R.Estimate};
      (*S)->tell(T);
      if (!R.Failure.empty() || !R.Estimate || *R.Estimate <= C.score())
        continue;
      C.Values = printPoint(Space->first(), P);
      C.Config = Config.of(0);
      C.Config.erase("source");
      C.J = std::move(R);
    }
    if (Valid.empty())
      break;
  }
  C.InnerTrials += History.size();
  return History.size();
}
