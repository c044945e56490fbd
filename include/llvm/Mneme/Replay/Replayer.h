//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a planned replay: on a device in this process (Replayer), including
/// compilation and measurement (runReplay), or in a child process
/// (runIsolatedReplay), so that a crash of the compiler or the kernel becomes a
/// result.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_REPLAYER_H
#define LLVM_MNEME_REPLAY_REPLAYER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Compile/CompareCode.h"
#include "llvm/Mneme/Config/Verdict.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Replay/Envelope.h"
#include "llvm/Mneme/Replay/HeldAddresses.h"
#include "llvm/Mneme/Replay/HotSpots.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/Allocator.h"

namespace llvm {
class raw_ostream;
namespace mneme {

/// The stage of a replay; if its process dies, the stage that failed. Poison
/// covers the whole search for poison, Envelope all launches of the recorded
/// code, Baseline includes its compilation.
enum class ReplayStage {
  Open,
  Poison,
  Optimize,
  Codegen,     ///< For the GPU, including ptxas.
  HostCodegen, ///< For the CPU.
  Prepare,
  Launch,
  Compare,
  Baseline,
  Envelope,
};
/// Returns the subject of "... did not end within 5 s".
StringRef describeStage(ReplayStage S);
/// Returns the time limit of a stage in seconds, without the time in which the
/// process waits for a processor.
double getStageLimit(const ReplayPlan &Plan, ReplayStage S);

/// Wall-clock times in seconds; they do not overlap.
struct ReplayTimes {
  double Open = 0;       ///< Opening the device.
  double FrontEnd = 0;   ///< Compiling the source to IR.
  double Parse = 0;      ///< Parsing the IR.
  double Read = 0;       ///< Reading the snapshots.
  double Specialize = 0; ///< Including the copy of the IR.
  double Optimize = 0;   ///< The pass pipeline.
  double Codegen = 0;    ///< For the device that runs the kernel.
  double Assemble = 0;   ///< ptxas, on the PTX that Codegen generated.
  /// For the GPU, including ptxas, if the host runs the kernel and resources
  /// were requested.
  double GPUCodegen = 0;
  /// Reserving the arena, mapping and filling it; finding the memory that
  /// launches must restore.
  double Prepare = 0;
  double Load = 0; ///< Loading the image.
  /// All restores. On a GPU only enqueueing them: they complete within Run.
  double Restore = 0;
  /// The verified launch and the whole measurement: launches, interleaved
  /// baseline launches, caches, clocks.
  double Run = 0;
  double Compare = 0;
  double Baseline = 0; ///< Compiling, loading and verifying it.
};

json::Value toJSON(const ReplayTimes &T);
bool fromJSON(const json::Value &V, ReplayTimes &T, json::Path P);

/// The measured baseline and its comparison with the replayed kernel.
struct BaselineResult {
  Baseline Kind = Baseline::None;
  Verdict V = Verdict::NotVerified;
  std::string Error; ///< Why it was not measured.
  std::optional<Measurement> Measured;
  std::optional<KernelResources> Resources;
  /// Speed-up of the replayed kernel over the baseline.
  std::optional<RatioEstimate> Speedup;
};

json::Value toJSON(const BaselineResult &R);
bool fromJSON(const json::Value &V, BaselineResult &R, json::Path P);

/// The GPU that ran a replay.
struct ReplayGPU {
  unsigned Number = 0; ///< Index among the GPUs of this machine.
  GPUInfo Info;
  GPUState State;      ///< Immediately after the last launch.
  std::string Backend; ///< "driver", "liboffload".
  std::string MemoryMode; ///< Replayer::mode().
  std::string Retargeted; ///< The target architecture, if not the recorded one.
  /// Resident blocks of the launch per multiprocessor, and the fraction of its
  /// threads they occupy.
  unsigned BlocksPerMultiprocessor = 0;
  double Occupancy = 0;
};

json::Value toJSON(const ReplayGPU &R);
bool fromJSON(const json::Value &V, ReplayGPU &R, json::Path P);

/// How much a verification of a recorded launch can detect.
struct VerificationPower {
  /// Whether an empty launch would verify. Unset: unknown.
  std::optional<bool> Vacuous;
  /// Bytes in pages that the recorded launch changed.
  uint64_t ChangedBytes = 0;
  /// Bytes whose initial value differs from the expected result (Poison.h).
  /// Unset: not searched for poison.
  std::optional<uint64_t> PoisonedBytes;
  std::string NoPoison; ///< Why no byte is poisoned.
  /// The most lenient level of the rules under which memory is compared.
  CompareLevel Level = CompareLevel::Exact;
  std::optional<EnvelopeSummary> Envelope; ///< Unset: not measured.
  std::string NoEnvelope;                  ///< Why it could not be measured.
  /// The least time of the launch. Unset: not determined.
  std::optional<LaunchBound> Bound;
  std::string NoBound; ///< Why it could not be determined.

