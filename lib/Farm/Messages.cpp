//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

json::Value mneme::toJSON(const EvaluationRequest &R) {
  json::Object StopAboveOn;
  for (const auto &[Device, Nanoseconds] : R.StopAboveOn)
    StopAboveOn[Device] = Nanoseconds;
  return json::Object{{"id", R.Id},
                      {"config", json::Object(R.Config)},
                      {"fresh", R.Fresh},
                      {"attempt", R.Attempt},
                      {"stop_above", R.StopAbove},
                      {"stop_above_on", std::move(StopAboveOn)},
                      {"launch_timeout", R.LaunchTimeout},
                      {"instance", R.Instance},
                      {"app", R.AppCode},
                      {"measure", R.Measure},
                      {"device", R.Device}};
}

/// A member that is an object, which LLVM's mapping does not know.
static bool mapObject(const json::Value &V, StringRef Key, json::Object &Out,
                      json::Path P) {
  const json::Object *Whole = V.getAsObject();
  const json::Object *O = Whole ? Whole->getObject(Key) : nullptr;
  if (!O) {
    P.field(Key).report("expected object");
    return false;
  }
  Out = *O;
  return true;
}

/// A member that is an object of numbers.
static bool mapNumbers(const json::Value &V, StringRef Key,
                       StringMap<double> &Out, json::Path P) {
  json::Object Numbers;
  if (!mapObject(V, Key, Numbers, P))
    return false;
  for (const auto &[Name, Value] : Numbers) {
    std::optional<double> Number = Value.getAsNumber();
    if (!Number) {
      P.field(Key).field(Name).report("expected number");
      return false;
    }
    Out[StringRef(Name)] = *Number;
  }
  return true;
}

