//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Outcome.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

StringRef mneme::getStudyEndName(StudyEnd E) {
  static constexpr StringLiteral Names[] = {
      "trials", "budget", "exhausted", "interrupted", "lost", "speed-of-light"};
  return Names[static_cast<unsigned>(E)];
}

Comparison mneme::compareWithBaseline(const RatioEstimate &Speedup,
                                      double MinEffect) {
  double Most = 1 + MinEffect, Least = 1 / Most;
  if (Speedup.Low > 1 && Speedup.Value >= Most)
    return Comparison::Faster;
  if (Speedup.High < 1 && Speedup.Value <= Least)
    return Comparison::Slower;
  bool IsSmall = Speedup.Low > Least && Speedup.High < Most;
  return Speedup.isSignificant() || IsSmall ? Comparison::Negligible
                                            : Comparison::Insignificant;
}

namespace {
struct ComparisonInfo {
  StringLiteral Name, Text;
};
} // namespace
static constexpr ComparisonInfo ComparisonInfos[] = {
    {"faster", "significantly faster"},
    {"slower", "significantly slower"},
    {"insignificant", "no significant difference"},
    {"negligible", "no practical difference"}};

StringRef mneme::getComparisonText(Comparison C) {
  return ComparisonInfos[static_cast<unsigned>(C)].Text;
}

std::optional<uint64_t> StudyOutcome::winner() const {
  if (Final.isSignificant())
    return Final.Confirmed->Number;
  if (!TimeIsObjective && !Best.empty())
    return Best.front();
  return std::nullopt;
}

/// JSON has no infinities.
static json::Value number(double V) {
  return std::isfinite(V) ? json::Value(V) : json::Value(nullptr);
}

static json::Value toJSON(const StringMap<double> &Metrics) {
  json::Object O;
  for (const auto &M : Metrics)
    O[M.first().str()] = number(M.second);
  return O;
}

json::Value mneme::toJSON(const RatioEstimate &R, StringRef Cache) {
  return json::Object{{"cache", Cache}, {"speedup", toJSON(R)}};
}

static json::Value toJSON(const InstanceOutcome &I) {
  return json::Object{{"record_id", I.Id},
                      {"weight", I.Weight},
                      {"metrics", toJSON(I.Metrics)},
                      {"samples_ns", json::Array(I.Samples)},
                      {"code_hash", I.CodeHash}};
}

json::Value mneme::toJSON(const BaselineSample &S) {
  json::Object O{{"instance", S.Instance}, {"when", S.When},
                 {"ns", S.Nanoseconds},    {"low", S.Low},
                 {"high", S.High}};
  if (!S.Device.empty())
    O["device"] = json::fixUTF8(S.Device);
  return std::move(O);
}

static json::Value toJSON(const FinalTestResult &R, const RetestedTrial &T) {
  json::Object O{{"trial", T.Number},
                 {"config", json::Object(T.config())},
                 {"raw_speedup", number(T.RawSpeedup)},
                 {"survived", R.survived(T)}};
  if (!T.Failure.empty()) {
    O["failure"] = T.Failure.name();
    O["error"] = T.Error;
    return O;
  }
  O["speedup"] = toJSON(T.Speedup);
  O["comparison"] = ComparisonInfos[static_cast<unsigned>(R.compare(T))].Name;
  if (T.OtherCacheSpeedup)
    O["other_cache"] = mneme::toJSON(*T.OtherCacheSpeedup, R.OtherCache);
  O["ns"] = T.Nanoseconds;
  O["baseline_ns"] = T.BaselineNanoseconds;
  if (!T.Device.empty())
    O["device"] = json::fixUTF8(T.Device);
  if (T.PerInstance.size() > 1) {
    json::Array All;
    for (const RatioEstimate &R : T.PerInstance)
      All.push_back(toJSON(R));
    O["per_instance"] = std::move(All);
  }
  return O;
}