  bool isVacuous() const { return Vacuous.value_or(false); }
  /// Returns true if results of the application's own code vary.
  bool varies() const { return Envelope && Envelope->varies(); }
};
/// Describes \p P in words.
std::string describePower(const VerificationPower &P);
/// Describes the envelope, or why there is none although results vary; empty if
/// none was needed.
std::string describeEnvelope(const VerificationPower &P);
/// Returns why memory cannot judge the launch and the application should, for
/// the end of a message; empty if memory can.
std::string adviseJudge(const VerificationPower &P);

json::Value toJSON(const VerificationPower &P);
bool fromJSON(const json::Value &V, VerificationPower &P, json::Path Path);

/// The result of one replay.
struct ReplayResult {
  Verdict V = Verdict::NotVerified;
  std::string Error; ///< Reason for the verdict; empty for a match.
  /// The front end's messages about a version of the source that it rejected.
  std::vector<SourceDiagnostic> Diagnostics;
  bool Executed = false;
  double StartTime = 0, EndTime = 0; ///< Seconds since the epoch.
  ReplayTimes Times;
  uint64_t ObjectSize = 0; ///< Bytes; 0 if there is no object.
  /// See CompiledKernel.
  std::string IRHash, AssemblyHash, CodeHash;
  /// XXH3-128 of the image that the device loads; empty if there is none.
  std::string ImageDigest;
  std::string Assembler; ///< The build of ptxas used; may be empty.
  std::optional<Measurement> Measured;
  CounterReading Counters; ///< ReplayOptions::Counters.
  std::optional<HotSpots> Hot; ///< ReplayOptions::Hot.
  std::optional<BaselineResult> Compared;
  std::optional<KernelResources> Resources;
  std::optional<AppComparison> App; ///< If requested.
  std::string Device;               ///< The device that ran the kernel.
  std::optional<ReplayGPU> GPU;
  std::string HostStrategy, HostReason;
  /// Why the GPU's code generator fails, although the host ran the kernel.
  /// Empty if it does not, or was not tried.
  std::string GPUFailure;
  /// After a mismatch: whether the recorded kernel gives different results for
  /// different fill values of memory it has not written. Unset: unknown.
  std::optional<bool> ReadsUninitialized;
  unsigned ComparedLaunches = 0; ///< Launches whose results were compared.
  std::vector<BufferReport> Buffers;
  std::optional<StrayWrite> Stray;
  VerificationPower Power;
  json::Value Features = nullptr; ///< For InstrumentOptions::Dataset.

  /// Per timed launch.
  ArrayRef<double> nanoseconds() const {
    return Measured ? ArrayRef<double>(Measured->Nanoseconds)
                    : ArrayRef<double>();
  }
  bool verified() const { return isMatch(V); }
  /// The bound of the measured launches in nanoseconds, and its share of their
  /// time. Unset: unknown.
  std::optional<double> bound() const;
  std::optional<double> sol() const;
  /// Returns what limits the measured launches (LaunchBound::limiter()); empty
  /// if that is unknown.
  StringRef limitedBy() const;
  /// Returns true if the replay failed before verification.
  bool failed() const {
    return V == Verdict::Crash || V == Verdict::Timeout ||
           V == Verdict::CompileError || V == Verdict::Unsupported;
  }
};

/// Returns the reason for the verdict in one line: the failure, or the level at
/// which each buffer verified. Empty for an exact match.
std::string describeReason(const ReplayResult &R);

json::Value toJSON(const ReplayResult &R);
bool fromJSON(const json::Value &V, ReplayResult &R, json::Path P);

class ResidentMemory;

/// The choice of the poison of launches, and of the memory around buffers.
struct PoisonDraw {
  uint64_t Keys[2] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b};
  /// Some regions, and parts of others, are no random poison: they have their
  /// recorded values or the results of the launch, or all bits are 0 or 1.
  bool LeavesParts = false;
  /// The memory around buffers is random, instead of zero. On a GPU, all of its
  /// bytes are equal.
  bool FillsPadding = false;
};

/// A recording's memory on one device. It owns the process's arena. If a GPU
/// has room for three copies, they stay on the GPU: the memory before the
/// launch, after it, and the current memory. Otherwise, the host keeps the
/// recorded contents.
class Replayer {
public:
  /// Reserves the arena, maps the regions and writes their recorded contents.
  /// \p D must outlive the Replayer.
  static Expected<Replayer> create(const RecordedState &State, Device &D);
  Replayer(Replayer &&);
  Replayer &operator=(Replayer &&);
  ~Replayer();

