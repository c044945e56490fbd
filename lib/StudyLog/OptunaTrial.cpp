//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptunaTrial.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Returns {"name": ..., "attributes": {...}}.
static std::string makeDistribution(StringRef Name, json::Object Attributes) {
  std::string Text;
  raw_string_ostream OS(Text);
  json::OStream J(OS);
  J.object([&] {
    J.attribute("name", Name);
    J.attribute("attributes", std::move(Attributes));
  });
  return Text;
}

/// Finds the progression of an ordered dimension's integers. Returns false if
/// they are not evenly spaced.
static bool getProgression(const SearchSpace &Space, unsigned Dim,
                           int64_t &First, int64_t &Step) {
  const Dimension &D = Space.dimensions()[Dim];
  if (D.Kind != Dimension::Ordered)
    return false;
  auto Get = [&](uint64_t X) {
    Value V = Space.dimensionValue(Dim, X);
    const int64_t *I = std::get_if<int64_t>(&V);
    return I ? std::optional<int64_t>(*I) : std::nullopt;
  };
  std::optional<int64_t> A = Get(0);
  if (!A)
    return false;
  First = *A;
  Step = D.Count > 1 ? *Get(1) - First : 1;
  if (Step <= 0)
    return false;
  if (D.Count < 3)
    return true;
  // A scale of powers of two, for example, differs at its end.
  return *Get(D.Count - 1) ==
         First + static_cast<int64_t>(D.Count - 1) * Step;
}

OptunaSpace::Param OptunaSpace::makeParam(const SearchSpace &Space,
                                          unsigned Dim) {
  const Dimension &D = Space.dimensions()[Dim];
  Param P;
  if (D.Kind == Dimension::Real) {
    P.Distribution = makeDistribution("FloatDistribution",
                                      json::Object{{"low", D.Low},
                                                   {"high", D.High},
                                                   {"log", D.Log},
                                                   {"step", nullptr}});
    return P;
  }
  if (getProgression(Space, Dim, P.First, P.Step)) {
    P.Evenly = true;
    int64_t Last = P.First + static_cast<int64_t>(D.Count - 1) * P.Step;
    P.Distribution = makeDistribution("IntDistribution",
                                      json::Object{{"low", P.First},
                                                   {"high", Last},
                                                   {"log", false},
                                                   {"step", P.Step}});
    return P;
  }
  json::Array Choices;
  for (uint64_t X = 0; X < D.Count; ++X) {
    json::Value V = toJSON(Space.dimensionValue(Dim, X));
    // Optuna distinguishes choices by their values, but alternatives of a
    // pipeline may have equal text.
    if (is_contained(P.Choices, V))
      V = (V.getAsString().value_or("") + " #" + Twine(X)).str();
    P.Choices.push_back(V);
    Choices.push_back(std::move(V));
  }
  P.Distribution =
      makeDistribution("CategoricalDistribution",
                       json::Object{{"choices", std::move(Choices)}});
  return P;
}

OptunaSpace::OptunaSpace(const SearchSpace &Space) : Space(Space) {
  for (auto [I, D] : enumerate(Space.dimensions())) {
    Params.push_back(makeParam(Space, I));
    ByName[D.Name] = I;
  }
}

json::Value OptunaSpace::toInternal(unsigned Dim, double X) const {
  const Param &P = Params[Dim];
  if (Space.dimensions()[Dim].Kind == Dimension::Real)
    return X;
  auto Index = static_cast<int64_t>(X);
  return P.Evenly ? P.First + Index * P.Step : Index;
}

std::optional<double> OptunaSpace::find(unsigned Dim,
                                        const json::Value &External) const {
  const Dimension &D = Space.dimensions()[Dim];
  const Param &P = Params[Dim];
  if (!P.Choices.empty()) {
    auto It = llvm::find(P.Choices, External);
    if (It == P.Choices.end())
      return std::nullopt;
    return It - P.Choices.begin();
  }
  std::optional<double> N = External.getAsNumber();
  if (!N)
    return std::nullopt;
  if (!P.Evenly)
    return *N >= D.Low && *N <= D.High ? N : std::nullopt;
  double X = (*N - P.First) / P.Step;
  if (X < 0 || X >= D.Count || X != std::floor(X))
    return std::nullopt;
  return X;
}

std::optional<unsigned> OptunaSpace::findDimension(StringRef Name) const {
  auto It = ByName.find(Name);
  if (It == ByName.end())
    return std::nullopt;
  return It->second;
}

static Error noSuchValue(StringRef Name, const json::Value &V) {
  std::string Text;
  raw_string_ostream(Text) << V;
  return createStringError("'" + Name + "' cannot be " + Text);
}

/// Returns the canonical number of an inactive dimension.
static double getNeutral(const Dimension &D) {
  return D.Kind == Dimension::Real ? D.Low : 0;
}

