//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replay plans. A replay is planned once and run many times. The plan holds
/// everything that can be checked without a device: the recording, the kernel's
/// IR, and the launch.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_PLAN_H
#define LLVM_MNEME_REPLAY_PLAN_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Record/NewRecording.h"
#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/Mneme/Replay/Bound.h"
#include "llvm/Mneme/Replay/Compare.h"
#include "llvm/Mneme/Replay/Envelope.h"
#include "llvm/Mneme/Replay/Measure.h"
#include "llvm/Mneme/Replay/Unordered.h"
#include "llvm/Mneme/Source/SourceCompiler.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
namespace mneme {
class PoisonMask;

/// The baseline measured alongside the replayed kernel for comparison.
enum class Baseline {
  None,
  Recompiled, ///< The recorded IR at the application's -O level.
  App,        ///< The application's machine code.
};
StringRef getBaselineName(Baseline B);

/// User options. Unset means as recorded.
struct ReplayOptions : KernelConfig {
  std::string RecordId; ///< Dynamic hash; may be empty if there is only one.
  /// Initial value of the kernel's own memory (Transforms/Fill.h); unset:
  /// indeterminate.
  std::optional<uint8_t> Fill;
  PTXCompiler Assembler = PTXCompiler::Auto;
  std::string CudaPath;
  /// The source folder of Source; empty: that of the file.
  std::string SourceDir;
  SourceEdit Edit = SourceEdit::Blocks;
  /// ELF file whose machine code of the kernel is compared with the replayed
  /// code; empty: none.
  std::string CompareWithApp;
  std::vector<std::string> Plugins;

  std::string Device = "auto";
  HostOptions Host;
  bool Execute = true;
  bool Resources = false; ///< Also compile for the GPU if the host runs the
                          ///< kernel.
  /// If the host runs the kernel, try meanwhile whether the GPU's code can be
  /// generated (ReplayResult::GPUFailure).
  bool TriesGPUCode = false;
  bool Verify = true;
  /// Find the bytes that a launch writes without reading them first, and
  /// initialize them to a wrong value (Poison.h).
  bool Poison = false;
  EnvelopeRule Envelope;
  /// Launches to compare if the recorded code's results vary. Unset: as many
  /// as the envelope has replays.
  std::optional<unsigned> ComparedLaunches;
  /// The author of the code is not trusted. Launches start from different
  /// poison and memory around buffers and, on the host device, from different
  /// contents of local and shared memory: a verification there has a launch for
  /// each kind. One timed launch in four, chosen at random, is compared, too.
  bool Untrusted = false;
  bool StrictBarriers = false; ///< HostSchedule::Strict.
  bool SplitsWarps = false;    ///< HostSchedule::Splits.
  bool Isolate = true; ///< Compile and run in a child process.
  /// The child process prints what the kernel prints, and crashes.
  bool ShowsOutput = true;
  /// Defaults for the host device, whose launches are long and whose timer is
  /// exact.
  static constexpr unsigned HostIterations = 3, HostWarmup = 1;
  /// Timed launches and warm-up launches. Unset: adaptive on a GPU, the above
  /// numbers on the host.
  std::optional<unsigned> Iterations, Warmup;
  bool Adaptive = false; ///< Adaptive numbers of launches on any device.
  BoundMode Bound = BoundMode::Auto;
  std::string Peaks; ///< File with the device's peaks; empty: measured.
  std::optional<CacheMode> Cache; ///< Unset: Cold on a GPU, Warm on the host.
  GPUTimer Timer = GPUTimer::Auto;
  /// Hardware counters to read after the measurement.
  CounterSet Counters;
  /// The same, of each variant that ReplaySession::compare() measures.
  CounterSet PairedCounters;
  /// Instructions of the IR with most samples to report; 0: take no samples.
  unsigned Hot = 0;
  Baseline Compared = Baseline::None;
  /// The application's file for Baseline::App; empty: CompareWithApp.
  std::string App;
  /// Seconds, for the compilation and for each launch; 0: no limit.
  double Timeout = 300;
  /// Seconds, for each launch; unset: Timeout.
  std::optional<double> LaunchTimeout;
  /// Measure just enough to select candidates for a precise measurement
  /// (MeasureRules::quick()), on any device.
  bool Quick = false;
  /// Nanoseconds: stop measuring a kernel that is significantly slower. 0:
  /// never.
  double StopAbove = 0;
  /// Instrumentation of the compilation, for a single replay.
  InstrumentOptions Instruments;
  /// Output files; empty: none.
  std::string OutputIR, OutputAsm, OutputObject;
  /// The same for the host device: assembly of the CPU.
  std::string OutputHostAsm;

  /// Returns true if the kernel is compiled for its GPU down to machine code.
  bool wantsGPUImage() const {
    return Resources || !Execute || !OutputObject.empty() ||
           !CompareWithApp.empty() || !Instruments.SaveTemps.empty();
  }

  double launchTimeout() const { return LaunchTimeout.value_or(Timeout); }

