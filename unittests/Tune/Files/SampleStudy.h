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

#include "../StudyBuilder.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Tune/Export.h"
#include "llvm/Mneme/Tune/Journal.h"
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
           : Number % 50 == 9 ? TrialKind::Canary
                              : TrialKind::Search;
  T.Config = cantFail(Space.configure(T.P));
  T.Started = 1.8e9 + Number * 0.25 + 1.0 / 3;
  return T;
}

/// As it is when it has ended; every fifth failed, every seventh was stopped.
inline Trial endSampleTrial(const SearchSpace &Space, Trial T) {
  uint64_t N = T.Number;
  double Time = getSampleTime(Space, T.P);
  T.Ended = T.Started + 0.7;
  T.CompileSeconds = 0.1 + N / 7.0;
  T.Worker = "node1:" + std::to_string(4000 + N % 2);
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
  T.Suspect = N % 11 == 10;
  return T;
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_TUNE_FILES_SAMPLESTUDY_H
