//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the processor time of a proposal by sampler, number of trials and
// number of dimensions.
//
// A study gets a history of random points with simulated values. Then the
// sampler proposes one point at a time, whose value is simulated before the
// next proposal. There are two kinds of spaces: parameters without constraints,
// and a pipeline of free order. --space measures the pipeline space of a file
// instead.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Samplers/Sampler.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include <ctime>

using namespace llvm;
using namespace llvm::mneme;

static cl::list<std::string> SamplerNames("sampler", cl::CommaSeparated,
                                          cl::desc("Samplers to measure"));
static cl::list<unsigned> TrialCounts("trials", cl::CommaSeparated,
                                      cl::desc("Lengths of the history"));
static cl::list<unsigned> DimensionCounts("dimensions", cl::CommaSeparated,
                                          cl::desc("Dimensions of the spaces"));
static cl::opt<std::string> SpaceFile("space",
                                      cl::desc("File with a pipeline space"));
static cl::opt<unsigned> Proposals("proposals", cl::init(9),
                                   cl::desc("Proposals to take the median of"));
static cl::opt<bool> AsJSON("json", cl::desc("Print JSON"));

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

static Parameter makeInt(std::string Name, int64_t High) {
  Parameter P;
  P.Name = std::move(Name);
  P.Low = Expr::constant(int64_t(0));
  P.High = Expr::constant(High);
  return P;
}

static Parameter makeChoice(std::string Name, unsigned Count) {
  Parameter P;
  P.Name = std::move(Name);
  P.Kind = Parameter::Choice;
  for (unsigned I = 0; I != Count; ++I)
    P.Choices.push_back(Expr::constant("choice" + std::to_string(I)));
  return P;
}

static Parameter makePipeline(std::string Space) {
  Parameter P;
  P.Name = "passes";
  P.Kind = Parameter::Pipeline;
  P.Space = std::move(Space);
  return P;
}

static Expected<SearchSpace> makeSpace(std::vector<Parameter> Parameters) {
  Study S;
  S.Name = "benchmark";
  for (Parameter &P : Parameters) {
    std::string Key = P.Kind == Parameter::Pipeline ? P.Name : "llvm." + P.Name;
    S.Fields.push_back({Key, Expr::parameter(P.Name, P.type())});
    S.Parameters.push_back(std::move(P));
  }
  S.Objectives.push_back({"time", Direction::Minimize});
  return SearchSpace::create(std::move(S),
                             makeRecordedFacts({64, 1, 1}, {256, 1, 1}, 0,
                                               false, "3", "sm_90", "kernel"));
}

/// Numbers, switches and choices.
static Expected<SearchSpace> makeParameters(unsigned Dimensions) {
  std::vector<Parameter> Parameters;
  for (unsigned I = 0; I != Dimensions; ++I) {
    std::string Name = "p" + std::to_string(I);
    if (I % 2)
      Parameters.push_back(makeChoice(Name, I % 4 == 1 ? 2 : 5));
    else
      Parameters.push_back(makeInt(Name, I % 4 ? 31 : 255));
  }
  return makeSpace(std::move(Parameters));
}

