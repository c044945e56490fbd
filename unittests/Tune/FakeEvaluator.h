//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An evaluator that computes what it pretends to measure, with noise, drift,
/// failures and duplicates as the test wants them, the same in each run.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_TUNE_FAKEEVALUATOR_H
#define LLVM_MNEME_UNITTESTS_TUNE_FAKEEVALUATOR_H

#include "llvm/ADT/Hashing.h"
#include "llvm/Mneme/Study/Evaluator.h"
#include "llvm/Mneme/StudyLog/StudyLog.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace llvm {
namespace mneme {

inline std::string printConfig(const json::Object &Config) {
  return formatv("{0}", json::Value(json::Object(Config))).str();
}

class FakeEvaluator : public Evaluator {
public:
  unsigned Capacity = 1;
  /// Nanoseconds of a configuration; {} is the baseline.
  std::function<double(const json::Object &, unsigned Instance)> Time =
      [](const json::Object &, unsigned) { return 1000; };
  /// A failure, or "".
  std::function<std::string(const json::Object &)> Fails =
      [](const json::Object &) { return std::string(); };
  /// The code's hash.
  std::function<std::string(const json::Object &)> Code = printConfig;
  /// By which everything is slower, by the number of the evaluation.
  std::function<double(uint64_t)> Drift = [](uint64_t) { return 1.0; };
  /// By which a configuration is slower in one round of one comparison.
  std::function<double(const json::Object &, uint64_t Comparison,
                       unsigned Round)>
      InPairs = [](const json::Object &, uint64_t, unsigned) { return 1.0; };
  /// By which a configuration is slower with the other state of the cache.
  std::function<double(const json::Object &)> OtherCache =
      [](const json::Object &) { return 1.0; };
  /// Counters in a comparison.
  std::function<CounterSamples(const json::Object &)> Counters =
      [](const json::Object &) { return CounterSamples(); };
  /// More metrics.
  std::function<void(const json::Object &, StringMap<double> &)> Metrics =
      [](const json::Object &, StringMap<double> &) {};
  double RunSeconds = 0; ///< Of an evaluation.
  double Noise = 0; ///< Standard deviation of a sample's logarithm.
  uint64_t Seed = 1;
  bool RunsOldest = false; ///< cancel() keeps the oldest request.
  bool CanRunAppCode = false;
  double AppTime = 1000;
  /// Devices, which take turns, and how many times as long each takes.
  std::map<std::string, double> Devices = {{"", 1}};
  /// Called before an evaluation, with its number.
  std::function<void(uint64_t)> Before = [](uint64_t) {};
  /// Which of so many that wait is evaluated next: the newest one, so that
  /// results come in another order.
  std::function<size_t(size_t)> Next = [](size_t Waiting) {
    return Waiting - 1;
  };
  /// The evaluator is lost after so many results.
  uint64_t LostAfter = ~0ull;

  // What has happened.
  std::vector<EvaluationRequest> Requests;
  uint64_t Evaluations = 0, Measured = 0, Comparisons = 0;
  unsigned MostUnderWay = 0;

  unsigned capacity() const override { return Capacity; }

  Error submit(EvaluationRequest R) override {
    Requests.push_back(R);
    Pending.push_back(std::move(R));
    MostUnderWay = std::max<unsigned>(MostUnderWay, Pending.size());
    return Error::success();
  }

  Expected<std::vector<Evaluation>> wait(double) override {
    if (Evaluations >= LostAfter)
      return createStringError("the fake is lost");
    std::vector<Evaluation> Results;
    if (Pending.empty())
      return Results;
    auto It = Pending.begin() + Next(Pending.size());
    Results.push_back(evaluate(*It));
    Pending.erase(It);
    return Results;
  }

  Expected<PairedEvaluation> comparePaired(ArrayRef<EvaluationRequest> Some,
                                           unsigned Rounds,
                                           function_ref<bool()> Stop) override {
    PairedEvaluation P;
    P.Samples.resize(Some.size());
    ++Comparisons;
    for (const EvaluationRequest &R : Some)
      if (std::string Failure = getFailure(R); !Failure.empty()) {
        P.Failure = Failure;
        P.Error = "as planned";
        return P;
      }
    for (const EvaluationRequest &R : Some)
      if (R.Counters)
        P.Counters.push_back(Counters(R.Config));
    for (unsigned I = 0; I != Rounds; ++I) {
      if (Stop && Stop()) {
        P.Failure = PairedEvaluation::Interrupted.str();
        return P;
      }
      for (auto [R, S] : zip_equal(Some, P.Samples))
        S.push_back(sample(R, Comparisons, I) *
                    InPairs(R.Config, Comparisons, I));
    }
    return P;
  }

  std::vector<uint64_t> cancel() override {
    std::vector<uint64_t> Ids;
    for (size_t Kept = RunsOldest; Pending.size() > Kept; Pending.pop_back())
      Ids.push_back(Pending.back().Id);
    return Ids;
  }