bool mneme::fromJSON(const json::Value &V, EvaluationRequest &R, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("id", R.Id) && mapObject(V, "config", R.Config, P) &&
         O.map("fresh", R.Fresh) && O.map("attempt", R.Attempt) &&
         O.map("stop_above", R.StopAbove) &&
         mapNumbers(V, "stop_above_on", R.StopAboveOn, P) &&
         O.map("launch_timeout", R.LaunchTimeout) &&
         O.map("instance", R.Instance) && O.map("app", R.AppCode) &&
         O.map("measure", R.Measure) &&
         O.map("device", R.Device);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

json::Value mneme::toJSON(const Evaluation &E) {
  json::Object Metrics;
  // JSON has no other numbers.
  for (const auto &[Name, Value] : E.Metrics)
    if (std::isfinite(Value))
      Metrics[Name] = Value;
  json::Object O{{"id", E.Id},
                 {"failure", E.Failure},
                 {"error", json::fixUTF8(E.Error)},
                 {"stopped", E.Stopped},
                 {"metrics", std::move(Metrics)},
                 {"samples", json::Array(E.Samples)},
                 {"ir", E.IRHash},
                 {"assembly", E.AssemblyHash},
                 {"code", E.CodeHash},
                 {"compile_seconds", E.CompileSeconds},
                 {"run_seconds", E.RunSeconds},
                 {"started", E.Started},
                 {"ended", E.Ended},
                 {"worker", json::fixUTF8(E.Worker)},
                 {"device", json::fixUTF8(E.Device)}};
  if (E.DuplicateKind != Duplicate::None)
    O["duplicate"] = getDuplicateName(E.DuplicateKind);
  if (E.DuplicateOf)
    O["duplicate_of"] = *E.DuplicateOf;
  return std::move(O);
}

bool mneme::fromJSON(const json::Value &V, Evaluation &E, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<std::string> Kind;
  if (!O || !O.map("id", E.Id) || !O.map("failure", E.Failure) ||
      !O.map("error", E.Error) || !O.map("stopped", E.Stopped) ||
      !mapNumbers(V, "metrics", E.Metrics, P) || !O.map("samples", E.Samples) ||
      !O.map("ir", E.IRHash) || !O.map("assembly", E.AssemblyHash) ||
      !O.map("code", E.CodeHash) ||
      !O.map("compile_seconds", E.CompileSeconds) ||
      !O.map("run_seconds", E.RunSeconds) || !O.map("started", E.Started) ||
      !O.map("ended", E.Ended) || !O.map("worker", E.Worker) ||
      !O.map("device", E.Device) ||
      !O.mapOptional("duplicate", Kind) ||
      !O.map("duplicate_of", E.DuplicateOf))
    return false;
  if (Kind) {
    std::optional<Duplicate> Known = parseDuplicate(*Kind);
    if (!Known) {
      P.field("duplicate").report("unknown kind");
      return false;
    }
    E.DuplicateKind = *Known;
  }
  return true;
}

json::Value mneme::toJSON(const PairedEvaluation &E) {
  json::Array Samples;
  for (const std::vector<double> &S : E.Samples)
    Samples.push_back(json::Array(S));
  return json::Object{{"id", E.Id},
                      {"failure", E.Failure},
                      {"error", json::fixUTF8(E.Error)},
                      {"samples", std::move(Samples)},
                      {"worker", json::fixUTF8(E.Worker)},
                      {"device", json::fixUTF8(E.Device)}};
}

bool mneme::fromJSON(const json::Value &V, PairedEvaluation &E, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("id", E.Id) && O.map("failure", E.Failure) &&
         O.map("error", E.Error) && O.map("samples", E.Samples) &&
         O.map("worker", E.Worker) && O.map("device", E.Device);
}

json::Value mneme::toJSON(const FarmCode &C) {
  return json::Object{{"failure", C.Failure},
                      {"error", json::fixUTF8(C.Error)},
                      {"ir", C.IRHash},
                      {"assembly", C.AssemblyHash},
                      {"code", C.CodeHash},
                      {"stopped", C.Stopped},
                      {"compile_seconds", C.CompileSeconds}};
}

bool mneme::fromJSON(const json::Value &V, FarmCode &C, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("failure", C.Failure) && O.map("error", C.Error) &&
         O.map("ir", C.IRHash) && O.map("assembly", C.AssemblyHash) &&
         O.map("code", C.CodeHash) && O.map("stopped", C.Stopped) &&
         O.map("compile_seconds", C.CompileSeconds);
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

namespace llvm {
namespace mneme {
static json::Value toJSON(const FarmStatistics::Runner &R) {
  return json::Object{{"name", json::fixUTF8(R.Name)},
                      {"runs", R.Runs},
                      {"busy_seconds", R.BusySeconds},
                      {"open_seconds", R.OpenSeconds},
                      {"idle_share", R.idleShare()}};
}

static bool fromJSON(const json::Value &V, FarmStatistics::Runner &R,
                     json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("name", R.Name) && O.map("runs", R.Runs) &&
         O.map("busy_seconds", R.BusySeconds) &&
         O.map("open_seconds", R.OpenSeconds);
}
} // namespace mneme
} // namespace llvm

json::Value mneme::toJSON(const FarmStatistics &S) {
  json::Array Runners;
  for (const FarmStatistics::Runner &R : S.Runners)
    Runners.push_back(toJSON(R));
  json::Object O{{"compile_seconds", S.CompileSeconds},
                 {"runners", std::move(Runners)}};
#define FARM_COUNT(Name, Key, Description) O[Key] = S.Name;
#include "llvm/Mneme/Farm/Counts.def"
  return std::move(O);
}

bool mneme::fromJSON(const json::Value &V, FarmStatistics &S, json::Path P) {
  json::ObjectMapper O(V, P);
#define FARM_COUNT(Name, Key, Description) &&O.map(Key, S.Name)
  return O && O.map("compile_seconds", S.CompileSeconds) &&
         O.map("runners", S.Runners)
#include "llvm/Mneme/Farm/Counts.def"
      ;
}

FarmStatistics &FarmStatistics::operator+=(const FarmStatistics &Other) {
  uint64_t OwnRequests = Requests, OwnResults = Results;
#define FARM_COUNT(Name, Key, Description) Name += Other.Name;
#include "llvm/Mneme/Farm/Counts.def"
  Requests = OwnRequests;
  Results = OwnResults;
  CompileSeconds += Other.CompileSeconds;
  Runners.insert(Runners.end(), Other.Runners.begin(), Other.Runners.end());
  return *this;
}
