//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A replay is planned once and run many times. The plan holds everything that
/// can be checked without a device: the recording, the kernel's IR, the launch.
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
#include "llvm/Mneme/Replay/Compare.h"
#include "llvm/Mneme/Replay/Measure.h"
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

/// What is measured beside the replayed kernel, to be compared with it.
enum class Baseline {
  None,
  Recompiled, ///< The recorded IR at the application's own -O level.
  App,        ///< The application's own machine code.
};
StringRef getBaselineName(Baseline B);

/// What the user may choose. Unset means: as recorded.
struct ReplayOptions {
  std::string RecordId; ///< Dynamic hash; empty when there is only one.
  std::optional<std::string> Passes;
  /// Only these, all but these of its executions (Compile/PassGate.h).
  std::optional<std::string> RunPasses, SkipPasses;
  std::optional<uint32_t> Grid[3], Block[3];
  std::optional<uint64_t> SharedMem; ///< Bytes of dynamic shared memory.
  bool Specialize = false;           ///< Scalar arguments become constants.
  bool SpecializeDims = false;       ///< Launch dimensions become constants.
  bool SpecializeRanges = false;     ///< Indices get the launch's range.
  bool SetLaunchBounds = false;
  uint32_t MaxThreads = 0; ///< 0: the block's threads.
  uint32_t MinBlocks = 0;
  /// What the kernel's own memory is made of before it is written
  /// (Transforms/Fill.h); unset: as it comes.
  std::optional<uint8_t> Fill;
  std::optional<unsigned> CodeGenLevel;
  std::string Arch, TargetCPU;
  std::optional<std::string> TargetFeatures;
  uint32_t MaxRegisters = 0; ///< Of a thread; 0: as recorded.
  std::vector<std::string> PtxasOptions;
  std::vector<LLVMOption> LLVMOptions; ///< For the compilation alone.
  PTXCompiler Assembler = PTXCompiler::Auto;
  std::string IRFile; ///< Replay this IR instead of the recorded one.
  std::string CudaPath;
  /// Programs of other versions (Compile/ExternalTools.h).
  std::string OptTool, LlcTool, Ptxas;
  /// An ELF file whose machine code of the kernel is compared with the
  /// replay's; empty: none.
  std::string CompareWithApp;
  std::vector<std::string> Plugins;

  std::string Device = "auto";
  HostOptions Host;
  bool Execute = true;
  bool Resources = false; ///< Also compile for the GPU when the host runs it.
  bool Verify = true;
  /// Find out which bytes a launch writes and does not read before, and give
  /// them a wrong value first (Poison.h).
  bool Poison = false;
  bool Isolate = true; ///< Compile and run in a process of their own.
  /// Of the host device, whose launches are long and whose timer is exact.
  static constexpr unsigned HostIterations = 3, HostWarmup = 1;
  /// Timed launches, and launches before them. Unset: on a GPU as many as the
  /// rules of measurement want, on the host the figures above.
  std::optional<unsigned> Iterations, Warmup;
  bool Adaptive = false; ///< As many as the rules want, on any device.
  std::optional<CacheMode> Cache; ///< Unset: cold on a GPU, warm on the host.
  GPUTimer Timer = GPUTimer::Auto;
  Baseline Compared = Baseline::None;
  /// The application's file, for Baseline::App; empty: CompareWithApp.
  std::string App;
  double Timeout =
      300; ///< Seconds, for the compilation and for each launch; 0 = none.
  /// Seconds, for each launch; unset: Timeout.
  std::optional<double> LaunchTimeout;
  /// Measure as is enough to find what is worth to be measured well
  /// (MeasureRules::quick()), on any device.
  bool Quick = false;
  /// Nanoseconds: a kernel that is slower is not measured further than to be
  /// sure of that. 0: any is.
  double StopAbove = 0;
  /// What shows how the code is made; of one replay.
  InstrumentOptions Instruments;
  /// Files to write; empty = none.
  std::string OutputIR, OutputAsm, OutputObject;

  /// Is the kernel compiled for its GPU, all the way?
  bool wantsGPUImage() const {
    return Resources || !Execute || !OutputObject.empty() ||
           !CompareWithApp.empty() || !Instruments.SaveTemps.empty();
  }

  double launchTimeout() const { return LaunchTimeout.value_or(Timeout); }

  /// Where Baseline::App is.
  StringRef appFile() const { return App.empty() ? CompareWithApp : App; }

  std::vector<ToleranceSpec> Tolerances;
  std::vector<ElementTypeSpec> ElementTypes;
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
  /// Reads both snapshots and checks them against each other and against the
  /// kernel.
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
  /// The ranges that are not zero before the launch, and those that it changed.
  ArrayRef<SnapshotData> stored() const { return Prologue->data(); }
  ArrayRef<SnapshotData> changed() const {
    return Outcome ? ArrayRef(OutcomeRanges) : Epilogue->data();
  }
  /// The region that holds an address of one of these.
  size_t findRegion(uint64_t Address) const;

  using DataFn = function_ref<Error(const SnapshotData &, ArrayRef<char>)>;
  /// Hands their bytes to \p Fn, a range at a time, as long as it succeeds.
  Error readStored(DataFn Fn) const;
  Error readChanged(DataFn Fn) const;
  /// Makes of a region's contents before the recorded launch those after it.
  Error applyChanges(size_t Region, MutableArrayRef<char> Contents) const;

