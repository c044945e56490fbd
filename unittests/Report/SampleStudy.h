//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A study with every kind of parameter, and trials of it in every state, for
/// tests of what is written of studies.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_TUNE_FILES_SAMPLESTUDY_H
#define LLVM_MNEME_UNITTESTS_TUNE_FILES_SAMPLESTUDY_H

#include "../Study/StudyBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Report/Export.h"
#include "llvm/Mneme/StudyLog/Journal.h"
#include "llvm/Mneme/Support/Digest.h"
#include <cmath>

namespace llvm {
namespace mneme {

inline Study makeSampleStudy(bool TwoObjectives = false) {
  StudyBuilder B;
  B.range("block.x", "32", "256", "32")
      .range("cache.line", "16", "128")
      .log()
      .boolean("specialize")
      .boolean("set_launch_bounds")
      .range("min_blocks", "1", "4")
      .when("set_launch_bounds")
      .choice("cpu", {"recorded.arch", "\"sm_100\""})
      .range("threshold", "0.5", "8.0")
      .pipeline("passes", "module({default<O1>|default<O2>|default<O3>},"
                          "function(gvn?,loop-unroll<full-unroll-max=[2..8:2]>,"
                          "perm(sroa,dse,adce)))")
      .field("block.x", "block.x")
      .field("specialize", "specialize")
      .field("set_launch_bounds", "set_launch_bounds")
      .field("min_blocks_per_sm", "min_blocks")
      .field("target_cpu", "cpu")
      .field("passes", "passes")
      .field("llvm.unroll-threshold", "cache.line")
      .require("block.x != 96", "no three warps");
  B.S.Name = "sample";
  if (TwoObjectives)
    B.objective("reg_usage");
  return B.S;
}

inline SearchSpace makeSampleSpace(bool TwoObjectives = false) {
  return cantFail(
      SearchSpace::create(makeSampleStudy(TwoObjectives), makeFacts()));
}

inline JournalHeader makeSampleHeader(bool TwoObjectives = false) {
  JournalHeader H;
  H.Name = "sample/0123456789abcdef";
  H.Objectives = makeSampleStudy(TwoObjectives).Objectives;
  H.Identity = json::Object{{"study", "study sample {\n  a\n  b\n}\n"},
                            {"static_hash", "0123456789abcdef"},
                            {"record_ids", json::Array{"1", "2"}},
                            {"seed", 7}};
  H.Info = json::Object{{"device", "a \"device\"\twith 100 % of </script>"},
                        {"mneme", "0.1.0"}};
  return H;
}

/// Nanoseconds of a point: something that a search can learn from.
inline double getSampleTime(const SearchSpace &Space, const Point &P) {
  StringMap<Value> V = Space.values(P);
  double Block = std::get<int64_t>(V["block.x"]);
  double Time = 1000 + std::abs(Block - 128) * 4;
  Time -= std::get<bool>(V["specialize"]) ? 150 : 0;
  Time += 20 * std::abs(std::get<double>(V["threshold"]) - 3);
  if (StringRef(std::get<std::string>(V["passes"])).contains("default<O3>"))
    Time -= 100;
  return Time;
}

inline Trial makeSampleTrial(const SearchSpace &Space, uint64_t Number) {
  RandomEngine Random(Number + 1);
  Trial T;
  T.Number = Number;
  T.P = Number == 0 ? Space.defaultPoint() : *Space.sample(Random);
  T.Kind = Number == 0        ? TrialKind::Start
           : Number % 50 == 8 || Number % 50 == 9 ? TrialKind::Canary
                              : TrialKind::Search;
  T.Config = cantFail(Space.configure(T.P));
  T.Started = 1.8e9 + Number * 0.25 + 1.0 / 3;
  return T;
}

/// As it is when it has ended; every fifth failed, every seventh was stopped.
inline Trial endSampleTrial(const SearchSpace &Space, Trial T) {
  uint64_t N = T.Number;
  // A baseline that happens to be faster than all trials is none of them.
  double Time =
      T.Kind == TrialKind::Canary ? 300 : getSampleTime(Space, T.P);
  T.Ended = T.Started + 0.7;
  T.CompileSeconds = 0.1 + N / 7.0;
  T.Worker = "node1:" + std::to_string(4000 + N % 2);
  T.Device = "node1/GPU-" + std::to_string(N % 2);
  T.IRHash = toHexString(digest128("ir" + std::to_string(N)));
  if (N % 5 == 4) {
    static constexpr const char *Failures[] = {"Mismatch", "CompileError",
                                               "Timeout", "Crash", "Invalid"};
    T.State = TrialState::Failed;
    T.Failure = Failures[N / 5 % 5];
    T.Error = "it went <wrong> & \"badly\"\nin trial " + std::to_string(N);
    return T;
  }
  T.State = N % 7 == 6 ? TrialState::Pruned : TrialState::Complete;
  T.RunSeconds = 0.01;
  T.Values = {Time};
  T.Metrics["time"] = Time;
  T.Metrics["reg_usage"] = 32 + N % 3;
  T.Metrics["occupancy"] = 1.0 / 3;
  if (Space.study().Objectives.size() == 2)
    T.Values.push_back(32 + N % 3);
  for (int I = 0; I < 7; ++I)
    T.Samples.push_back(Time * (1 + (I - 3) * 0.001 / 3));
  T.BaselineNanoseconds = 1500.1;
  T.AssemblyHash = toHexString(digest128("s" + std::to_string(N)));
  T.CodeHash = toHexString(digest128("code" + std::to_string(N)));
  if (N % 6 == 5) {
    T.DuplicateKind = Duplicate::Assembly;
    T.DuplicateOf = N - 1;
  }
  T.Suspect = N % 11 == 10 || N == 58; // and a canary
  return T;
}

inline std::vector<Trial> makeSampleTrials(const SearchSpace &Space,
                                           unsigned Count) {
  std::vector<Trial> Trials;
  for (unsigned I = 0; I < Count; ++I)
    Trials.push_back(endSampleTrial(Space, makeSampleTrial(Space, I)));
  return Trials;
}

/// What the study came to. \p Win: the best trial is significantly faster.
inline StudyOutcome makeSampleOutcome(ArrayRef<Trial> Trials, bool Win) {
  StudyOutcome O;
  O.End = StudyEnd::Trials;
  InstanceOutcome I;
  I.Id = "fedcba9876543210";
  I.Metrics["time"] = 1500;
  I.Metrics["reg_usage"] = 40;
  I.Metrics["spills"] = 16;
  I.Metrics["shared_mem_usage"] = 1024;
  I.Metrics["occupancy"] = 0.5;
  I.Samples = {1499, 1500, 1500, 1501, 1502, 1498, 1500};
  I.CodeHash = "00ff";
  O.Instances.push_back(I);
  O.SearchSeconds = 12.5;
  std::vector<const Trial *> Order;
  for (const Trial &T : Trials) {
    O.Complete += T.State == TrialState::Complete;
    O.Pruned += T.State == TrialState::Pruned;
    O.Duplicates += T.DuplicateKind != Duplicate::None;
    O.Suspect += T.Suspect;
    if (T.State == TrialState::Failed) {
      ++O.Failed;
      ++O.Failures[T.Failure.str()];
    }
    if (T.State == TrialState::Complete && T.Kind != TrialKind::Canary)
      Order.push_back(&T);
    if (T.Number % 25 == 0)
      O.Baselines.push_back({0, T.Started, 1500.0 + T.Number / 25, 1499, 1503});
  }
  sort(Order, [](const Trial *A, const Trial *B) {
    return std::pair(A->Values[0], A->Number) <
           std::pair(B->Values[0], B->Number);
  });
  Order.resize(std::min<size_t>(Order.size(), 3));
  O.Final.Rounds = 30;
  for (const Trial *T : Order) {
    RetestedTrial R;
    R.Number = T->Number;
    R.Configs = {T->Config};
    R.RawSpeedup = 1500 / T->Values[0];
    double Value = Win ? R.RawSpeedup * 0.99 : 1.001;
    R.Speedup = {Value, Value - 0.01, Value + 0.012};
    R.Nanoseconds = 1500 / Value;
    R.BaselineNanoseconds = 1500;
    for (int I = -10; I <= 10; ++I) {
      R.Samples.push_back(R.Nanoseconds * (1 + 0.002 * I));
      R.BaselineSamples.push_back(1500 + I * I * 0.5);
    }
    O.Final.Candidates.push_back(R);
  }
  if (Order.empty())
    return O;
  O.Best.push_back(Order[0]->Number);
  O.Final.Winner = 0;
  O.Final.Confirmed = O.Final.Candidates[0];
  if (!Win)
    return O;
  Explanation E;
  E.Config = json::Object{{"specialize", true},
                          {"block.x", 128}};
  E.Changes = {{"block.x", 128, 128}, {"specialize", true, true}};
  E.Dropped = {"llvm.unroll-threshold", "passes", "target_cpu"};
  E.Speedup = RatioEstimate{1.55, 1.54, 1.56};
  E.Kept = 0.97;
  E.Evaluations = 30;
  E.Measured = 12;
  O.Why = E;
  O.Notes = {"the canary was off between trials 20 and 30"};
  return O;
}

inline StudyRecord makeSampleRecord(const SearchSpace &Space,
                                    ArrayRef<Trial> Trials,
                                    const StudyOutcome &Outcome) {
  StudyRecord R{{Trials, Outcome}, Space};
  R.Name = "sample/0123456789abcdef";
  R.Kernel = "_Z6kernelPfi";
  R.DemangledName = "kernel(float*, int)";
  R.StaticHash = "0123456789abcdef";
  R.Device = "NVIDIA <H200>";
  R.Toolchain = json::Object{{"llvm", "22.1.8"}, {"mneme", "0.1.0"}};
  R.Sampler = "lfbo";
  R.Seed = 7;
  R.StudyText = "mneme.study @sample {\n  // </script><script>alert(1)\n}\n";
  R.RecordedPipeline = "default<O3>";
  R.Farm = json::Object{
      {"requests", 121},
      {"results", 120},
      {"compiles", 110},
      {"runs", 95},
      {"compile_seconds", 7.5},
      {"reused", 16},
      {"same_assembly", 16},
      {"same_ir", 2},
      {"compiler_deaths", 1},
      {"runner_deaths", 2},
      {"requeued", 3},
      {"starts", 9},
      {"bytes_sent", 700000},
      {"bytes_received", 900},
      {"runners", json::Array{json::Object{{"name", "cuda:<0>"},
                                           {"runs", 95},
                                           {"busy_seconds", 9.0},
                                           {"open_seconds", 12.0},
                                           {"idle_share", 0.25}}}}};
  R.ReplayCommand = "llvm-mneme-replay rec/k.json --config=out/best.json";
  R.FullReplayCommand = "llvm-mneme-replay rec/k.json '--passes=default<O3>'";
  R.BaselineInstructions = {{"FFMA", 100}, {"LDG", 20}, {"STL", 4}};
  R.BestInstructions = {{"FFMA", 96}, {"LDG", 12}, {"LDG.128", 2}};
  return R;
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_TUNE_FILES_SAMPLESTUDY_H