  /// Returns "device" or "host": where the data for restore() and compare() is
  /// kept.
  StringRef mode() const;

  /// Restores the memory that the recorded launch changes and any other changes
  /// found by the last compare(). Does nothing before the first launch. If a
  /// GPU keeps the memory, the operation is only enqueued.
  Error restore();
  Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                 const LaunchConfig &Config);
  /// Calls GPUDevice::launchMany() on a GPU. \p Prepare may call restore().
  Expected<LaunchOutcome> launchMany(DeviceKernel &Kernel,
                                     const LaunchConfig &Config,
                                     unsigned Count,
                                     function_ref<Error()> Prepare,
                                     std::vector<double> &Nanoseconds);
  /// Calls GPUDevice::count(). \p Prepare may call restore().
  Expected<LaunchOutcome> count(DeviceKernel &Kernel,
                                const LaunchConfig &Config,
                                const CounterSet &Counters,
                                function_ref<Error()> Prepare,
                                CounterReading &Reading);
  /// Calls GPUDevice::sample(). \p Prepare may call restore().
  Expected<LaunchOutcome>
  sample(DeviceKernel &Kernel, const LaunchConfig &Config, ArrayRef<char> Image,
         double Nanoseconds, function_ref<Error()> Prepare, PCReading &Reading);
  /// Returns the number of launches, including each one of launchMany().
  uint64_t numLaunches() const { return NumLaunches; }
  /// Compares all recorded memory with the outcome of the recorded launch. Also
  /// checks that the memory the device has mapped around it is unchanged.
  Expected<MemoryComparison> compare(const ComparePlan &Plan);

  /// Reads the contents of a region after the recorded launch, and now.
  Expected<std::pair<std::vector<char>, std::vector<char>>>
  readOutcomes(size_t Region) const;

  /// Returns the largest finite magnitude of the elements that the recorded
  /// launch left in a part.
  Expected<double> findLargestOutcome(const ComparePart &Part) const;

  /// Makes restore() write random values (PoisonMask::draw()) to the bytes of
  /// \p Mask, instead of their recorded contents. Null: no poison.
  Error poison(std::shared_ptr<const PoisonMask> Mask);
  /// Chooses other values for the poison, if there is any, and for the memory
  /// around buffers.
  Error drawPoison(const PoisonDraw &D);

  /// Makes restore() write everything until the next compare(). Required after
  /// launches that are not compared.
  void markAllDirty();

  /// A range of a region.
  struct Range {
    size_t Region;
    uint64_t Begin, End;
    bool operator==(const Range &O) const {
      return Region == O.Region && Begin == O.Begin && End == O.End;
    }
  };
  /// The ranges that restore() writes.
  ArrayRef<Range> dirty() const { return Dirty; }

  /// Memory mapped before or after a region that belongs to no region.
  struct Padding {
    size_t Region;
    uint64_t Address, Size;
  };

private:
  Replayer(const RecordedState &State, Device &D);
  const RecordedState *State;
  Device *D;
  /// Null if the host keeps the memory.
  std::unique_ptr<ResidentMemory> Resident;
  /// Contents of each region before the launch, if the host keeps the memory.
  std::vector<std::vector<char>> Before;
  /// Contents after the launch of the regions with poison, if the host keeps
  /// the memory; empty for other regions.
  std::vector<std::vector<char>> Outcomes;
  std::vector<Range> Changed; ///< Changed or poisoned.
  std::vector<Range> Dirty;
  std::shared_ptr<const PoisonMask> Mask; ///< May be null.
  PoisonDraw Draw;
  std::vector<Padding> Paddings;          ///< Sorted by address.
  bool PaddingIsDirty = false;
  bool Clean = true;
  uint64_t NumLaunches = 0;
  BumpPtrAllocator ArgBytes;
  SmallVector<void *, 16> Args; ///< In it; empty before the first launch.