/// Four decisions per step.
static Expected<SearchSpace> makeOrder(unsigned Dimensions) {
  return makeSpace({makePipeline(
      formatv("function(seq<1..{0}>(sroa|gvn|licm|dse|early-cse<memssa>|"
              "simplifycfg<{{hoist-common-insts|sink-common-insts|}>|"
              "loop-unroll<{{O2|O3};full-unroll-max=[8..256:8]>))",
              std::max(1u, Dimensions / 4))
          .str())});
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

namespace {
class SimulatedStudy {
public:
  explicit SimulatedStudy(const SearchSpace &Space)
      : Space(Space),
        Context{Space, {Direction::Minimize}, 1, History, Proposed} {}

  /// Adds a completed trial of the point.
  void add(const Point &P) {
    Trial T;
    T.Number = History.size();
    T.P = P;
    T.State = TrialState::Complete;
    T.Values = {getValue(P)};
    Proposed.insert(Space.digest(P));
    History.push_back(std::move(T));
  }
  size_t size() const { return History.size(); }

  const SearchSpace &Space;

private:
  std::vector<Trial> History;
  DenseSet<uint64_t> Proposed;

public:
  const SamplerContext Context;

private:
  /// The distance from a hidden point, to which dimensions contribute
  /// unequally.
  double getValue(const Point &P) const {
    double Sum = 100;
    for (auto [I, D] : enumerate(Space.dimensions())) {
      double Target = 0.1 * (I * 7 % 10);
      double Here = D.High > D.Low ? (P[I] - D.Low) / (D.High - D.Low) : 0;
      Sum += std::abs(Here - Target) * (1 + I % 5) / (1.0 + I / 10);
    }
    return Sum;
  }
};
} // namespace

/// Returns the median processor time of a proposal in milliseconds.
static Expected<double> measure(StringRef Name, const SearchSpace &Space,
                                size_t Trials) {
  SimulatedStudy Study(Space);
  Expected<std::unique_ptr<Sampler>> S = createSampler(Name, Study.Context);
  if (!S)
    return S.takeError();
  auto Take = [&](unsigned N) -> Error {
    Expected<std::vector<Point>> Points = (*S)->ask(N);
    if (!Points)
      return Points.takeError();
    if (Points->empty())
      return createStringError("'" + Name + "' has no more points");
    for (const Point &P : *Points)
      Study.add(P);
    return Error::success();
  };
  // Samplers begin with up to 50 points that need no model.
  if (Error E = Take(50))
    return std::move(E);
  RandomEngine Random(1);
  while (Study.size() < Trials)
    if (std::optional<Point> P = Space.sample(Random))
      Study.add(*P);
  std::vector<double> Took;
  for (unsigned I = 0; I != Proposals; ++I) {
    std::clock_t Begin = std::clock();
    if (Error E = Take(1))
      return std::move(E);
    Took.push_back(1e3 * double(std::clock() - Begin) / CLOCKS_PER_SEC);
  }
  llvm::sort(Took);
  return Took[Took.size() / 2];
}

static Error measureAll(json::Array &Rows) {
  if (!AsJSON) {
    outs() << formatv("{0,-10}  {1,-10}  {2,10}", "sampler", "space",
                      "dimensions");
    for (unsigned Trials : TrialCounts)
      outs() << formatv("  {0,8}", Trials);
    outs() << " trials, ms a proposal\n";
  }
  auto Measure = [&](StringRef Kind, Expected<SearchSpace> Space) -> Error {
    if (!Space)
      return Space.takeError();
    for (StringRef Name : SamplerNames) {
      if (!AsJSON)
        outs() << formatv("{0,-10}  {1,-10}  {2,10}", Name, Kind,
                          Space->dimensions().size());
      for (unsigned Trials : TrialCounts) {
        Expected<double> Milliseconds = measure(Name, *Space, Trials);
        if (!Milliseconds)
          return Milliseconds.takeError();
        Rows.push_back(json::Object{{"sampler", Name},
                                    {"space", Kind},
                                    {"dimensions", Space->dimensions().size()},
                                    {"trials", Trials},
                                    {"milliseconds", *Milliseconds}});
        if (!AsJSON)
          outs() << formatv("  {0,8:f2}", *Milliseconds);
      }
      if (!AsJSON)
        outs() << '\n';
      outs().flush();
    }
    return Error::success();
  };
  if (!SpaceFile.empty()) {
    Expected<std::unique_ptr<MemoryBuffer>> File = readFile(SpaceFile);
    if (!File)
      return File.takeError();
    return Measure("file",
                   makeSpace({makePipeline((*File)->getBuffer().str())}));
  }
  for (unsigned Count : DimensionCounts) {
    if (Error E = Measure("parameters", makeParameters(Count)))
      return E;
    if (Error E = Measure("pipeline", makeOrder(Count)))
      return E;
  }
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Processor time of a proposal\n");
  if (SamplerNames.empty())
    for (StringRef Name :
         {"lfbo", "tpe", "nsga2", "ils", "evolution", "random"})
      SamplerNames.push_back(Name.str());
  if (TrialCounts.empty())
    for (unsigned Count : {100, 300, 1000})
      TrialCounts.push_back(Count);
  if (DimensionCounts.empty())
    for (unsigned Count : {20, 60, 200})
      DimensionCounts.push_back(Count);
  json::Array Rows;
  if (Error E = measureAll(Rows)) {
    WithColor::error(errs(), "mneme-bench-samplers")
        << toString(std::move(E)) << '\n';
    return 1;
  }
  if (AsJSON)
    outs() << formatv("{0:2}\n", json::Value(std::move(Rows)));
  return 0;
}
