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
#include "llvm/Mneme/Replay/HeldAddresses.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Mneme/Support/Statistics.h"

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
/// Poison is all that it takes to find it, Baseline its compilation.
enum class ReplayStage {
  Open,
  Poison,
  Optimize,
  Codegen,
  Prepare,
  Launch,
  Compare,
  Baseline,
};
/// In words, for "... did not end within 5 s".
StringRef describeStage(ReplayStage S);
/// Seconds that it may take.
double getStageLimit(const ReplayOptions &O, ReplayStage S);

/// Seconds of wall clock, none of them in two figures.
struct ReplayTimes {
  double Open = 0;       ///< The device.
  double Parse = 0;      ///< The IR.
  double Read = 0;       ///< The snapshots.
  double Specialize = 0; ///< And to copy the IR.
  double Optimize = 0;   ///< The pipeline.
  double Codegen = 0;    ///< For the device that runs it.
  double Assemble = 0;   ///< ptxas, on what Codegen made for a GPU.
  /// For the GPU, ptxas included, when the host runs the kernel and resources
  /// were asked for besides.
  double GPUCodegen = 0;
  /// Reserve the arena, map and fill it; find out what launches need restored.
  double Prepare = 0;
  double Load = 0; ///< The image.
  /// All of them. On a GPU to enqueue them: they are done within Run.
  double Restore = 0;
  /// The verified launch, and all of measuring: launches, a baseline's turns,
  /// caches, clocks.
  double Run = 0;
  double Compare = 0;
  double Baseline = 0; ///< To compile, load and verify it.
};

json::Value toJSON(const ReplayTimes &T);
bool fromJSON(const json::Value &V, ReplayTimes &T, json::Path P);

/// What was measured beside the replayed kernel, and how that compares.
struct BaselineResult {
  Baseline Kind = Baseline::None;
  Verdict V = Verdict::NotVerified;
  std::string Error; ///< Why it was not measured.
  std::optional<Measurement> Measured;
  std::optional<KernelResources> Resources;
  /// How many times as fast as the baseline the replayed kernel is.
  std::optional<RatioEstimate> Speedup;
};

json::Value toJSON(const BaselineResult &R);
bool fromJSON(const json::Value &V, BaselineResult &R, json::Path P);

/// The GPU that ran a replay.
struct ReplayGPU {
  unsigned Number = 0; ///< Of those of this machine.
  GPUInfo Info;
  GPUState State; ///< Right after the last launch.
  std::string Backend; ///< "driver", "liboffload".
  std::string MemoryMode; ///< Replayer::mode().
  std::string Retargeted; ///< To this architecture from the recorded one.
  /// Blocks of the launch that a multiprocessor can hold, and the share of its
  /// threads that they are.
  unsigned BlocksPerMultiprocessor = 0;
  double Occupancy = 0;
};

json::Value toJSON(const ReplayGPU &R);
bool fromJSON(const json::Value &V, ReplayGPU &R, json::Path P);

/// How much a verification of a recorded launch can notice.
struct VerificationPower {
  /// Would a launch that does nothing be verified? Unset: unknown.
  std::optional<bool> Vacuous;
  /// Bytes that the recorded launch changed, in pages of which a part changed.
  uint64_t ChangedBytes = 0;
  /// Bytes that start with another value than the one they have to get
  /// (Poison.h). Unset: poison was not searched for.
  std::optional<uint64_t> PoisonedBytes;
  std::string NoPoison; ///< Why there are none.

  bool isVacuous() const { return Vacuous.value_or(false); }
};
/// In words.
std::string describePower(const VerificationPower &P);

json::Value toJSON(const VerificationPower &P);
bool fromJSON(const json::Value &V, VerificationPower &P, json::Path Path);

struct ReplayResult {
  Verdict V = Verdict::NotVerified;
  std::string Error; ///< Why not; empty when it matches.
  bool Executed = false;
  double StartTime = 0, EndTime = 0; ///< Seconds since the epoch.
  ReplayTimes Times;
  uint64_t ObjectSize = 0; ///< Bytes; 0 when there is no object.
  /// CompiledKernel says of what.
  std::string IRHash, AssemblyHash, CodeHash;
  std::string Assembler;   ///< The build of ptxas that made it; may be empty.
  std::optional<Measurement> Measured;
  std::optional<BaselineResult> Compared;
  std::optional<KernelResources> Resources;
  std::optional<AppComparison> App; ///< When it was asked for.
  std::string Device;               ///< That ran it.
  std::optional<ReplayGPU> GPU;
  std::string HostStrategy, HostReason;
  /// After a mismatch: does the recorded kernel give two results where what it
  /// has not written is filled with two values? Unset: nobody could tell.
  std::optional<bool> ReadsUninitialized;
  std::vector<BufferReport> Buffers;
  std::optional<StrayWrite> Stray;
  VerificationPower Power;
  json::Value Features = nullptr; ///< For InstrumentOptions::Dataset.

  /// Of each timed launch.
  ArrayRef<double> nanoseconds() const {
    return Measured ? ArrayRef<double>(Measured->Nanoseconds)
                    : ArrayRef<double>();
  }
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

class PoisonMask;
class ResidentMemory;

/// A recording's memory on one device. The arena of the process is its own.
/// Where a GPU has room for the memory three times, it stays there: as it was
/// before the launch, as it was after it, and as it is; else the host holds it.
class Replayer {
public:
  /// Reserves the arena, maps the regions, writes what they held. Dies before
  /// \p D.
  static Expected<Replayer> create(const RecordedState &State, Device &D);
  Replayer(Replayer &&);
  Replayer &operator=(Replayer &&);
  ~Replayer();

