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
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

/// A random schedule is slower than the device's own.
static constexpr double MaxSeconds = 60;

/// Replays of each side that must agree before a seed is taken.
static constexpr unsigned NumChecks = 3;

/// If the good side fails with that many seeds and none was found, its result
/// depends on the order of threads.
static constexpr unsigned MaxBothFail = 4;

/// Returns true if the failure can be one of the code that ran.
static bool isOfLaunch(FailureKind F) {
  return F == FailureKind::Mismatch || F == FailureKind::Crash ||
         F == FailureKind::Timeout;
}

static json::Object withSchedule(const json::Object &Side, StringRef Schedule) {
  json::Object Config = Side;
  Config[ScheduleKey] = Schedule;
  return Config;
}

/// Returns true if \p Config fails in each of a few new compilations, or in
/// none of them.
static Expected<bool> isStable(Judge &J, const json::Object &Config,
                               bool Fails) {
  Expected<std::vector<Evaluation>> Runs = J.replayAnew(Config, NumChecks);
  if (!Runs)
    return Runs.takeError();
  return all_of(*Runs, [&](const Evaluation &V) {
    return Fails ? isOfLaunch(V.Failure) : V.Failure.empty();
  });
}

Expected<ScheduleChoice> mneme::findSchedule(Judge &J, const BisectSides &Sides,
                                             unsigned MaxSeeds) {
  auto Begin = std::chrono::steady_clock::now();
  ScheduleChoice Choice;
  for (unsigned Seed = 1; Seed <= MaxSeeds; ++Seed) {
    if (Choice.BothFail == MaxBothFail || secondsSince(Begin) > MaxSeconds)
      break;
    ++Choice.Tried;
    std::string Schedule = HostSchedule{HostSchedule::Random, Seed}.toString();
    json::Object Bad = withSchedule(Sides.Bad, Schedule);
    Expected<Evaluation> V = J.tryOut(Bad);
    if (!V)
      return V.takeError();
    if (!isOfLaunch(V->Failure))
      continue;
    json::Object Good = withSchedule(Sides.Good, Schedule);
    if (Error E = J.tryOut(Good).moveInto(V))
      return std::move(E);
    if (!V->Failure.empty()) {
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
    break;
  }
  return Choice;
}