  void remember(const EvaluationRequest &R, const Evaluation &Past) override {
    Known.try_emplace(getKey(R), Past);
  }

  /// As a new process.
  void forget() {
    Known.clear();
    Pending.clear();
    Measured = 0;
  }

private:
  std::deque<EvaluationRequest> Pending;
  std::map<std::string, Evaluation> Known;

  std::string getKey(const EvaluationRequest &R) const {
    return formatv("{0} {1}", R.Instance, Code(R.Config)).str();
  }

  std::string getFailure(const EvaluationRequest &R) const {
    if (R.AppCode)
      return CanRunAppCode ? "" : "Unsupported";
    return Fails(R.Config);
  }

  /// The same for the same code, unless it is asked for afresh.
  double sample(const EvaluationRequest &R, uint64_t Turn, unsigned I) const {
    double T = R.AppCode ? AppTime : Time(R.Config, R.Instance);
    if (R.OtherCache)
      T *= OtherCache(R.Config);
    if (Noise == 0)
      return T;
    std::mt19937_64 Random(
        hash_combine(Seed, getKey(R), R.Fresh ? Turn : 0, I));
    return T * std::exp(std::normal_distribution<double>(0, Noise)(Random));
  }

  Evaluation evaluate(const EvaluationRequest &R) {
    Evaluation V;
    Before(++Evaluations);
    auto It = R.Fresh ? Known.end() : Known.find(getKey(R));
    if (It != Known.end()) {
      V = It->second;
      V.DuplicateKind = Duplicate::Code;
      V.DuplicateOf = V.Id;
      V.Id = R.Id;
      return V;
    }
    V.Id = R.Id;
    if (!R.Device.empty() && !Devices.count(R.Device)) {
      V.Failure = "WorkerLost";
      return V;
    }
    ++Measured;
    V.Device = R.Device.empty() ? std::next(Devices.begin(),
                                            Measured % Devices.size())
                                      ->first
                                : R.Device;
    V.Failure = getFailure(R);
    V.CodeHash = R.AppCode ? "app" : Code(R.Config);
    V.IRHash = V.AssemblyHash = V.CodeHash;
    // A clock of its own, that each evaluation moves on.
    V.Started = Begin + 1e-3 * Evaluations;
    V.Ended = V.Started + 5e-4;
    V.Worker = "fake";
    V.RunSeconds = RunSeconds;
    if (V.Failure.empty())
      measure(R, V);
    else
      V.Error = "as planned";
    // What is measured anew replaces what was known, but what stands for a
    // device does not.
    if (R.Fresh && R.Device.empty() && !R.AppCode && Known.count(getKey(R)))
      Known[getKey(R)] = V;
    else if (!R.Fresh || !R.Config.empty() || !Known.count(getKey(R)))
      Known.try_emplace(getKey(R), V);
    return V;
  }

  void measure(const EvaluationRequest &R, Evaluation &V) {
    for (unsigned I = 0; I != 7; ++I)
      V.Samples.push_back(sample(R, Evaluations, I) * Drift(Evaluations) *
                          Devices.at(V.Device));
    double Median = summarize(V.Samples).Median;
    if (R.stopAbove(V.Device) > 0 && Median > R.stopAbove(V.Device)) {
      V.Stopped = true;
      V.Samples.resize(3);
      Median = summarize(V.Samples).Median;
    }
    V.Metrics["time"] = Median;
    Metrics(R.Config, V.Metrics);
  }

  double Begin = std::chrono::duration<double>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
};

/// A log in memory, which a test can copy at any moment.
class MemoryLog : public StudyLog {
public:
  std::vector<Trial> Ended;
  std::vector<BaselineSample> Baselines;
  std::map<uint64_t, Trial> Begun; ///< Not ended.
  std::set<uint64_t> Closed;       ///< Of these, by the end of a study.
  std::vector<Point> Enqueued;
  bool Full = false; ///< Nothing can be written.

  Error addTrials(ArrayRef<const Trial *> Trials) override {
    if (Full)
      return createStringError("no space left");
    for (const Trial *T : Trials) {
      if (T->Failure == FailureKind::Cancelled) {
        Closed.insert(T->Number);
        continue;
      }
      Begun.erase(T->Number);
      Closed.erase(T->Number);
      Ended.push_back(*T);
    }
    return Error::success();
  }
  Error beginTrials(ArrayRef<Trial> Trials) override {
    for (const Trial &T : Trials)
      Begun.emplace(T.Number, T);
    return Error::success();
  }
  Error addBaseline(const BaselineSample &S) override {
    Baselines.push_back(S);
    return Error::success();
  }
  Expected<std::vector<Point>> takeEnqueued() override {
    return std::move(Enqueued);
  }
  std::vector<Trial> takeTrials() override {
    std::vector<Trial> All = Ended;
    for (const auto &[Number, T] : Begun)
      All.push_back(T);
    return All;
  }
  std::vector<BaselineSample> takeBaselines() override { return Baselines; }
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_TUNE_FAKEEVALUATOR_H