Expected<Point> OptunaSpace::makePoint(
    const std::map<std::string, json::Value> &Given) const {
  Point P;
  for (const Dimension &D : Space.dimensions())
    P.push_back(getNeutral(D));
  std::vector<bool> Set(P.size());
  for (const auto &[Name, V] : Given) {
    std::optional<unsigned> Dim = findDimension(Name);
    if (!Dim)
      return createStringError("there is no parameter '" + Twine(Name) + "'");
    std::optional<double> X = find(*Dim, V);
    if (!X)
      return noSuchValue(Name, V);
    P[*Dim] = *X;
    Set[*Dim] = true;
  }
  BitVector Active = Space.activity(P);
  for (auto [I, D] : enumerate(Space.dimensions()))
    if (!Set[I] && Active[I])
      return createStringError("'" + D.Name + "' is missing");
  Space.canonicalize(P);
  return P;
}

/// Returns a string, number or bool as a parameter's value.
static std::optional<Value> toValue(const json::Value &V) {
  if (std::optional<bool> B = V.getAsBoolean())
    return Value(*B);
  if (std::optional<int64_t> I = V.getAsInteger())
    return Value(*I);
  if (std::optional<double> D = V.getAsNumber())
    return Value(*D);
  if (std::optional<StringRef> S = V.getAsString())
    return Value(S->str());
  return std::nullopt;
}

Expected<Point> OptunaSpace::makeEnqueued(const json::Object &Fixed) const {
  StringMap<Value> Whole; // Pipelines.
  std::vector<std::pair<unsigned, double>> Numbers;
  for (const auto &[Key, V] : Fixed) {
    StringRef Name = Key;
    if (std::optional<unsigned> Dim = findDimension(Name)) {
      std::optional<double> X = find(*Dim, V);
      if (!X)
        return noSuchValue(Name, V);
      Numbers.emplace_back(*Dim, *X);
      continue;
    }
    std::optional<Value> Text = toValue(V);
    if (!Space.study().findParameter(Name))
      return createStringError("there is no parameter '" + Name + "'");
    if (!Text)
      return noSuchValue(Name, V);
    Whole[Name] = *Text;
  }
  Expected<Point> P = Space.makePoint(Whole);
  if (!P)
    return P.takeError();
  for (auto [Dim, X] : Numbers)
    (*P)[Dim] = X;
  Space.canonicalize(*P);
  Expected<json::Object> Config = Space.configure(*P);
  if (!Config)
    return Config.takeError();
  return P;
}

