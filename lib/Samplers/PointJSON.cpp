//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Samplers/PointJSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

/// \returns std::nullopt if \p V has another type. A number without a fraction
/// is also an integer, because some languages print integers as reals.
static std::optional<Value> parseValue(const json::Value &V, ValueType Type) {
  switch (Type) {
  case ValueType::Bool:
    if (std::optional<bool> B = V.getAsBoolean())
      return Value(*B);
    break;
  case ValueType::Int:
    if (std::optional<int64_t> I = V.getAsInteger())
      return Value(*I);
    break;
  case ValueType::Real:
    if (std::optional<double> D = V.getAsNumber())
      return Value(*D);
    break;
  case ValueType::Text:
    if (std::optional<StringRef> S = V.getAsString())
      return Value(S->str());
    break;
  }
  return std::nullopt;
}

/// \returns the dimension of the pipeline decision \p Name.
static std::optional<unsigned> findDecision(const SearchSpace &Space,
                                            StringRef Name) {
  for (auto [I, D] : enumerate(Space.dimensions()))
    if (D.Decision && D.Name == Name)
      return I;
  return std::nullopt;
}

Expected<Point> mneme::parsePoint(const SearchSpace &Space,
                                  const json::Value &V) {
  const json::Object *O = V.getAsObject();
  if (!O)
    return createStringError("expected an object of parameters and values");
  StringMap<Value> Values;
  std::vector<std::pair<unsigned, uint64_t>> Decisions;
  for (const auto &[Key, JSON] : *O) {
    StringRef Name = Key;
    if (const Parameter *P = Space.study().findParameter(Name)) {
      std::optional<Value> Parsed = parseValue(JSON, P->type());
      if (!Parsed)
        return make_error<KeyError>(Name,
                                    formatv("'{0}': expected {1}, not {2}",
                                            Name, getTypeName(P->type()), JSON)
                                        .str());
      Values[Name] = std::move(*Parsed);
    } else if (std::optional<unsigned> Dim = findDecision(Space, Name)) {
      const Dimension &D = Space.dimensions()[*Dim];
      std::optional<int64_t> Number = JSON.getAsInteger();
      if (!Number || *Number < 0 || uint64_t(*Number) >= D.Count)
        return make_error<KeyError>(Name,
                                    formatv("'{0}': expected 0 to {1}, not {2}",
                                            Name, D.Count - 1, JSON)
                                        .str());
      Decisions.push_back({*Dim, *Number});
    } else {
      return make_error<KeyError>(Name, "there is no parameter '" + Name + "'");
    }
  }

  Expected<Point> P = Space.makePoint(Values);
  if (!P)
    return P;
  for (auto [Dim, Number] : Decisions)
    (*P)[Dim] = Number;
  Space.canonicalize(*P);
  if (Expected<json::Object> Config = Space.configure(*P); !Config)
    return Config.takeError();
  return P;
}

json::Object mneme::printPoint(const SearchSpace &Space, const Point &P) {
  json::Object O;
  // Copy the keys: the object outlives the map.
  for (const auto &Entry : Space.values(P))
    O[Entry.getKey().str()] = toJSON(Entry.getValue());
  return O;
}

/// Evaluates an expression of constants and recorded facts, which the space has
/// looked up before.
static Value evaluate(const SearchSpace &Space, const Expr &E) {
  return cantFail(
      E.evaluate([&](StringRef Name, Expr::KindTy) -> Expected<Value> {
        return Space.recorded().at(Name);
      }));
}

static void describeInt(const SearchSpace &Space, const Parameter &P,
                        json::Object &O) {
  int64_t Low = std::get<int64_t>(evaluate(Space, P.Low));
  int64_t High = std::get<int64_t>(evaluate(Space, P.High));
  if (P.Scale == Parameter::Log) {
    json::Array Values;
    for (int64_t V = Low; V <= High && V > 0; V *= 2) {
      Values.push_back(V);
      if (V > High / 2)
        break;
    }
    O["values"] = std::move(Values);
    return;
  }
  O["low"] = Low;
  O["high"] = High;
  O["step"] = P.Step ? toJSON(evaluate(Space, P.Step)) : json::Value(1);
}

static void describeChoice(const SearchSpace &Space, const Parameter &P,
                           json::Object &O) {
  std::vector<Value> Values;
  for (const Expr &E : P.Choices)
    if (Value V = evaluate(Space, E); !is_contained(Values, V))
      Values.push_back(V);
  json::Array A;
  for (const Value &V : Values)
    A.push_back(toJSON(V));
  O["values"] = std::move(A);
}

static void describePipeline(const SearchSpace &Space, const Parameter &P,
                             json::Object &O) {
  O["space"] = P.Space;
  json::Array Decisions;
  for (const Dimension &D : Space.dimensions()) {
    if (!D.Decision || Space.study().Parameters[D.Parameter].Name != P.Name)
      continue;
    Decisions.push_back(
        json::Object{{"name", D.Name},
                     {"count", D.Count},
                     {"ordered", D.Kind == Dimension::Ordered}});
  }
  O["decisions"] = std::move(Decisions);
}

json::Array mneme::describeParameters(const SearchSpace &Space) {
  StringMap<Value> Defaults = Space.values(Space.defaultPoint());
  json::Array Result;
  for (const Parameter &P : Space.study().Parameters) {
    json::Object O{{"name", P.Name}};
    switch (P.Kind) {
    case Parameter::Int:
      O["kind"] = "int";
      describeInt(Space, P, O);
      break;
    case Parameter::Real:
      O["kind"] = "real";
      O["low"] = toJSON(evaluate(Space, P.Low));
      O["high"] = toJSON(evaluate(Space, P.High));
      O["log"] = P.Scale == Parameter::Log;
      break;
    case Parameter::Bool:
      O["kind"] = "bool";
      O["values"] = json::Array{false, true};
      break;
    case Parameter::Choice:
      O["kind"] = "choice";
      describeChoice(Space, P, O);
      break;
    case Parameter::Pipeline:
      O["kind"] = "pipeline";
      describePipeline(Space, P, O);
      break;
    }
    if (P.When)
      O["when"] = P.When.print();
    if (auto It = Defaults.find(P.Name); It != Defaults.end())
      O["default"] = toJSON(It->getValue());
    Result.push_back(std::move(O));
  }
  return Result;
}
