//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file detects reads of uninitialized local and shared memory, whose
// result depends on the pipeline. If two fill values yield two results, the
// kernel performs such a read. Equal results prove nothing.
//
//===----------------------------------------------------------------------===//

#include "Uninitialized.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// As floating-point numbers 0 and about 0.75: neither NaN nor so small that a
/// sum would absorb it.
static constexpr uint8_t FillBytes[] = {0x00, 0x3f};

/// A different loop bound may make a kernel run forever. Limit a launch to this
/// multiple of the replay's launch time, but to no less than this many seconds.
static constexpr double SlowerThan = 10, MinSeconds = 10;

static double getLaunchLimit(const ReplayOptions &O, const ReplayResult &R) {
  double Limit = MinSeconds + SlowerThan * R.Times.Run;
  return O.launchTimeout() > 0 ? std::min(Limit, O.launchTimeout()) : Limit;
}

/// Returns std::nullopt if the replay was not compared or not deterministic.
static std::optional<ReplayResult> replayFilled(const ReplayPlan &Plan,
                                                const ReplayResult &R,
                                                uint8_t Fill) {
  ReplayOptions O = getBaselineOptions(Plan.options());
  O.Fill = Fill;
  O.Instruments = {};
  // Vectorized threads run in lockstep, which would hide reads of memory that
  // another thread has not written yet.
  if (R.Device == "host")
    O.Host.Finish = HostFinish::None;
  O.LaunchTimeout = getLaunchLimit(Plan.options(), R);
  O.Iterations = 1;
  O.Warmup = 0;
  Expected<std::unique_ptr<ReplayPlan>> Filled = Plan.vary(std::move(O));
  if (!Filled) {
    consumeError(Filled.takeError());
    return std::nullopt;
  }
  Expected<ReplayResult> Result = runIsolatedReplay(**Filled);
  if (!Result) {
    consumeError(Result.takeError());
    return std::nullopt;
  }
  bool Judged = Result->verified() || Result->V == Verdict::Mismatch;
  for (const BufferReport &B : Result->Buffers)
    Judged &= B.Stats.Pass || B.Reproducible.value_or(false);
  if (!Judged)
    return std::nullopt;
  return std::move(*Result);
}

void mneme::checkInitialization(const ReplayPlan &Plan, ReplayResult &Result) {
  if (Plan.options().Fill)
    return;
  std::optional<ReplayResult> One = replayFilled(Plan, Result, FillBytes[0]);
  if (!One)
    return;
  std::optional<ReplayResult> Other = replayFilled(Plan, Result, FillBytes[1]);
  if (!Other || One->Buffers.size() != Other->Buffers.size())
    return;
  // A buffer that matches has no digest.
  Result.ReadsUninitialized =
      any_of(zip(One->Buffers, Other->Buffers), [](const auto &Pair) {
        return std::get<0>(Pair).Digest != std::get<1>(Pair).Digest;
      });
  if (*Result.ReadsUninitialized)
    Result.Error += formatv("; the recorded kernel reads local or shared "
                            "memory that it has not written: filled with "
                            "0x{0:x-2} and with 0x{1:x-2}, the results differ",
                            FillBytes[0], FillBytes[1])
                        .str();
}