  /// The same memory before the launch, which is to change it to \p Changed,
  /// instead of what the recorded launch left. Ranges as a NewRecording's,
  /// sorted by address.
  RecordedState withOutcome(std::vector<MemoryRange> Changed) const;

private:
  std::shared_ptr<const Snapshot> Prologue, Epilogue;
  std::vector<RecordedRegion> Regions;
  /// Instead of what the epilogue has; null: that.
  std::shared_ptr<const std::vector<MemoryRange>> Outcome;
  std::vector<SnapshotData> OutcomeRanges;
};

/// A part of one region that is compared under one rule.
struct ComparePart {
  size_t Region;
  uint64_t Offset, Size;
  std::string Name;
  CompareRule Rule;
};

class ReplayPlan {
public:
  /// \param Database  a kernel's JSON file, or a folder that holds one.
  /// Every Error names what is wrong: file, option or argument.
  static Expected<std::unique_ptr<ReplayPlan>> create(StringRef Database,
                                                      ReplayOptions Options);
  ~ReplayPlan();

  /// The same recorded launch under other options, with the memory of this
  /// plan, which is not read again, and its IR, unless Options.IRFile is
  /// another one. Options.RecordId does not matter.
  /// \param WillCompile  when false, only code that was compiled elsewhere can
  /// be run: nothing about the compilation is checked but what contradicts
  /// itself, and it takes microseconds.
  Expected<std::unique_ptr<ReplayPlan>> vary(ReplayOptions Options,
                                             bool WillCompile = true) const;

  /// The same plan with what the launch is to do to the memory
  /// (RecordedState::withOutcome()).
  std::unique_ptr<ReplayPlan>
  withOutcome(std::vector<MemoryRange> Changed) const;

  /// The same plan with bytes to poison before each launch (Poison.h); variants
  /// have them too.
  std::unique_ptr<ReplayPlan>
  withPoison(std::shared_ptr<const PoisonMask> Mask) const;

  const ReplayOptions &options() const { return Options; }
  /// Null: poison was not searched for.
  const std::shared_ptr<const PoisonMask> &poison() const { return Poison; }
  const RecordedKernel &kernel() const { return *Kernel; }
  const RecordedInstance &instance() const { return Instance; }
  const RecordedState &state() const { return *State; }
  /// Only described when the plan was made to run code (vary()).
  const KernelCompiler &compiler() const { return *Compiler; }
  bool willCompile() const { return WillCompile; }
  /// The cubins with the kernel in the application that the replay's code is
  /// compared with.
  ArrayRef<SmallVector<char, 0>> appImages() const { return *AppImages; }
  Dim3 grid() const { return Grid; }
  Dim3 block() const { return Block; }
  uint64_t sharedMem() const { return SharedMem; }
  /// Where each variable lives.
  std::vector<KernelGlobal> globals() const;
  ArrayRef<ComparePart> compareParts() const { return *Parts; }
  /// Could the recorded launch see what it has written itself, so that it needs
  /// its memory restored to do the same again? Decided by the IR, and true
  /// whenever in doubt. Takes as long as a small pipeline.
  bool canReadWhatItWrites() const;
  bool isNVPTX() const;
  /// In hexadecimal, of Options.IRFile's contents; empty for the recorded IR.
  std::string irDigest() const;
  /// A fresh copy of the module to compile, best in a context of its own.
  std::unique_ptr<Module> cloneModule(LLVMContext &Context) const;
  /// Seconds that parsing the IR and reading the snapshots took.
  double parseTime() const { return ParseTime; }
  double readTime() const { return ReadTime; }

private:
  ReplayPlan();
  ReplayOptions Options;
  std::string Dir; ///< Of the recording.
  bool WillCompile = true;
  RecordedInstance Instance;
  Dim3 Grid, Block;
  uint64_t SharedMem = 0;
  // Shared with the plans that vary this one, where they are the same.
  std::shared_ptr<const RecordedKernel> Kernel;
  std::shared_ptr<const RecordedState> State;
  std::shared_ptr<LLVMContext> Context;
  std::shared_ptr<Module> M;
  /// Of the module, to be copied.
  std::shared_ptr<const SmallVector<char, 0>> Bitcode;
  std::shared_ptr<const KernelCompiler> Compiler;
  std::shared_ptr<const std::vector<SmallVector<char, 0>>> AppImages;
  std::shared_ptr<const std::vector<ComparePart>> Parts;
  std::shared_ptr<const PoisonMask> Poison;
  double ParseTime = 0, ReadTime = 0;

  Error chooseInstance(StringRef Database);
  Error loadModule();
  Error checkSignature() const;
  /// \param Other  the plan that this one varies; may be null.
  Error planVariant(const ReplayPlan *Other);
  Error planLaunch();
  Error planCompilation(const ReplayPlan *Other);
  Error planAppImages();
  Error planComparison();
  Error planMeasurement() const;
  Error planInstruments() const;
  SpecializeOptions getSpecialization() const;
  CompileOptions getCompileOptions() const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_PLAN_H