static json::Value toJSON(const FinalTestResult &R) {
  json::Array Candidates;
  for (const RetestedTrial &T : R.Candidates)
    Candidates.push_back(toJSON(R, T));
  return json::Object{
      {"rounds", R.Rounds},
      {"min_effect", R.MinEffect},
      {"candidates", std::move(Candidates)},
      {"survivors", R.countSurvivors()},
      {"confirmed", R.Confirmed ? toJSON(R, *R.Confirmed) : nullptr},
      {"significant", R.isSignificant()}};
}

static json::Value toJSON(const Explanation &E) {
  json::Array Changes;
  for (const ExplainedChange &C : E.Changes)
    Changes.push_back(json::Object{{"key", C.Key},
                                   {"found", C.Found},
                                   {"minimal", C.Minimal},
                                   {"from", json::Array(C.From)}});
  json::Array Counters;
  for (const CounterChange &C : E.Counters)
    Counters.push_back(json::Object{{"name", C.Name},
                                    {"before", number(C.Before)},
                                    {"after", number(C.After)}});
  return json::Object{
      {"config", json::Object(E.Config)},
      {"changes", std::move(Changes)},
      {"dropped", json::Array(E.Dropped)},
      {"speedup", E.Speedup ? mneme::toJSON(*E.Speedup) : nullptr},
      {"kept", number(E.Kept)},
      {"complete", E.Complete},
      {"evaluations", E.Evaluations},
      {"measured", E.Measured},
      {"before", toJSON(E.Before)},
      {"after", toJSON(E.After)},
      {"counters", std::move(Counters)}};
}

static json::Value toJSON(const InstanceRegret &R) {
  return json::Object{{"instance", R.Instance},
                      {"best_trial", R.BestTrial},
                      {"best_speedup", number(R.BestSpeedup)},
                      {"common_speedup", number(R.CommonSpeedup)},
                      {"regret", number(R.regret())}};
}

template <typename T> static json::Array toArray(ArrayRef<T> Values) {
  json::Array A;
  for (const T &V : Values)
    A.push_back(toJSON(V));
  return A;
}

json::Value mneme::toJSON(const StudyOutcome &O) {
  json::Object Failures;
  for (const auto &[Kind, Count] : O.Failures)
    Failures[Kind] = Count;
  json::Object J{{"end", getStudyEndName(O.End)},
                 {"baseline_is_app_code", O.AppCode},
                 {"instances", ::toArray(ArrayRef(O.Instances))},
                 {"baselines", ::toArray(ArrayRef(O.Baselines))},
                 {"search_seconds", O.SearchSeconds},
                 {"trials", O.Complete + O.Pruned + O.Failed},
                 {"resumed", O.Resumed},
                 {"complete", O.Complete},
                 {"pruned", O.Pruned},
                 {"failed", O.Failed},
                 {"failures", std::move(Failures)},
                 {"duplicates", O.Duplicates},
                 {"suspect", O.Suspect},
                 {"unlogged", O.Unlogged},
                 {"best", json::Array(O.Best)},
                 {"final_test", ::toJSON(O.Final)},
                 {"explanation", O.Why ? ::toJSON(*O.Why) : nullptr},
                 {"notes", json::Array(O.Notes)}};
  J["winner"] = O.winner() ? json::Value(*O.winner()) : json::Value(nullptr);
  if (!O.EndReason.empty())
    J["end_reason"] = O.EndReason;
  if (!O.Regrets.empty())
    J["regrets"] = ::toArray(ArrayRef(O.Regrets));
  return J;
}

double InstanceRegret::regret() const {
  return BestSpeedup > CommonSpeedup ? 1 - CommonSpeedup / BestSpeedup : 0;
}

unsigned FinalTestResult::countSurvivors() const {
  return llvm::count_if(Candidates,
                        [&](const RetestedTrial &T) { return survived(T); });
}

bool FinalTestResult::isBrokenOff() const {
  auto IsInterrupted = [](const RetestedTrial &T) { return T.isInterrupted(); };
  return any_of(Candidates, IsInterrupted) ||
         (Confirmed && Confirmed->isInterrupted());
}
