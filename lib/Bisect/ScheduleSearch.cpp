//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Support/Clock.h"
#include <algorithm>
#include <chrono>
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

/// Time limit of the search.
static constexpr double MaxSeconds = 60;

/// Replays of each side that must agree before a seed is chosen.
static constexpr unsigned NumChecks = 3;

/// Limit of seeds under which the good side fails, too: its result then depends
/// on the order of threads.
static constexpr unsigned MaxBothFail = 4;

/// Returns true if the failure is one of the launch, not of the compilation.
static bool isOfLaunch(FailureKind F) {
  return F == FailureKind::Mismatch || F == FailureKind::Crash ||
         F == FailureKind::Timeout;
}

static std::string makeSchedule(uint64_t Seed) {
  return HostSchedule{HostSchedule::Random, Seed}.toString();
}

static json::Object withSchedule(const json::Object &Side, StringRef Schedule) {
  json::Object Config = Side;
  Config[ScheduleKey] = Schedule.str();
  return Config;
}

/// Returns true if \p Config fails in each of a few new compilations, or if not
/// \p Fails, in none.
static Expected<bool> isStable(Judge &J, const json::Object &Config,
                               bool Fails) {
  Expected<std::vector<Evaluation>> Runs = J.replayAnew(Config, NumChecks);
  if (!Runs)
    return Runs.takeError();
  return all_of(*Runs, [&](const Evaluation &V) {
    return Fails ? isOfLaunch(V.Failure) : V.Failure.empty();
  });
}

/// Finds further schedules to judge candidates with. \p First is the first of
/// the seeds 1, 2, ... that shows the fault, so about one seed in \p First
/// does. With 99 % probability, one of the others shows the fault in a bad
/// candidate.
static Error findOthers(Judge &J, const json::Object &Good, unsigned First,
                        std::vector<std::string> &Others) {
  constexpr double MinOthers = 3, MaxOthers = 24;
  double Wanted = First == 1 ? 0 : std::log(0.01) / std::log(1 - 1.0 / First);
  unsigned Count = std::clamp(std::ceil(Wanted), MinOthers, MaxOthers);
  std::vector<json::Object> Configs;
  for (unsigned I = 1; I <= Count; ++I)
    Configs.push_back(withSchedule(Good, makeSchedule(First + I)));
  Expected<std::vector<Evaluation>> Results = J.tryOut(Configs);
  if (!Results)
    return Results.takeError();
  for (auto [I, V] : enumerate(*Results))
    if (V.Failure.empty())
      Others.push_back(makeSchedule(First + 1 + I));
  return Error::success();
}

Expected<ScheduleChoice> mneme::findSchedule(Judge &J, const BisectSides &Sides,
                                             unsigned MaxSeeds) {
  auto Begin = std::chrono::steady_clock::now();
  ScheduleChoice Choice;
  for (unsigned Seed = 1; Seed <= MaxSeeds; ++Seed) {
    if (Choice.BothFail == MaxBothFail || secondsSince(Begin) > MaxSeconds)
      break;
    ++Choice.Tried;
    std::string Schedule = makeSchedule(Seed);
    json::Object Bad = withSchedule(Sides.Bad, Schedule);
    Expected<std::vector<Evaluation>> V = J.tryOut(Bad);
    if (!V)
      return V.takeError();
    if (!isOfLaunch(V->front().Failure))
      continue;
    json::Object Good = withSchedule(Sides.Good, Schedule);
    if (Error E = J.tryOut(Good).moveInto(V))
      return std::move(E);
    if (!V->front().Failure.empty()) {
      ++Choice.BothFail;
      continue;
    }
    Expected<bool> Stable = isStable(J, Bad, /*Fails=*/true);
    if (Stable && *Stable)
      Stable = isStable(J, Good, /*Fails=*/false);
    if (!Stable)
      return Stable.takeError();
    if (!*Stable)
      continue;
    Choice.Schedule = std::move(Schedule);
    if (Error E = findOthers(J, Sides.Good, Seed, Choice.Others))
      return std::move(E);
    break;
  }
  return Choice;
}
