//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ServedSpace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Samplers/PointJSON.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::serve;

/// Points of one answer, and of all answers of a space.
static constexpr unsigned MaxAsked = 65536;
static constexpr size_t MaxTrials = size_t(1) << 24;

static std::vector<Direction> getDirections(const Study &S) {
  std::vector<Direction> Result;
  for (const Objective &Obj : S.Objectives)
    Result.push_back(Obj.Dir);
  return Result;
}

ServedSpace::ServedSpace(SearchSpace S, uint64_t Seed)
    : Space(std::move(S)),
      Context{Space, getDirections(Space.study()), Seed, Trials, Proposed} {}

Expected<std::unique_ptr<ServedSpace>>
ServedSpace::create(Study S, RecordedFacts Recorded, StringRef Sampler,
                    uint64_t Seed) {
  StringRef Kind = Sampler.split('=').first;
  if (Kind == "external" || Kind == "file")
    return createStringError("the sampler '" + Kind +
                             "' runs in the client: ask the client's own "
                             "sampler and tell the results");
  Expected<SearchSpace> Space =
      SearchSpace::create(std::move(S), std::move(Recorded));
  if (!Space)
    return Space.takeError();
  std::unique_ptr<ServedSpace> Result(
      new ServedSpace(std::move(*Space), Seed));
  if (Error E =
          createSampler(Sampler, Result->Context).moveInto(Result->TheSampler))
    return std::move(E);
  return Result;
}

message::SpaceMade ServedSpace::describe() const {
  message::SpaceMade M;
  M.Study = Space.study().Name;
  for (const Objective &Obj : Space.study().Objectives)
    M.Objectives.push_back({Obj.Metric, Obj.Dir == Direction::Minimize
                                            ? "minimize"
                                            : "maximize"});
  M.Parameters = describeParameters(Space);
  for (const Dimension &D : Space.dimensions())
    M.Dimensions.push_back(D.Name);
  if (std::optional<APInt> Count = Space.count()) {
    SmallString<32> Text;
    Count->toStringUnsigned(Text);
    M.Count = Text.str().str();
  }
  M.Default = printPoint(Space, Space.defaultPoint());
  return M;
}

Expected<ServedProposal> ServedSpace::add(Point P, TrialKind Kind) {
  if (Trials.size() == MaxTrials)
    return createStringError(
        formatv("a space has at most {0} points", MaxTrials).str());
  Expected<json::Object> Config = Space.configure(P);
  if (!Config)
    return Config.takeError();
  Proposed.insert(Space.digest(P));
  Trial T;
  T.Number = Trials.size();
  T.Kind = Kind;
  T.P = std::move(P);
  T.Config = *Config;
  T.Started = epochSeconds();
  Trials.push_back(std::move(T));
  return ServedProposal{Trials.back().Number,
                        printPoint(Space, Trials.back().P),
                        std::move(*Config)};
}

Expected<std::vector<ServedProposal>> ServedSpace::ask(unsigned N) {
  N = std::min(N, MaxAsked);
  std::vector<ServedProposal> Result;
  if (N && Trials.empty() && Space.isValid(Space.defaultPoint())) {
    Expected<ServedProposal> First =
        add(Space.defaultPoint(), TrialKind::Start);
    if (First)
      Result.push_back(std::move(*First));
    else
      consumeError(First.takeError());
  }
  if (Result.size() == N)
    return Result;
  Expected<std::vector<Point>> Points = TheSampler->ask(N - Result.size());
  if (!Points)
    return Points.takeError();
  for (Point &P : *Points) {
    Expected<ServedProposal> Next = add(std::move(P), TrialKind::Search);
    if (!Next)
      return Next.takeError();
    Result.push_back(std::move(*Next));
  }
  return Result;
}

Error ServedSpace::tell(const message::Tell &M) {
  uint64_t Number = M.Number.value_or(0);
  if (!M.Number) {
    Expected<Point> P = parsePoint(Space, json::Object(M.Point));
    if (!P)
      return P.takeError();
    Expected<ServedProposal> Added = add(std::move(*P), TrialKind::Imported);
    if (!Added)
      return Added.takeError();
    Number = Added->Number;
  } else if (!M.Point.empty()) {
    return createStringError("a proposal has a number or a point, not both");
  }
  if (Number >= Trials.size())
    return createStringError(formatv("there is no proposal {0}", Number).str());
  Trial &T = Trials[Number];
  if (T.State != TrialState::Running)
    return createStringError(
        formatv("the result of proposal {0} is known", Number).str());
  size_t Wanted = Context.Directions.size();
  if (!M.Values.empty() && M.Values.size() != Wanted)
    return createStringError(formatv("expected {0} values, got {1}", Wanted,
                                     M.Values.size())
                                 .str());
  if (M.DuplicateOf && *M.DuplicateOf >= Trials.size())
    return createStringError(
        formatv("there is no proposal {0}", *M.DuplicateOf).str());
  T.Values = M.Values;
  T.State = M.Values.empty() ? TrialState::Failed
            : M.Pruned       ? TrialState::Pruned
                             : TrialState::Complete;
  if (M.Values.empty())
    T.Failure = M.Failure.empty() ? FailureKind::Invalid : M.Failure;
  T.DuplicateOf = M.DuplicateOf;
  if (M.DuplicateOf)
    T.DuplicateKind = Duplicate::Code;
  T.Ended = epochSeconds();
  TheSampler->tell(T);
  return Error::success();
}