  /// Returns the file for Baseline::App.
  StringRef appFile() const { return App.empty() ? CompareWithApp : App; }

  std::vector<ToleranceSpec> Tolerances;
  std::vector<ElementTypeSpec> ElementTypes;
  std::vector<UnorderedSpec> Unordered;
  std::optional<uint32_t> Norm;
  NaNRule NaN = NaNRule::Equal;
};

/// A buffer or variable.
struct RecordedRegion {
  SnapshotRegion Info;
};

/// The memory of one recorded launch.
class RecordedState {
public:
  /// Reads both snapshots and checks them against each other and the kernel.
  static Expected<RecordedState> load(StringRef Dir,
                                      const RecordedKernel &Kernel,
                                      const RecordedInstance &Instance);

  uint64_t arenaBase() const { return Prologue->header().ArenaBase; }
  uint64_t arenaSize() const { return Prologue->header().ArenaSize; }
  /// Sorted by address.
  ArrayRef<RecordedRegion> regions() const { return Regions; }
  ArrayRef<std::string> args() const { return Prologue->args(); }
  ArrayRef<SnapshotAnnotation> annotations() const {
    return Prologue->annotations();
  }
  /// The ranges that are nonzero before the launch, and those that it changed.
  ArrayRef<SnapshotData> stored() const { return Prologue->data(); }
  ArrayRef<SnapshotData> changed() const {
    return Outcome ? ArrayRef(OutcomeRanges) : Epilogue->data();
  }
  /// Returns the region that contains an address of stored() or changed().
  size_t findRegion(uint64_t Address) const;
  /// Returns the region that contains a byte at \p Address, which may be any
  /// number; unset if none does. A number in the arena's range need not be an
  /// address.
  std::optional<size_t> findRegionOf(uint64_t Address) const;
  /// Returns the handles of all texture and surface objects, sorted.
  std::vector<uint64_t> handles() const;

  using DataFn = function_ref<Error(const SnapshotData &, ArrayRef<char>)>;
  /// Call \p Fn with each range and its bytes, until it fails.
  Error readStored(DataFn Fn) const;
  Error readChanged(DataFn Fn) const;
  /// Writes the contents of a region before or after the recorded launch to
  /// \p Contents, which is zero. Decompresses on all cores.
  Error readRegion(size_t Region, bool After,
                   MutableArrayRef<char> Contents) const;
  /// Turns a region's contents before the recorded launch into those after it.
  Error applyChanges(size_t Region, MutableArrayRef<char> Contents) const;

  /// Returns the same initial memory with \p Changed as the expected outcome
  /// instead of the recorded one. Ranges are as in a NewRecording, sorted by
  /// address.
  RecordedState withOutcome(std::vector<MemoryRange> Changed) const;

private:
  std::shared_ptr<const Snapshot> Prologue, Epilogue;
  std::vector<RecordedRegion> Regions;
  /// Replaces the epilogue's data; null: use the epilogue.
  std::shared_ptr<const std::vector<MemoryRange>> Outcome;
  std::vector<SnapshotData> OutcomeRanges;
};

/// A checked plan for replaying one recorded launch.
class ReplayPlan {
public:
  /// \param Database  a kernel's JSON file, or a folder that contains one.
  /// Errors name the offending file, option or argument. A version of the
  /// source that does not compile is a SourceError.
  /// \param Sources  compiles versions for several plans; may be null.
  static Expected<std::unique_ptr<ReplayPlan>>
  create(StringRef Database, ReplayOptions Options,
         std::shared_ptr<SourceCompiler> Sources = nullptr);
  ~ReplayPlan();

  /// Returns a plan of the same recorded launch with other options. Shares this
  /// plan's memory, and its IR unless Options.IRFile or Options.Source differs.
  /// Ignores Options.RecordId.
  /// \param WillCompile  if false, the plan can only run code compiled
  /// elsewhere. Compile options are then only checked for contradictions, which
  /// takes microseconds, and a source is not compiled.
  Expected<std::unique_ptr<ReplayPlan>> vary(ReplayOptions Options,
                                             bool WillCompile = true) const;

  /// Returns the same plan with another expected outcome of the launch
  /// (RecordedState::withOutcome()).
  std::unique_ptr<ReplayPlan>
  withOutcome(std::vector<MemoryRange> Changed) const;

  /// Returns the same plan with bytes to poison before each launch (Poison.h).
  /// Its variants inherit them.
  std::unique_ptr<ReplayPlan>
  withPoison(std::shared_ptr<const PoisonMask> Mask) const;

  /// Returns the same plan with the rules of an envelope. Its variants inherit
  /// them unless they compare otherwise.
  std::unique_ptr<ReplayPlan>
  withEnvelope(std::shared_ptr<const Envelope> E) const;

  /// Returns the same plan with the bound of the recorded launch. Its variants
  /// inherit it.
  std::unique_ptr<ReplayPlan>
  withBound(std::shared_ptr<const LaunchBound> B) const;