std::optional<Point>
OptunaSpace::adapt(const std::map<std::string, json::Value> &Params) const {
  Point Default = Space.defaultPoint();
  Space.canonicalize(Default);
  Point P = Space.defaultPoint();
  for (const auto &[Name, V] : Params)
    if (std::optional<unsigned> Dim = findDimension(Name))
      if (std::optional<double> X = find(*Dim, V))
        P[*Dim] = *X;
  Space.canonicalize(P);
  if (P == Default || !Space.isValid(P))
    return std::nullopt;
  return P;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

OptunaState mneme::getOptunaState(const Trial &T) {
  static constexpr OptunaState States[] = {
      OptunaState::Running, OptunaState::Complete, OptunaState::Pruned,
      OptunaState::Fail};
  bool HidesResult =
      T.Kind == TrialKind::Canary && T.State != TrialState::Running;
  return HidesResult ? OptunaState::Fail
                     : States[static_cast<unsigned>(T.State)];
}

ArrayRef<double> mneme::getOptunaValues(const Trial &T) {
  return T.Kind == TrialKind::Canary ? ArrayRef<double>() : ArrayRef(T.Values);
}

/// String and number members, with the keys of their attributes.
static constexpr std::pair<StringLiteral, std::string Trial::*> TextKeys[] = {
    {"error", &Trial::Error},
    {"ir_hash", &Trial::IRHash},
    {"assembly_hash", &Trial::AssemblyHash},
    {"code_hash", &Trial::CodeHash},
    {"worker", &Trial::Worker},
    {"device", &Trial::Device},
};
static constexpr std::pair<StringLiteral, double Trial::*> NumberKeys[] = {
    {"baseline_ns", &Trial::BaselineNanoseconds},
    {"compile_seconds", &Trial::CompileSeconds},
    {"run_seconds", &Trial::RunSeconds},
    {"started", &Trial::Started},
    {"ended", &Trial::Ended},
};
/// The attributes of a trial that begins.
static constexpr StringLiteral BeginKeys[] = {"config", "kind", "number",
                                              "passes", "started"};

std::map<std::string, json::Value> mneme::makeAttributes(const Trial &T) {
  std::map<std::string, json::Value> A;
  A.emplace("number", T.Number);
  A.emplace("kind", getTrialKindName(T.Kind));
  A.emplace("config", json::Object(T.Config));
  // An attribute of its own is easier to read in a dashboard.
  if (std::optional<StringRef> Passes = T.Config.getString("passes"))
    A.emplace("passes", Passes->str());
  if (!T.Failure.empty())
    A.emplace("failure", T.Failure.name());
  if (T.Level != CompareLevel::Exact)
    A.emplace("level", getLevelName(T.Level));
  for (auto [Key, Member] : TextKeys)
    if (!(T.*Member).empty())
      A.emplace(Key.str(), json::fixUTF8(T.*Member));
  for (auto [Key, Member] : NumberKeys)
    if (T.*Member != 0 && std::isfinite(T.*Member))
      A.emplace(Key.str(), T.*Member);
  json::Object Metrics;
  for (const auto &[Name, V] : T.Metrics)
    if (std::isfinite(V))
      Metrics[Name.str()] = V;
  if (!Metrics.empty())
    A.emplace("metrics", std::move(Metrics));
  json::Array Samples;
  for (double S : T.Samples)
    if (std::isfinite(S))
      Samples.push_back(S);
  if (!Samples.empty())
    A.emplace("samples_ns", std::move(Samples));
  if (T.DuplicateKind != Duplicate::None)
    A.emplace("duplicate", getDuplicateName(T.DuplicateKind));
  if (T.DuplicateOf)
    A.emplace("duplicate_of", *T.DuplicateOf);
  if (T.Suspect)
    A.emplace("suspect", true);
  if (T.Kind == TrialKind::Canary && !T.Values.empty())
    A.emplace("values", json::Array(T.Values));
  return A;
}

bool mneme::isOwnTrial(const json::Object &Attributes) {
  return Attributes.getInteger("number") && Attributes.getObject("config");
}

static Error malformedAttribute(StringRef Key) {
  return createStringError("attribute '" + Key + "' is malformed");
}

static TrialState getTrialState(OptunaState S) {
  switch (S) {
  case OptunaState::Complete:
    return TrialState::Complete;
  case OptunaState::Pruned:
    return TrialState::Pruned;
  case OptunaState::Fail:
    return TrialState::Failed;
  case OptunaState::Running:
  case OptunaState::Waiting:
    break;
  }
  return TrialState::Running;
}

Expected<Trial> mneme::makeTrial(const json::Object &Attributes,
                                 OptunaState State) {
  Trial T;
  T.State = getTrialState(State);
  auto Get = [&](StringRef Key) -> const json::Value * {
    if (T.State == TrialState::Running && !is_contained(BeginKeys, Key))
      return nullptr;
    const json::Value *V = Attributes.get(Key);
    return V && V->kind() != json::Value::Null ? V : nullptr;
  };
  std::optional<int64_t> Number = Attributes.getInteger("number");
  if (!Number || *Number < 0)
    return malformedAttribute("number");
  T.Number = *Number;
  const json::Object *Config = Attributes.getObject("config");
  if (!Config)
    return malformedAttribute("config");
  T.Config = *Config;
  std::optional<TrialKind> Kind =
      parseTrialKind(Attributes.getString("kind").value_or(""));
  if (!Kind)
    return malformedAttribute("kind");
  T.Kind = *Kind;
  if (const json::Value *V = Get("failure")) {
    std::optional<FailureKind> Failure =
        FailureKind::parse(V->getAsString().value_or("?"));
    if (!Failure)
      return malformedAttribute("failure");
    T.Failure = *Failure;
  }
  if (const json::Value *V = Get("level")) {
    std::optional<CompareLevel> Level =
        parseLevel(V->getAsString().value_or("?"));
    if (!Level)
      return malformedAttribute("level");
    T.Level = *Level;
  }
  for (auto [Key, Member] : TextKeys)
    if (const json::Value *V = Get(Key)) {
      if (!V->getAsString())
        return malformedAttribute(Key);
      T.*Member = V->getAsString()->str();
    }
  for (auto [Key, Member] : NumberKeys)
    if (const json::Value *V = Get(Key)) {
      if (!V->getAsNumber())
        return malformedAttribute(Key);
      T.*Member = *V->getAsNumber();
    }
  if (const json::Value *V = Get("metrics")) {
    if (!V->getAsObject())
      return malformedAttribute("metrics");
    for (const auto &[Name, M] : *V->getAsObject())
      if (std::optional<double> N = M.getAsNumber())
        T.Metrics[StringRef(Name)] = *N;
  }
  if (const json::Value *V = Get("samples_ns")) {
    if (!V->getAsArray())
      return malformedAttribute("samples_ns");
    for (const json::Value &S : *V->getAsArray())
      if (std::optional<double> N = S.getAsNumber())
        T.Samples.push_back(*N);
  }
  if (const json::Value *V = Get("duplicate")) {
    std::optional<Duplicate> D = parseDuplicate(V->getAsString().value_or(""));
    if (!D)
      return malformedAttribute("duplicate");
    T.DuplicateKind = *D;
  }
  if (const json::Value *V = Get("duplicate_of")) {
    std::optional<int64_t> Of = V->getAsInteger();
    if (!Of)
      return malformedAttribute("duplicate_of");
    T.DuplicateOf = *Of;
  }
  if (const json::Value *V = Get("suspect"))
    T.Suspect = V->getAsBoolean().value_or(false);
  if (T.Kind == TrialKind::Canary && T.State == TrialState::Failed &&
      T.Failure.empty())
    T.State = TrialState::Complete;
  if (const json::Value *V = Get("values")) {
    if (!V->getAsArray())
      return malformedAttribute("values");
    for (const json::Value &N : *V->getAsArray())
      T.Values.push_back(N.getAsNumber().value_or(0));
  }
  return T;
}
