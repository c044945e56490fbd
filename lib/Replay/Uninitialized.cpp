//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Local and shared memory that a kernel has not written holds anything, and
// what a compiler makes of reading it depends on the pipeline. Two values there
// that give two results prove such a read; where they do not, nothing is
// proven.
//
//===----------------------------------------------------------------------===//

#include "Uninitialized.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// As floating-point numbers 0 and about 0.75: neither a NaN nor so small that
/// it is lost in a sum.
static constexpr uint8_t Fills[] = {0x00, 0x3f};

/// With another value in a loop's bound a kernel may run forever: this much
/// longer than the launches of the replay did, and this many seconds at least.
static constexpr double SlowerThan = 10, MinSeconds = 10;

static double getLaunchLimit(const ReplayOptions &O, const ReplayResult &R) {
  double Limit = MinSeconds + SlowerThan * R.Times.Run;
  return O.launchTimeout() > 0 ? std::min(Limit, O.launchTimeout()) : Limit;
}

/// Null where the replay could not be judged, or did not do the same twice.
static std::optional<ReplayResult> replayFilled(const ReplayPlan &Plan,
                                                const ReplayResult &R,
                                                uint8_t Fill) {
  ReplayOptions O = getBaselineOptions(Plan.options());
  O.Fill = Fill;
  O.Instruments = {};
  // Where a vectorizer has made lanes of threads, they are in lock-step, and
  // none is ahead of what another one writes.
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
  std::optional<ReplayResult> One = replayFilled(Plan, Result, Fills[0]);
  if (!One)
    return;
  std::optional<ReplayResult> Other = replayFilled(Plan, Result, Fills[1]);
  if (!Other || One->Buffers.size() != Other->Buffers.size())
    return;
  // A buffer that passes has no digest.
  Result.ReadsUninitialized =
      any_of(zip(One->Buffers, Other->Buffers), [](const auto &Pair) {
        return std::get<0>(Pair).Digest != std::get<1>(Pair).Digest;
      });
  if (*Result.ReadsUninitialized)
    Result.Error +=
        formatv("; the recorded kernel reads local or shared memory that it "
                "has not written: filled with 0x{0:x-2} and with 0x{1:x-2}, "
                "that gives two results",
                Fills[0], Fills[1])
            .str();
}