  const ReplayOptions &options() const { return Options; }
  /// Null if no envelope was measured, or nothing varied.
  const std::shared_ptr<const Envelope> &envelope() const { return Measured; }
  /// Null if the plan was not searched for poison.
  const std::shared_ptr<const PoisonMask> &poison() const { return Poison; }
  /// Null if it was not determined.
  const std::shared_ptr<const LaunchBound> &bound() const { return Bound; }
  const RecordedKernel &kernel() const { return *Kernel; }
  /// Compiles versions of the source for this plan and others.
  const std::shared_ptr<SourceCompiler> &sources() const { return Sources; }
  const RecordedInstance &instance() const { return Instance; }
  const RecordedState &state() const { return *State; }
  /// Cannot compile if the plan was made only to run code (vary()).
  const KernelCompiler &compiler() const { return *Compiler; }
  /// The application's cubins with the kernel, for comparison with the replayed
  /// code.
  ArrayRef<SmallVector<char, 0>> appImages() const { return *AppImages; }
  Dim3 grid() const { return Grid; }
  Dim3 block() const { return Block; }
  uint64_t sharedMem() const { return SharedMem; }
  mneme::HostSchedule schedule() const { return Schedule; }
  /// Returns the launch of a replay, with the schedule and the time limit.
  LaunchConfig launch() const;
  /// Returns the variables and their locations.
  std::vector<KernelGlobal> globals() const;
  const ComparePlan &comparison() const { return *Comparison; }
  /// Returns true if the recorded launch may read memory that it has written,
  /// so that repeating it requires restoring its memory. Decided conservatively
  /// from the IR, in about the time of a small pass pipeline.
  bool canReadWhatItWrites() const;
  bool isNVPTX() const;
  /// Returns false if the recording has only the kernel's interface and image,
  /// and the user gives no other IR.
  bool hasIR() const;
  /// Returns the application's machine code of the kernel from the recorded
  /// image; assembles PTX. Fails if no image was recorded.
  Expected<SmallVector<char, 0>> readRecordedCubin() const;
  bool hasRecordedImage() const { return !kernel().Image.File.empty(); }
  /// Returns a hexadecimal digest of Options.IRFile's contents, or of the
  /// version of the source; empty for the recorded IR.
  std::string irDigest() const;
  /// The reasons not to trust a version of the source (findGuarded()).
  ArrayRef<std::string> suspicions() const { return Suspicions; }
  /// Returns false if the plan's version of the source was not compiled
  /// (vary()): the module is another one.
  bool hasOwnModule() const { return IsCompiled || !Version; }
  /// Seconds that clang took for the version of the source.
  double frontEndTime() const { return FrontEndTime; }
  /// Returns a new copy of the module to compile, preferably in a context of
  /// its own.
  std::unique_ptr<Module> cloneModule(LLVMContext &Context) const;
  /// Returns the size of the module's bitcode.
  size_t sizeOfIR() const { return Bitcode ? Bitcode->size() : 0; }
  /// Seconds spent on parsing the IR and on reading the snapshots.
  double parseTime() const { return ParseTime; }
  double readTime() const { return ReadTime; }

private:
  ReplayPlan();
  ReplayOptions Options;
  std::string Dir; ///< Folder of the recording.
  bool WillCompile = true;
  RecordedInstance Instance;
  Dim3 Grid, Block;
  uint64_t SharedMem = 0;
  mneme::HostSchedule Schedule;
  // Shared with the variants of this plan if equal.
  std::shared_ptr<const RecordedKernel> Kernel;
  std::shared_ptr<const RecordedState> State;
  std::shared_ptr<LLVMContext> Context;
  std::shared_ptr<Module> M;
  /// Bitcode of the module, for copies.
  std::shared_ptr<const SmallVector<char, 0>> Bitcode;
  std::shared_ptr<const KernelCompiler> Compiler;
  std::shared_ptr<const std::vector<SmallVector<char, 0>>> AppImages;
  std::shared_ptr<const ComparePlan> Comparison;
  std::shared_ptr<const PoisonMask> Poison;
  std::shared_ptr<const Envelope> Measured;
  std::shared_ptr<const LaunchBound> Bound;
  double ParseTime = 0, ReadTime = 0, FrontEndTime = 0;
  std::shared_ptr<SourceCompiler> Sources;
  /// The version of the source, if any, and whether M is its module.
  std::shared_ptr<const SourceVersion> Version;
  bool IsCompiled = false;
  std::vector<std::string> Suspicions;

  Error readVersion();
  Error compileVersion();
  Error chooseInstance(StringRef Database);
  Error loadModule();
  Error checkSignature() const;
  /// \param Other  the plan to vary; may be null.
  Error planVariant(const ReplayPlan *Other);
  Error planSchedule();
  Error planLaunch();
  Error planCompilation(const ReplayPlan *Other);
  Error planAppImages();
  Error checkImageSettings() const;
  Error planComparison();
  Error planMeasurement() const;
  Error planInstruments() const;
  SpecializeOptions getSpecialization() const;
  Expected<CompileOptions> getCompileOptions() const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_PLAN_H
