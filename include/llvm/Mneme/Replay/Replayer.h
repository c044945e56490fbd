//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Running a planned replay: on a device in this process (Replayer), as a whole
/// with compilation and measurement (runReplay), or in a process of its own
/// (runIsolatedReplay), so that a compiler or kernel that crashes is a result.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_REPLAYER_H
#define LLVM_MNEME_REPLAY_REPLAYER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Compile/CompareCode.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
class raw_ostream;
namespace mneme {

enum class Verdict {
  Match,
  MatchWithinTolerance,
  Mismatch,
  Crash,
  Timeout,
  CompileError,
  Unsupported,
  NotVerified,
};
StringRef getVerdictName(Verdict V);
std::optional<Verdict> parseVerdict(StringRef Name);

/// Where a replay is; what its process was doing if it dies.
enum class ReplayStage { Optimize, Codegen, Prepare, Launch, Compare };

/// Seconds of wall clock.
struct ReplayTimes {
  double Parse = 0; ///< The IR.
  double Read = 0;  ///< The snapshots.
  double Specialize = 0;
  double Optimize = 0; ///< The pipeline.
  double Codegen = 0;  ///< For the device that runs it.
  double GPUCodegen =
      0;              ///< For the GPU, when resources were asked for besides.
  double Prepare = 0; ///< Reserve the arena, map and fill it.
  double Load = 0;    ///< The image.
  double Restore = 0; ///< All of them.
  double Run = 0;     ///< All launches, the verified one too.
  double Compare = 0;
};

struct ReplayResult {
  Verdict V = Verdict::NotVerified;
  std::string Error; ///< Why not; empty when it matches.
  bool Executed = false;
  double StartTime = 0, EndTime = 0; ///< Seconds since the epoch.
  ReplayTimes Times;
  uint64_t ObjectSize = 0;           ///< Bytes; 0 when there is no object.
  std::vector<uint64_t> Nanoseconds; ///< Of each timed launch.
  std::optional<KernelResources> Resources;
  std::optional<AppComparison> App; ///< When it was asked for.
  std::string Device; ///< That ran it.
  std::string HostStrategy, HostReason;
  std::vector<BufferReport> Buffers;

  bool verified() const {
    return V == Verdict::Match || V == Verdict::MatchWithinTolerance;
  }
  /// Neither verified nor compared: it did not get that far.
  bool failed() const {
    return V == Verdict::Crash || V == Verdict::Timeout ||
           V == Verdict::CompileError || V == Verdict::Unsupported;
  }
};

json::Value toJSON(const ReplayResult &R);
bool fromJSON(const json::Value &V, ReplayResult &R, json::Path P);

/// A recording's memory on one device. The arena of the process is its own.
class Replayer {
public:
  /// Reserves the arena, maps the regions, writes what they held.
  static Expected<Replayer> create(const RecordedState &State, Device &D);

  /// Writes back what the recorded launch changes and what the last compare()
  /// found changed besides. Nothing to do before the first launch.
  Error restore();
  Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                 const LaunchConfig &Config);
  /// Compares all recorded memory with what the recorded launch left.
  Expected<std::vector<BufferReport>> compare(ArrayRef<ComparePart> Parts);

  /// Makes restore() write everything: for launches that nobody compares.
  void markAllDirty();

  /// A range of a region.
  struct Range {
    size_t Region;
    uint64_t Begin, End;
  };
  /// What restore() writes.
  ArrayRef<Range> dirty() const { return Dirty; }

private:
  Replayer(const RecordedState &State, Device &D) : State(&State), D(&D) {}
  const RecordedState *State;
  Device *D;
  std::vector<Range> Dirty;
  bool Clean = true;

  void markDirty(size_t Region, uint64_t Begin, uint64_t End);
  void mergeDirty();
};

/// Opens "host", or "auto": the best there is.
Expected<std::unique_ptr<Device>> openDevice(StringRef Name);
/// One line a device: its name, ": ", what it is.
void listDevices(raw_ostream &OS);

/// Compiles, runs, verifies, times, all in this process. An Error means that
/// the replay could not be set up; what compiler and kernel do is in the
/// result.
/// \p Report is told of each stage before it begins, and of each launch.
Expected<ReplayResult> runReplay(const ReplayPlan &Plan,
                                 function_ref<void(ReplayStage)> Report);

/// The same in a forked process, under the plan's time limit. Call it while the
/// process has one thread.
Expected<ReplayResult> runIsolatedReplay(const ReplayPlan &Plan);

/// By the plan's options: isolated or not.
Expected<ReplayResult> replay(const ReplayPlan &Plan);

/// {"Replay-config": ..., "Result": ...}
json::Value makeReport(const ReplayPlan &Plan, const ReplayResult &R);
/// The same for people.
void printReport(raw_ostream &OS, const ReplayPlan &Plan,
                 const ReplayResult &R);

/// 0 when verified, or when nothing was to be verified; 2 else.
int getExitCode(const ReplayPlan &Plan, const ReplayResult &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_REPLAYER_H