Expected<ServedProposal>
ServedSpace::configure(const json::Object &Values) const {
  Expected<Point> P = parsePoint(Space, json::Object(Values));
  if (!P)
    return P.takeError();
  Expected<json::Object> Config = Space.configure(*P);
  if (!Config)
    return Config.takeError();
  return ServedProposal{0, printPoint(Space, *P), std::move(*Config)};
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static Expected<Expr> parseConstant(const json::Value &V) {
  if (std::optional<bool> B = V.getAsBoolean())
    return Expr::constant(*B);
  if (std::optional<int64_t> I = V.getAsInteger())
    return Expr::constant(*I);
  if (std::optional<double> D = V.getAsNumber())
    return Expr::constant(*D);
  if (std::optional<StringRef> S = V.getAsString())
    return Expr::constant(S->str());
  return createStringError("expected a value");
}

static Expected<Expr> parseBound(const json::Object &O, StringRef Key,
                                 bool IsReal) {
  const json::Value *V = O.get(Key);
  if (!V)
    return createStringError("'" + Key + "' is missing");
  std::optional<double> D = V->getAsNumber();
  std::optional<int64_t> I = V->getAsInteger();
  if (IsReal && D)
    return Expr::constant(*D);
  if (!IsReal && I)
    return Expr::constant(*I);
  return createStringError("'" + Key + "': expected " +
                           (IsReal ? "a number" : "an integer"));
}

static Error parseRange(const json::Object &O, Parameter &P) {
  bool IsReal = P.Kind == Parameter::Real;
  if (Error E = parseBound(O, "low", IsReal).moveInto(P.Low))
    return E;
  if (Error E = parseBound(O, "high", IsReal).moveInto(P.High))
    return E;
  if (O.getBoolean("log").value_or(false))
    P.Scale = Parameter::Log;
  if (O.get("step"))
    return parseBound(O, "step", IsReal).moveInto(P.Step);
  return Error::success();
}

static Error parseParameter(const json::Object &O, Parameter &P) {
  static constexpr StringLiteral Members[] = {
      "name", "kind", "low", "high", "step", "log", "values", "space",
      "default"};
  for (const auto &KV : O)
    if (!is_contained(Members, StringRef(KV.first)))
      return createStringError("unknown member '" + StringRef(KV.first) + "'");
  StringRef Kind = O.getString("kind").value_or("");
  const json::Array *Values = O.getArray("values");
  if (const json::Value *V = O.get("default"))
    if (Error E = parseConstant(*V).moveInto(P.Default))
      return E;
  if (Kind == "bool") {
    P.Kind = Parameter::Bool;
    return Error::success();
  }
  if (Kind == "pipeline") {
    P.Kind = Parameter::Pipeline;
    P.Space = O.getString("space").value_or("").str();
    return Error::success();
  }
  if (Values) {
    P.Kind = Parameter::Choice;
    for (const json::Value &V : *Values)
      if (Error E = parseConstant(V).moveInto(P.Choices.emplace_back()))
        return E;
    return Error::success();
  }
  if (Kind != "int" && Kind != "real")
    return createStringError("expected the kind int, real, bool, choice or "
                             "pipeline, got '" +
                             Kind + "'");
  P.Kind = Kind == "int" ? Parameter::Int : Parameter::Real;
  // The default of a real may be written as an integer.
  if (P.Kind == Parameter::Real && P.Default &&
      P.Default.type() == ValueType::Int)
    P.Default = Expr::constant(double(std::get<int64_t>(P.Default.value())));
  return parseRange(O, P);
}

Expected<std::vector<Parameter>>
serve::parseParameters(const json::Array &List) {
  std::vector<Parameter> Result;
  for (const json::Value &V : List) {
    const json::Object *O = V.getAsObject();
    if (!O)
      return createStringError("a parameter is not an object");
    Parameter &P = Result.emplace_back();
    P.Name = O->getString("name").value_or("").str();
    if (Error E = parseParameter(*O, P))
      return addContext("parameter '" + P.Name + "'", std::move(E));
  }
  return Result;
}
