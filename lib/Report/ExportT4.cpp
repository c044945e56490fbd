//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The T4 format (version 1.0.0) for auto-tuning results, which Kernel Tuner
// writes and its collections of search spaces use. Its times are in
// milliseconds.
//
//===----------------------------------------------------------------------===//

#include "Exports.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Mneme/StudyLog/Journal.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns T4's name for the outcome of a trial.
static StringRef getInvalidity(const Trial &T) {
  if (T.State != TrialState::Failed)
    return "correct";
  return StringSwitch<StringRef>(T.Failure.name())
      .Case("Timeout", "timeout")
      .Cases({"CompileError", "Unsupported"}, "compile")
      .Cases({"Mismatch", "NotVerified"}, "correctness")
      .Case("Invalid", "constraints")
      .Default("runtime");
}

static double toMilliseconds(double Nanoseconds) { return Nanoseconds * 1e-6; }

static json::Object makeResult(const StudyRecord &R, const Trial &T) {
  json::Object Configuration;
  for (const auto &[Name, V] : R.Space.values(T.P))
    Configuration[Name.str()] = toJSON(V);
  json::Array Runtimes;
  for (double S : T.Samples)
    Runtimes.push_back(toMilliseconds(S));
  json::Array Objectives;
  for (const Objective &O : R.Space.study().Objectives)
    Objectives.push_back(O.Metric);
  std::map<std::string, double> Sorted;
  for (const auto &[Name, V] : T.Metrics)
    Sorted[Name.str()] = V;
  json::Array Measurements;
  for (const auto &[Name, V] : Sorted) {
    bool IsTime = Name == "time";
    StringRef Unit = IsTime ? "ms" : getMetricUnit(Name).value_or("");
    Measurements.push_back(
        json::Object{{"name", Name},
                     {"value", IsTime ? toMilliseconds(V) : V},
                     {"unit", Unit}});
  }
  bool Correct = T.State != TrialState::Failed;
  return json::Object{
      {"timestamp", formatOptunaTime(T.Started)},
      {"configuration", std::move(Configuration)},
      {"objectives", std::move(Objectives)},
      {"times", json::Object{{"compilation_time", T.CompileSeconds * 1e3},
                             {"runtimes", std::move(Runtimes)},
                             {"framework", 0},
                             {"search_algorithm", 0},
                             {"validation", 0}}},
      {"invalidity", getInvalidity(T)},
      {"correctness", Correct ? 1 : 0},
      {"measurements", std::move(Measurements)}};
}

Error mneme::exportT4(const StudyRecord &R, StringRef Path) {
  json::Array Results;
  for (const Trial &T : R.Trials)
    if (T.State != TrialState::Running && T.Kind != TrialKind::Canary)
      Results.push_back(makeResult(R, T));
  return writeJSON(Path, json::Object{{"schema_version", "1.0.0"},
                                      {"results", std::move(Results)},
                                      {"metadata",
                                       json::Object{{"timeunit",
                                                     "milliseconds"},
                                                    {"kernel", R.Kernel},
                                                    {"device", R.Device}}}});
}