  /// "device" or "host": where what restore() and compare() need is kept.
  StringRef mode() const;

  /// Writes back what the recorded launch changes and what the last compare()
  /// found changed besides. Nothing to do before the first launch. On a GPU
  /// that keeps the memory it is enqueued only.
  Error restore();
  Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                 const LaunchConfig &Config);
  /// GPUDevice::launchMany(), on a GPU. \p Prepare may restore().
  Expected<LaunchOutcome> launchMany(DeviceKernel &Kernel,
                                     const LaunchConfig &Config,
                                     unsigned Count,
                                     function_ref<Error()> Prepare,
                                     std::vector<double> &Nanoseconds);
  /// How many launches there were; several at once are one by one.
  uint64_t numLaunches() const { return NumLaunches; }
  /// Compares all recorded memory with what the recorded launch left, and what
  /// the device has mapped around it with zeros, which it was.
  Expected<MemoryComparison> compare(ArrayRef<ComparePart> Parts);

  /// The largest finite magnitude of the elements that the recorded launch left
  /// in a part.
  Expected<double> findLargestOutcome(const ComparePart &Part) const;

  /// From the next restore() on, the bytes of \p Mask hold the complement of what
  /// the recorded launch leaves there, instead of what was recorded. Null: none
  /// do.
  Error poison(std::shared_ptr<const PoisonMask> Mask);

  /// Makes restore() write everything, until the next compare(): for launches
  /// that nobody compares.
  void markAllDirty();

  /// A range of a region.
  struct Range {
    size_t Region;
    uint64_t Begin, End;
    bool operator==(const Range &O) const {
      return Region == O.Region && Begin == O.Begin && End == O.End;
    }
  };
  /// What restore() writes.
  ArrayRef<Range> dirty() const { return Dirty; }

  /// Memory that is mapped with a region, before or behind it, and belongs to no
  /// region.
  struct Padding {
    size_t Region;
    uint64_t Address, Size;
  };

private:
  Replayer(const RecordedState &State, Device &D);
  const RecordedState *State;
  Device *D;
  /// Null when the host keeps the memory.
  std::unique_ptr<ResidentMemory> Resident;
  /// Each region before the launch, when the host keeps the memory.
  std::vector<std::vector<char>> Before;
  std::vector<Range> Changed; ///< By the recorded launch, or poisoned.
  std::vector<Range> Dirty;
  std::shared_ptr<const PoisonMask> Mask; ///< May be null.
  std::vector<Padding> Paddings; ///< By address.
  bool PaddingIsDirty = false;
  bool Clean = true;
  uint64_t NumLaunches = 0;

  void findPadding();
  Error clearPadding();
  Expected<std::optional<StrayWrite>> findStrayOnHost();
  StrayWrite describeStray(const Padding &P, uint64_t Offset) const;
  Error fill();
  SmallVector<void *, 16> getArgs() const;
  void setDirty(std::vector<Range> Ranges);
  void setChanged();
  Error readOutcome(size_t Region, std::vector<char> &After) const;
  Error poisonRegion(size_t Region, const PoisonMask &New);
  Error removePoison();
  Expected<std::vector<CompareStats>>
  compareOnDevice(ArrayRef<ComparePart> Parts,
                  std::optional<StrayWrite> &Stray);
  Expected<std::vector<CompareStats>>
  compareOnHost(ArrayRef<ComparePart> Parts);
};

/// Opens "host", or a GPU ("cuda:0", "offload:0", with or without the number).
Expected<std::unique_ptr<Device>> openDevice(StringRef Name);
/// The same for a recording with \p Regions, for which \p Held holds addresses
/// meanwhile.
Expected<std::unique_ptr<Device>> openDevice(StringRef Name,
                                             ArrayRef<RecordedRegion> Regions,
                                             HeldAddresses &Held);
/// What "auto" means for a plan: the first GPU that runs its code, else the
/// host. Initializes the driver, as opening a GPU does.
std::string chooseDevice(const ReplayPlan &Plan);
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

/// What a forked process does under the time limits of a plan. It tells of each
/// stage before it begins.
using ReplayBody =
    function_ref<Expected<ReplayResult>(function_ref<void(ReplayStage)>)>;
/// \p Body instead of runReplay(), isolated; what else it finds out it has to
/// leave in a file.
Expected<ReplayResult> runIsolated(const ReplayPlan &Plan, ReplayBody Body);

/// By the plan's options: isolated or not. Isolated, a mismatch is followed by
/// replays that tell ReadsUninitialized.
Expected<ReplayResult> replay(const ReplayPlan &Plan);

/// {"Replay-config": ..., "Result": ...}
json::Value makeReport(const ReplayPlan &Plan, const ReplayResult &R);
/// The same for people.
void printReport(raw_ostream &OS, const ReplayPlan &Plan,
                 const ReplayResult &R);

/// Appends a line to InstrumentOptions::Dataset, if that is set.
Error appendToDataset(const ReplayPlan &Plan, const ReplayResult &R);

/// 0 when verified, or when nothing was to be verified; 2 else.
int getExitCode(const ReplayPlan &Plan, const ReplayResult &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_REPLAYER_H