  Error prepareOne(function_ref<Error()> Prepare);
  void findPadding();
  std::vector<char> makePadding(const Padding &P) const;
  Error fillPadding();
  Expected<std::optional<StrayWrite>> findStrayOnHost();
  StrayWrite describeStray(const Padding &P, uint64_t Offset) const;
  Error fill();
  ArrayRef<void *> getArgs();
  void setDirty(std::vector<Range> Ranges);
  void setChanged();
  Error readOutcome(size_t Region, std::vector<char> &After) const;
  Error poisonRegion(size_t Region, const PoisonMask &New);
  Error removePoison();
  Error restoreFromHost(const Range &R);
  Expected<std::vector<CompareStats>>
  compareOnDevice(ArrayRef<ComparePart> Parts,
                  std::optional<StrayWrite> &Stray);
  Expected<std::vector<CompareStats>>
  compareOnHost(ArrayRef<ComparePart> Parts);
  class RecordComparison;
};

/// Opens "host" or a GPU ("cuda:0", "offload:0"; the number is optional).
Expected<std::unique_ptr<Device>> openDevice(StringRef Name);
/// Opens a device for a recording with \p Regions. \p Held reserves their
/// addresses meanwhile.
Expected<std::unique_ptr<Device>> openDevice(StringRef Name,
                                             ArrayRef<RecordedRegion> Regions,
                                             HeldAddresses &Held);
/// Resolves "auto" for a plan: the first GPU that runs its code, otherwise the
/// host. Initializes the driver, as opening a GPU does.
std::string chooseDevice(const ReplayPlan &Plan);
/// Prints one line per device: its name, ": " and a description.
void listDevices(raw_ostream &OS);

/// Compiles, runs, verifies and measures in this process. An Error means that
/// the replay could not be set up; failures of the compiler and the kernel are
/// in the result. Calls \p Report with each stage before it begins, and for
/// each launch.
Expected<ReplayResult> runReplay(const ReplayPlan &Plan,
                                 function_ref<void(ReplayStage)> Report);

/// Calls runReplay() in a forked process under the plan's time limit. Call it
/// while the process has one thread.
Expected<ReplayResult> runIsolatedReplay(const ReplayPlan &Plan);

/// The work of a forked process under a plan's time limits. It reports each
/// stage before it begins.
using ReplayBody =
    function_ref<Expected<ReplayResult>(function_ref<void(ReplayStage)>)>;
/// Runs \p Body in isolation instead of runReplay(). Any result besides the
/// ReplayResult must be passed in a file. Of this process's descriptors, the
/// child inherits only \p Kept.
Expected<ReplayResult> runIsolated(const ReplayPlan &Plan, ReplayBody Body,
                                   ArrayRef<int> Kept = {});

/// What random schedules check besides the results. Some correct code fails.
struct ScheduleChecks {
  bool Bounds = false;   ///< Accesses to local and shared variables.
  bool Barriers = false; ///< HostSchedule::Strict.
  bool Splits = false;   ///< HostSchedule::Splits.
};

/// Replays on the host device under several schedules, in one isolated process,
/// until one fails. The result is that of the last replay, without a
/// measurement; its error names the schedule.
Expected<ReplayResult> replayScheduled(const ReplayPlan &Plan,
                                       ArrayRef<HostSchedule> Schedules,
                                       ScheduleChecks Checks);

/// Replays \p Plan, in one isolated process, with other contents of the memory
/// that the recorded code does not read, among them the constants of the plan's
/// code. Match: all launches verified. NotVerified: there is no test, for the
/// reason in the error.
Expected<ReplayResult> replayUnread(const ReplayPlan &Plan, uint64_t Seed);

/// Replays isolated or not, depending on the plan's options. If isolated,
/// further replays determine ReadsUninitialized after a mismatch.
Expected<ReplayResult> replay(const ReplayPlan &Plan);

/// Returns {"Replay-config": ..., "Result": ...}.
json::Value makeReport(const ReplayPlan &Plan, const ReplayResult &R);
/// Prints a human-readable report.
void printReport(raw_ostream &OS, const ReplayPlan &Plan,
                 const ReplayResult &R);

/// Appends a line to InstrumentOptions::Dataset, if set.
Error appendToDataset(const ReplayPlan &Plan, const ReplayResult &R);

/// Returns 0 if the replay verified or no verification was requested, otherwise
/// 2. Also returns 2 if the code differs from the application's.
int getExitCode(const ReplayPlan &Plan, const ReplayResult &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_REPLAYER_H
