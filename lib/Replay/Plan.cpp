//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Plan.h"
#include "Peaks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Fatbin.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

/// Limits of every CUDA GPU since 2012 and every AMD GPU.
static constexpr uint32_t MaxBlockThreads = 1024;
static constexpr uint32_t MaxBlockZ = 64;
/// Seconds, about thirty years; in nanoseconds it fits in 64 bits.
static constexpr uint64_t MaxTimeout = 1000000000;
static constexpr uint32_t MaxGridX = 0x7fffffff, MaxGridYZ = 65535;

StringRef mneme::getBaselineName(Baseline B) {
  switch (B) {
  case Baseline::None:
    return "none";
  case Baseline::Recompiled:
    return "recompiled";
  case Baseline::App:
    return "app";
  }
  llvm_unreachable("unknown baseline");
}

ReplayPlan::ReplayPlan() = default;
ReplayPlan::~ReplayPlan() = default;

Expected<std::unique_ptr<ReplayPlan>>
ReplayPlan::create(StringRef Database, ReplayOptions Options,
                   std::shared_ptr<SourceCompiler> Sources) {
  std::unique_ptr<ReplayPlan> Plan(new ReplayPlan());
  Plan->Options = std::move(Options);
  Plan->Sources =
      Sources ? std::move(Sources) : std::make_shared<SourceCompiler>();
  // A wrong file is the user's error; it is no reason to have no bound.
  if (!Plan->Options.Peaks.empty())
    if (Error E = readPeaks(Plan->Options.Peaks).takeError())
      return std::move(E);
  if (Error E = Plan->chooseInstance(Database))
    return std::move(E);
  if (Error E = Plan->readVersion())
    return std::move(E);
  if (Error E = Plan->loadModule())
    return std::move(E);
  if (Error E = Plan->compileVersion())
    return std::move(E);

  auto Start = std::chrono::steady_clock::now();
  Expected<RecordedState> State =
      RecordedState::load(Plan->Dir, *Plan->Kernel, Plan->Instance);
  if (!State)
    return State.takeError();
  Plan->State = std::make_shared<RecordedState>(std::move(*State));
  Plan->ReadTime = secondsSince(Start);
  if (Error E = Plan->planVariant(nullptr))
    return std::move(E);
  return std::move(Plan);
}

Expected<std::unique_ptr<ReplayPlan>> ReplayPlan::vary(ReplayOptions Other,
                                                       bool WillCompile) const {
  std::unique_ptr<ReplayPlan> Plan(new ReplayPlan());
  Plan->Options = std::move(Other);
  Plan->Options.RecordId = Options.RecordId;
  Plan->WillCompile = WillCompile;
  Plan->Dir = Dir;
  Plan->Kernel = Kernel;
  Plan->Instance = Instance;
  Plan->State = State;
  Plan->Poison = Poison;
  Plan->Bound = Bound;
  Plan->Sources = Sources;
  if (Error E = Plan->readVersion())
    return std::move(E);
  bool IsOther =
      Plan->Version &&
      (!Version || !IsCompiled || Plan->Version->digest() != Version->digest());
  // What a new version is compared with, or what stands in for it.
  bool SharesModule =
      Plan->Options.IRFile == Options.IRFile &&
      (IsOther ? !Version || !WillCompile : !Version || Plan->Version);
  if (SharesModule) {
    Plan->Context = Context;
    Plan->M = M;
    Plan->Bitcode = Bitcode;
  } else if (Error E = Plan->loadModule()) {
    return std::move(E);
  }
  if (Plan->Version && !IsOther) {
    Plan->IsCompiled = true;
    Plan->Suspicions = Suspicions;
  } else if (WillCompile) {
    if (Error E = Plan->compileVersion())
      return std::move(E);
  }
  if (Error E = Plan->planVariant(this))
    return std::move(E);
  return std::move(Plan);
}

std::unique_ptr<ReplayPlan>
ReplayPlan::withOutcome(std::vector<MemoryRange> Changed) const {
  std::unique_ptr<ReplayPlan> Plan(new ReplayPlan(*this));
  Plan->State = std::make_shared<const RecordedState>(
      State->withOutcome(std::move(Changed)));
  return Plan;
}

std::unique_ptr<ReplayPlan>
ReplayPlan::withPoison(std::shared_ptr<const PoisonMask> Mask) const {
  std::unique_ptr<ReplayPlan> Plan(new ReplayPlan(*this));
  Plan->Poison = std::move(Mask);
  return Plan;
}

std::unique_ptr<ReplayPlan>
ReplayPlan::withBound(std::shared_ptr<const LaunchBound> B) const {
  std::unique_ptr<ReplayPlan> Plan(new ReplayPlan(*this));
  Plan->Bound = std::move(B);
  return Plan;
}

std::unique_ptr<ReplayPlan>
ReplayPlan::withEnvelope(std::shared_ptr<const Envelope> E) const {
  std::unique_ptr<ReplayPlan> Plan(new ReplayPlan(*this));
  Plan->Comparison = std::shared_ptr<const ComparePlan>(E, &E->Plan);
  Plan->Measured = std::move(E);
  return Plan;
}

/// Returns true if both compare the same memory in the same way.
static bool compareAlike(const ReplayOptions &A, const ReplayOptions &B) {
  return A.Norm == B.Norm && A.NaN == B.NaN && A.Tolerances == B.Tolerances &&
         A.ElementTypes == B.ElementTypes && A.Unordered == B.Unordered;
}

/// The part of a plan that depends on the options.
Error ReplayPlan::planVariant(const ReplayPlan *Other) {
  if (Error E = planLaunch())
    return E;
  if (Error E = planCompilation(Other))
    return E;
  if (Other && compareAlike(Options, Other->Options)) {
    Comparison = Other->Comparison;
    Measured = Other->Measured;
  } else if (Error E = planComparison()) {
    return E;
  }
  if (Error E = planInstruments())
    return E;
  return planMeasurement();
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

static std::string listRecords(ArrayRef<RecordedKernel> Kernels) {
  std::string Text;
  for (const RecordedKernel &K : Kernels)
    for (const RecordedInstance &I : K.Instances)
      Text += formatv("\n  {0}  {1}  grid {2}x{3}x{4}  block {5}x{6}x{7}",
                      I.DynamicHash, K.displayName(), I.Grid.X, I.Grid.Y,
                      I.Grid.Z, I.Block.X, I.Block.Y, I.Block.Z)
                  .str();
  return Text;
}

Error ReplayPlan::chooseInstance(StringRef Database) {
  std::vector<RecordedKernel> Kernels;
  if (sys::fs::is_directory(Database)) {
    Dir = Database.str();
    Expected<std::vector<RecordedKernel>> All = readDatabase(Database);
    if (!All)
      return All.takeError();
    Kernels = std::move(*All);
  } else {
    Dir = sys::path::parent_path(Database).str();
    Expected<RecordedKernel> One = readKernelFile(Database);
    if (!One)
      return One.takeError();
    Kernels.push_back(std::move(*One));
  }

  auto Refuse = [&](const Twine &Why) {
    return createFileError(Database, createStringError(Why));
  };
  if (!Options.RecordId.empty()) {
    Expected<std::string> Whole = completeRecordId(Options.RecordId, Kernels);
    if (!Whole)
      return Refuse(toString(Whole.takeError()));
    Options.RecordId = std::move(*Whole);
  }
  StringRef Id = Options.RecordId;
  std::vector<std::pair<const RecordedKernel *, const RecordedInstance *>>
      Found;
  for (const RecordedKernel &K : Kernels)
    for (const RecordedInstance &I : K.Instances)
      if (Id.empty() || Id == I.DynamicHash)
        Found.push_back({&K, &I});
  if (Found.empty() && Id.empty())
    return Refuse("holds no recorded launch");
  if (Found.empty())
    return Refuse("no record '" + Id + "'; there are:" + listRecords(Kernels));
  // Several kernels of a folder may have the same launch configuration.
  if (Found.size() > 1 && Id.empty())
    return Refuse("holds several records, choose one with --record-id:" +
                  listRecords(Kernels));
  if (Found.size() > 1)
    return Refuse("several kernels have a record '" + Id +
                  "', name the kernel's file:" + listRecords(Kernels));
  Kernel = std::make_shared<RecordedKernel>(*Found[0].first);
  Instance = *Found[0].second;
  return Error::success();
}

Error ReplayPlan::loadModule() {
  auto Start = std::chrono::steady_clock::now();
  bool Own = !Options.IRFile.empty();
  std::string Path =
      Own ? Options.IRFile : pathIn(Dir, Kernel->Modules.front());
  // Textual IR is accepted, too, because users edit it.
  Expected<std::unique_ptr<MemoryBuffer>> File =
      Own ? readFile(Path, MaxIRFile) : readModule(Dir, *Kernel);
  if (!File)
    return File.takeError();
  // A time limit intended for launches may be too short to start a process.
  constexpr double StartSeconds = 2;
  Context = std::make_shared<LLVMContext>();
  auto Sane = std::make_shared<SmallVector<char, 0>>();
  Expected<std::unique_ptr<Module>> Read =
      readIR((*File)->getMemBufferRef(),
             Options.Timeout > 0 ? Options.Timeout + StartSeconds : 0, *Context,
             *Sane);
  if (!Read)
    return createFileError(Path, Read.takeError());
  M = std::move(*Read);
  const Function *F = M->getFunction(Kernel->KernelName);
  if (!F || F->isDeclaration() || !isKernel(*F))
    return createFileError(
        Path, createStringError("has no kernel '" + Kernel->KernelName + "'"));
  if (Own && M->getTargetTriple().getArch() != Triple(Kernel->Triple).getArch())
    return createFileError(
        Path, createStringError("is for " + M->getTargetTriple().str() +
                                ", the recording for " + Kernel->Triple));
  Bitcode = std::move(Sane);
  ParseTime = secondsSince(Start);
  return checkSignature();
}

Error ReplayPlan::readVersion() {
  if (Options.Source.empty() && Options.Defines.empty())
    return Error::success();
  if (Options.Source.empty())
    return createStringError("'" + DefineKeyPrefix + Options.Defines[0].Name +
                             "' needs a source: give --source");
  if (!Options.IRFile.empty())
    return createStringError("a replay of other IR compiles no source: give "
                             "either --source or --ir");
  Expected<SourceVersion> V =
      SourceVersion::read(Options.Source, Options.SourceDir);
  if (!V)
    return V.takeError();
  for (const LLVMOption &O : Options.Defines)
    V->Defines[O.Name] = O.Value;
  V->Edit = Options.Edit;
  Version = std::make_shared<SourceVersion>(std::move(*V));
  return Error::success();
}

/// Replaces the module, the recorded one, by that of the version.
Error ReplayPlan::compileVersion() {
  if (!Version)
    return Error::success();
  auto Start = std::chrono::steady_clock::now();
  Expected<FrontEndResult> R =
      Sources->compile(*Version, Kernel->KernelName, Kernel->StaticHash);
  if (!R)
    return R.takeError();
  FrontEndTime = secondsSince(Start);
  auto Fresh = std::make_shared<LLVMContext>();
  std::shared_ptr<Module> New =
      readExactBitcode(R->Bitcode, Version->Path, *Fresh);
  GuardFindings Found = findGuarded(*New, *M);
  if (!Found.Refusals.empty())
    return makeSourceError(
        createStringError("refused: " + join(Found.Refusals, ", ")),
        Version->Text);
  Suspicions = std::move(Found.Suspicions);
  M = std::move(New);
  Context = std::move(Fresh);
  Bitcode = std::make_shared<SmallVector<char, 0>>(std::move(R->Bitcode));
  IsCompiled = true;
  return makeSourceError(checkSignature(), Version->Text);
}

Error ReplayPlan::checkSignature() const {
  std::vector<KernelArg> Args = describeArgs(*M, Kernel->KernelName);
  std::string Where = Version                  ? "'" + Version->Path + "'"
                      : Options.IRFile.empty() ? std::string("the recorded IR")
                                               : "'" + Options.IRFile + "'";
  if (Args.size() != Kernel->Args.size())
    return createStringError(
        formatv("kernel '{0}' has {1} arguments in {2}, {3} in the recording",
                Kernel->KernelName, Args.size(), Where, Kernel->Args.size())
            .str());
  for (auto [I, Pair] : enumerate(zip(Args, Kernel->Args))) {
    const auto &[Here, Recorded] = Pair;
    // An image may leave gaps that no alignment explains.
    bool IsMoved = Here.Offset != Recorded.Offset && !Kernel->Image.IsOnly;
    if (Here.Size != Recorded.Size || IsMoved)
      return createStringError(
          formatv("argument {0} of kernel '{1}' has {2} bytes at offset {3} in "
                  "{4}, {5} at {6} in the recording",
                  I, Kernel->KernelName, Here.Size, Here.Offset, Where,
                  Recorded.Size, Recorded.Offset)
              .str());
    // An image does not say what a word is.
    bool IsPointer = Here.Kind == MNEME_ARG_POINTER;
    if (!Kernel->Image.IsOnly &&
        IsPointer != (Recorded.Kind == MNEME_ARG_POINTER))
      return createStringError(
          formatv("argument {0} of kernel '{1}' is {2} in {3}, but {4} in the "
                  "recording",
                  I, Kernel->KernelName, IsPointer ? "a pointer" : "a value",
                  Where, IsPointer ? "a value" : "a pointer")
              .str());
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

static Dim3 override(const Dim3 &D, const std::optional<uint32_t> (&With)[3]) {
  return {With[0].value_or(D.X), With[1].value_or(D.Y), With[2].value_or(D.Z)};
}

LaunchConfig ReplayPlan::launch() const {
  LaunchConfig Config;
  Config.Grid = Grid;
  Config.Block = Block;
  Config.DynamicShared = SharedMem;
  Config.TimeoutSeconds = Options.launchTimeout();
  Config.Cooperative = Instance.Cooperative;
  Config.Cluster = Instance.Cluster;
  Config.Schedule = Schedule;
  return Config;
}

/// A random schedule also decides what code the host device runs.
Error ReplayPlan::planSchedule() {
  if (Error E =
          mneme::HostSchedule::parse(Options.HostSchedule).moveInto(Schedule))
    return E;
  Schedule.Strict = Options.StrictBarriers;
  Schedule.Splits = Options.SplitsWarps;
  Options.Host.Interleave = Schedule.Order == mneme::HostSchedule::Random;
  HostStrategy Strategy = Options.Host.Strategy;
  if (Options.Host.Interleave &&
      (Strategy == HostStrategy::Loop || Strategy == HostStrategy::Region))
    return createStringError(
        formatv("--host-strategy={0} runs the threads of a block in one order: "
                "--host-schedule={1} goes with coroutine or fiber",
                getHostStrategyName(Strategy), Schedule.toString())
            .str());
  return Error::success();
}

Error ReplayPlan::planLaunch() {
  Grid = override(Instance.Grid, Options.Grid);
  Block = override(Instance.Block, Options.Block);
  SharedMem = Options.SharedMem.value_or(Instance.SharedMem);
  if (Block.count() == 0 || Block.count() > MaxBlockThreads ||
      Block.Z > MaxBlockZ)
    return createStringError(
        formatv("impossible block size {0}: a block has 1 to {1} threads, at "
                "most {2} of them along z",
                formatDims(Block), MaxBlockThreads, MaxBlockZ)
            .str());
  if (Grid.count() == 0 || Grid.X > MaxGridX || Grid.Y > MaxGridYZ ||
      Grid.Z > MaxGridYZ)
    return createStringError(
        formatv("impossible grid size {0}: at least 1 and at most "
                "{1}x{2}x{2} blocks",
                formatDims(Grid), MaxGridX, MaxGridYZ)
            .str());
  if (SharedMem > MNEME_HOST_SHARED_SIZE)
    return createStringError(
        formatv("impossible shared memory size {0}: a block has at most {1} "
                "bytes",
                SharedMem, MNEME_HOST_SHARED_SIZE)
            .str());
  if (Error E = planSchedule())
    return E;
  if (!(Options.Timeout >= 0 && Options.Timeout <= MaxTimeout))
    return createStringError(
        formatv("invalid --timeout={0}: must be from 0 to {1} seconds",
                Options.Timeout, MaxTimeout)
            .str());
  double Limit = Options.launchTimeout();
  if (!(Limit >= 0 && Limit <= MaxTimeout))
    return createStringError(
        formatv("invalid time limit of a launch, {0} seconds: must be from 0 "
                "to {1}",
                Limit, MaxTimeout)
            .str());
  if (!Options.SetLaunchBounds && (Options.MaxThreads || Options.MinBlocks))
    return createStringError("--max-threads and --min-blocks-per-sm need "
                             "--set-launch-bounds");
  if (Options.MaxThreads && (Options.MaxThreads < Block.count() ||
                             Options.MaxThreads > MaxBlockThreads))
    return createStringError(
        formatv("impossible --max-threads={0}: the block has {1} threads, and "
                "there can be {2}",
                Options.MaxThreads, Block.count(), MaxBlockThreads)
            .str());
  return Error::success();
}

std::vector<KernelGlobal> ReplayPlan::globals() const {
  std::vector<KernelGlobal> Globals;
  for (const RecordedRegion &R : State->regions())
    if (R.Info.IsGlobal)
      Globals.push_back({R.Info.Name, R.Info.Size, R.Info.Address});
  return Globals;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

SpecializeOptions ReplayPlan::getSpecialization() const {
  SpecializeOptions SO;
  SO.Kernel = Kernel->KernelName;
  if (Options.Specialize) {
    std::vector<uint64_t> Handles = State->handles();
    for (auto [I, Bytes] : enumerate(State->args())) {
      if (Kernel->Args[I].Kind != MNEME_ARG_VALUE || Bytes.size() > 8)
        continue;
      // Code for one of its values would be of use for few launches.
      if (llvm::binary_search(Instance.VaryingArgs, I))
        continue;
      char Raw[8] = {};
      std::copy(Bytes.begin(), Bytes.end(), Raw);
      uint64_t Value = support::endian::read64le(Raw);
      // Each launch on a GPU replaces it by the device's own handle.
      if (!llvm::binary_search(Handles, Value))
        SO.Args[I] = Value;
    }
  }
  if (Options.SpecializeDims || Options.SpecializeRanges) {
    SO.Block = Block;
    SO.Grid = Grid;
    SO.Constants = Options.SpecializeDims;
    SO.Ranges = Options.SpecializeRanges;
  }
  if (Options.SetLaunchBounds) {
    SO.MaxThreads = Options.MaxThreads ? Options.MaxThreads : Block.count();
    SO.MinBlocks = Options.MinBlocks;
  }
  return SO;
}

bool ReplayPlan::hasIR() const { return !isImageOnly(*M); }

/// Without IR, only the launch and the assembler of PTX can vary.
Error ReplayPlan::checkImageSettings() const {
  const RecordedImage &Image = Kernel->Image;
  json::Object Config = makeConfig(Options);
  for (const auto &[Key, Value] : Config) {
    bool IsForPTX = getSettingStage(Key) == SettingStage::Assembler ||
                    Key == "codegen_opt" || Key == "arch";
    if (isLaunchField(Key) || (Image.IsPTX && IsForPTX))
      continue;
    return createStringError(
        formatv("kernel '{0}' was recorded without IR, with its {1} alone: "
                "'{2}' cannot apply; register its IR when it is recorded "
                "(mneme/record.h), or give IR with --ir",
                Kernel->KernelName, getImageKind(Image.IsPTX, Image.Arch),
                StringRef(Key))
            .str());
  }
  return Error::success();
}

Expected<SmallVector<char, 0>> ReplayPlan::readRecordedCubin() const {
  if (!hasRecordedImage())
    return createStringError("the recording of kernel '" + Kernel->KernelName +
                             "' has no image");
  Expected<std::unique_ptr<MemoryBuffer>> Image = readImage(Dir, *Kernel);
  if (!Image)
    return Image.takeError();
  StringRef Bytes = (*Image)->getBuffer();
  if (!Kernel->Image.IsPTX)
    return SmallVector<char, 0>(Bytes.begin(), Bytes.end());
  AssembleOptions AO;
  AO.Arch = Kernel->Image.Arch;
  AO.Compiler = Options.Assembler;
  AO.CudaPath = Options.CudaPath;
  AO.ToolSeconds = Options.Timeout;
  std::string Log;
  return assemblePTX(Bytes, AO, Log);
}

/// The application's own settings, overridden by the user's.
static Error addRecorded(const RecordedKernel &K, const ReplayOptions &Own,
                         CompileConfig &C) {
  C = Own;
  if (K.Configuration.empty())
    return Error::success();
  auto Damaged = [&](Error E) {
    return createStringError("the configuration recorded for kernel '" +
                             K.KernelName + "': " + toString(std::move(E)));
  };
  Expected<json::Value> V = json::parse(K.Configuration);
  if (!V)
    return Damaged(V.takeError());
  const json::Object *Recorded = V->getAsObject();
  if (!Recorded)
    return Damaged(createStringError("expected an object"));
  // A recording may come from anyone.
  if (std::vector<ConfigSideEffect> Found = findSideEffects(*Recorded);
      !Found.empty())
    return Damaged(createStringError(toString(Found.front())));
  KernelConfig Merged;
  if (Error E = applyConfig(*Recorded, Merged))
    return Damaged(std::move(E));
  // The user's IR was compiled otherwise.
  if (!Own.IRFile.empty())
    Merged.Passes.reset();
  if (Error E = applyConfig(makeConfig(Own), Merged))
    return E;
  C = Merged;
  return Error::success();
}

Expected<CompileOptions> ReplayPlan::getCompileOptions() const {
  CompileOptions CO;
  if (Error E = addRecorded(*Kernel, Options, CO))
    return std::move(E);
  if (!hasIR()) {
    CO.Passes = "";
    if (Kernel->Image.IsPTX && CO.PTXFile.empty())
      CO.PTXFile = pathIn(Dir, Kernel->Image.File);
  }
  // As the compiler has it, so that its key can be compared.
  if (Error E = loadControls(CO.PtxasControls).moveInto(CO.PtxasControls))
    return std::move(E);
  CO.Kernel = Kernel->KernelName;
  // Leave time for the compilation itself.
  CO.NumberingLimit = Options.Timeout / 2;
  CO.OptLevel = Kernel->OptLevel.empty() ? "2" : Kernel->OptLevel;
  CO.Assembler = Options.Assembler;
  CO.Plugins = Options.Plugins;
  CO.CudaPath = Options.CudaPath;
  CO.Instruments = Options.Instruments;
  // With controls, ptxas may not end.
  if (CO.hasTools() || !CO.PtxasControls.empty())
    CO.ToolSeconds = Options.Timeout;
  CO.Specialize = getSpecialization();
  if (Options.Fill)
    CO.Fill = {*Options.Fill, SharedMem};
  return CO;
}

Error ReplayPlan::planCompilation(const ReplayPlan *Other) {
  if (!hasIR())
    if (Error E = checkImageSettings())
      return E;
  CompileOptions CO;
  if (Error E = getCompileOptions().moveInto(CO))
    return E;
  bool IsKnown = Other && M == Other->M &&
                 (!WillCompile || Other->WillCompile) &&
                 CO.Instruments == Other->Compiler->options().Instruments &&
                 getKey(CO) == getKey(Other->Compiler->options());
  if (IsKnown) {
    Compiler = Other->Compiler;
  } else {
    Expected<KernelCompiler> C =
        WillCompile ? KernelCompiler::create(*M, std::move(CO))
                    : KernelCompiler::describe(*M, std::move(CO));
    if (!C)
      return C.takeError();
    Compiler = std::make_shared<KernelCompiler>(std::move(*C));
  }
  if (!WillCompile) {
    AppImages = std::make_shared<std::vector<SmallVector<char, 0>>>();
    return Error::success();
  }
  // A missing tool is not a compile error.
  bool HasControls = !Options.PtxasControls.empty();
  if ((Options.wantsGPUImage() || !Options.Ptxas.empty() || HasControls) &&
      M->getTargetTriple().isNVPTX())
    if (Error E = checkPTXCompiler(Options.Assembler, Options.CudaPath,
                                   Options.Ptxas, HasControls))
      return E;
  return planAppImages();
}

Error ReplayPlan::planAppImages() {
  auto Images = std::make_shared<std::vector<SmallVector<char, 0>>>();
  AppImages = Images;
  if (Options.CompareWithApp.empty())
    return Error::success();
  return findKernelImages(Options.CompareWithApp, Kernel->KernelName,
                          Compiler->arch())
      .moveInto(*Images);
}

bool ReplayPlan::isNVPTX() const { return M->getTargetTriple().isNVPTX(); }

std::string ReplayPlan::irDigest() const {
  if (Version)
    return Version->digest();
  return Options.IRFile.empty()
             ? ""
             : toHexString(
                   digest128(StringRef(Bitcode->data(), Bitcode->size())));
}

std::unique_ptr<Module> ReplayPlan::cloneModule(LLVMContext &Context) const {
  return readExactBitcode(*Bitcode, M->getModuleIdentifier(), Context);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// Returns true if the text "3", "name" or "tag" denotes this part.
static bool means(StringRef Spec, const RecordedRegion &R,
                  const ComparePart &P) {
  unsigned Id;
  if (!Spec.getAsInteger(10, Id))
    return Id == R.Info.Id;
  return Spec == P.Name || (R.Info.IsGlobal && Spec == R.Info.Name);
}

/// Splits the recorded memory into parts.
static std::vector<ComparePart> makeParts(const RecordedState &State) {
  std::vector<ComparePart> Parts;
  // Annotated ranges split regions into parts; memory between them is compared
  // exactly.
  for (size_t Index = 0; Index != State.regions().size(); ++Index) {
    const RecordedRegion &R = State.regions()[Index];
    uint64_t Begin = R.Info.Address, End = Begin + R.Info.Size, Done = Begin;
    auto Add = [&](uint64_t To, const SnapshotAnnotation *A) {
      if (To <= Done)
        return;
      ComparePart P{Index, Done - Begin, To - Done, R.Info.Name, {}, {}};
      if (A) {
        P.Rule.DType = A->DType;
        P.Rule.Tolerance = A->Tolerance;
        P.Rule.Norm = A->Norm;
        P.Rule.Value = A->Value;
        if (!A->Tag.empty())
          P.Name = A->Tag;
      }
      Parts.push_back(std::move(P));
      Done = To;
    };
    std::vector<const SnapshotAnnotation *> Inside;
    for (const SnapshotAnnotation &A : State.annotations())
      if (A.Address < End && A.Address + A.Size > Begin)
        Inside.push_back(&A);
    llvm::sort(Inside, [](const auto *A, const auto *B) {
      return A->Address < B->Address;
    });
    for (const SnapshotAnnotation *A : Inside) {
      Add(std::min(A->Address, End), nullptr);
      Add(std::min(A->Address + A->Size, End), A);
    }
    Add(End, nullptr);
  }
  return Parts;
}

namespace {
/// Adds records to a plan.
class RecordPlanner {
public:
  RecordPlanner(const RecordedState &State, ComparePlan &Plan)
      : State(State), Plan(Plan) {}

  Error add(const UnorderedSpec &Spec);

private:
  const RecordedState &State;
  ComparePlan &Plan;

  Expected<size_t> find(StringRef Buffer) const;
  Expected<uint64_t> readOutcome(const UnorderedRecords::CounterPlace &C) const;
  Error addCounter(const UnorderedSpec &Spec, uint64_t Capacity,
                   UnorderedRecords &R) const;
};
} // namespace

/// Returns the index of the only part that \p Buffer denotes.
Expected<size_t> RecordPlanner::find(StringRef Buffer) const {
  std::optional<size_t> Found;
  for (auto [I, P] : enumerate(Plan.Parts)) {
    if (!means(Buffer, State.regions()[P.Region], P))
      continue;
    if (Found)
      return createStringError("--unordered: buffer '" + Buffer +
                               "' has several annotated parts: give the tag "
                               "of one");
    Found = I;
  }
  if (!Found)
    return createStringError("--unordered: no buffer '" + Buffer +
                             "' in the recording, which has " +
                             Twine(State.regions().size()));
  return *Found;
}

/// Reads a number after the recorded launch.
Expected<uint64_t>
RecordPlanner::readOutcome(const UnorderedRecords::CounterPlace &C) const {
  const ComparePart &P = Plan.Parts[C.Part];
  const SnapshotRegion &Region = State.regions()[P.Region].Info;
  std::vector<char> Contents(Region.Size);
  Error E = State.readStored(
      [&](const SnapshotData &Data, ArrayRef<char> Bytes) -> Error {
        if (State.findRegion(Data.Address) == P.Region)
          llvm::copy(Bytes, Contents.begin() + (Data.Address - Region.Address));
        return Error::success();
      });
  if (E)
    return std::move(E);
  if (Error Failed = State.applyChanges(P.Region, Contents))
    return std::move(Failed);
  return readCounter(C, ArrayRef(Contents).slice(P.Offset, P.Size));
}

Error RecordPlanner::addCounter(const UnorderedSpec &Spec, uint64_t Capacity,
                                UnorderedRecords &R) const {
  Expected<size_t> Part = find(Spec.Counter);
  if (!Part)
    return Part.takeError();
  const ComparePart &P = Plan.Parts[*Part];
  uint64_t Left = P.Size - std::min(P.Size, Spec.CounterOffset);
  if (Left < 4)
    return createStringError(
        formatv("--unordered: no counter at offset {0} of buffer '{1}', which "
                "has {2} bytes",
                Spec.CounterOffset, Spec.Counter, P.Size)
            .str());
  // A counter of 8 bytes is the whole buffer, or has this type.
  bool IsLong = Left == 8 || getDTypeSize(P.Rule.DType) == 8;
  R.Counter = {*Part, Spec.CounterOffset, IsLong && Left >= 8 ? 8u : 4u};
  Expected<uint64_t> Counted = readOutcome(*R.Counter);
  if (!Counted)
    return Counted.takeError();
  if (*Counted == 0 || *Counted > Capacity)
    return createStringError(
        formatv("--unordered: buffer '{0}' does not count the records: it "
                "holds {1} after the recorded launch, and there is room for "
                "{2}",
                Spec.Counter, *Counted, Capacity)
            .str());
  return Error::success();
}

Error RecordPlanner::add(const UnorderedSpec &Spec) {
  UnorderedRecords R;
  uint64_t Count = UINT64_MAX;
  for (const UnorderedSpec::Column &C : Spec.Columns) {
    Expected<size_t> Part = find(C.Buffer);
    if (!Part)
      return Part.takeError();
    ComparePart &P = Plan.Parts[*Part];
    if (!P.Skipped.empty())
      return createStringError("--unordered: buffer '" + C.Buffer +
                               "' is given twice");
    if (C.Size > P.Size)
      return createStringError(
          formatv("--unordered: buffer '{0}' has {1} bytes, less than a record "
                  "of {2}",
                  C.Buffer, P.Size, C.Size)
              .str());
    if (P.Rule.Norm != MNEME_NORM_NONE)
      return createStringError("--unordered: buffer '" + C.Buffer +
                               "' is compared by a norm, which depends on the "
                               "order");
    if (P.Rule.Tolerance != MNEME_TOLERANCE_EXACT &&
        (Spec.Columns.size() != 1 || C.Size != getDTypeSize(P.Rule.DType)))
      return createStringError(
          formatv("--unordered: buffer '{0}' has a tolerance, which needs "
                  "records of one {1} element: give --tolerance=exact@{0}",
                  C.Buffer, getDTypeName(P.Rule.DType))
              .str());
    Count = std::min(Count, P.Size / C.Size);
    R.Columns.push_back({*Part, 0, C.Size});
    // The bytes that do not form a record are compared by position.
    P.Skipped.push_back({0, P.Size / C.Size * C.Size});
  }
  R.Ranges.push_back({0, Count});
  if (!Spec.Counter.empty()) {
    if (Error E = addCounter(Spec, Count, R))
      return E;
  } else {
    // Columns of different lengths: what has no partner is compared by
    // position.
    for (const UnorderedRecords::Column &C : R.Columns)
      Plan.Parts[C.Part].Skipped.back().End = Count * C.Size;
  }
  Plan.Unordered.push_back(std::move(R));
  return Error::success();
}

Error ReplayPlan::planComparison() {
  auto Planned = std::make_shared<ComparePlan>(makeParts(*State));
  std::vector<ComparePart> &Parts = Planned->Parts;
  auto Each = [&](StringRef Buffer, const Twine &Option,
                  function_ref<void(ComparePart &)> Fn) -> Error {
    bool Any = Buffer.empty();
    for (ComparePart &P : Parts)
      if (Buffer.empty() || means(Buffer, State->regions()[P.Region], P)) {
        Fn(P);
        Any = true;
      }
    if (Any)
      return Error::success();
    return createStringError(Option + ": no buffer '" + Buffer +
                             "' in the recording, which has " +
                             Twine(State->regions().size()));
  };
  for (const ElementTypeSpec &S : Options.ElementTypes)
    if (Error E = Each(S.Buffer, "--dtype",
                       [&](ComparePart &P) { P.Rule.DType = S.DType; }))
      return E;
  for (const ToleranceSpec &S : Options.Tolerances) {
    bool Untyped = false, Typed = false;
    Error E = Each(S.Buffer, "--tolerance", [&](ComparePart &P) {
      // Bytes can only be equal or different.
      if (P.Rule.DType == MNEME_DTYPE_BYTES) {
        Untyped = true;
        return;
      }
      Typed = true;
      P.Rule.Tolerance = S.Kind;
      P.Rule.Value = S.Value;
    });
    if (E)
      return E;
    if (Untyped && !Typed && S.Kind != MNEME_TOLERANCE_EXACT)
      return createStringError("--tolerance: the element type of " +
                               (S.Buffer.empty()
                                    ? std::string("every buffer")
                                    : "buffer '" + S.Buffer + "'") +
                               " is unknown: give it with --dtype");
  }
  for (ComparePart &P : Parts) {
    if (Options.Norm)
      P.Rule.Norm = *Options.Norm;
    P.Rule.NaN = Options.NaN;
  }
  if (Options.Norm.value_or(MNEME_NORM_NONE) != MNEME_NORM_NONE &&
      all_of(Parts, [](const ComparePart &P) {
        return P.Rule.Tolerance == MNEME_TOLERANCE_EXACT;
      }))
    return createStringError(
        "--norm: no buffer has a tolerance: give one with --tolerance");
  RecordPlanner Records(*State, *Planned);
  for (const UnorderedSpec &S : Options.Unordered)
    if (Error E = Records.add(S))
      return E;
  Comparison = std::move(Planned);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Measurement
//===----------------------------------------------------------------------===//

Error ReplayPlan::planMeasurement() const {
  if (Options.Compared == Baseline::App && Options.appFile().empty() &&
      !hasRecordedImage())
    return createStringError("--baseline=app needs the application: --app");
  if (Options.Compared != Baseline::None && !Options.Execute)
    return createStringError("--baseline is measured, which --no-execute "
                             "rules out");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Instruments
//===----------------------------------------------------------------------===//

Error ReplayPlan::planInstruments() const {
  const InstrumentOptions &I = Options.Instruments;
  for (auto [Option, Path] :
       {std::pair("--output-ll", &Options.OutputIR),
        std::pair("--output-asm", &Options.OutputAsm),
        std::pair("--output-obj", &Options.OutputObject),
        std::pair("--remarks", &I.Remarks), std::pair("--dataset", &I.Dataset),
        std::pair("--ftime-trace", &I.TimeTrace)})
    if (Error E = checkOutputFile(Option, *Path))
      return E;
  if (!hasIR()) {
    // What is compiled in its place says nothing about the kernel.
    StringRef Option = !Options.OutputIR.empty() ? "--output-ll"
                       : !I.Remarks.empty()      ? "--remarks"
                       : !Options.OutputAsm.empty() && !Kernel->Image.IsPTX
                           ? "--output-asm"
                           : "";
    if (!Option.empty())
      return createStringError(
          formatv("{0}: kernel '{1}' was recorded without IR, with its {2} "
                  "alone; give IR with --ir",
                  Option, Kernel->KernelName,
                  Kernel->Image.IsPTX ? "PTX" : "cubin")
              .str());
  }
  if (!I.RemarksFilter.empty() && I.Remarks.empty())
    return createStringError("--remarks-filter needs --remarks");
  std::string Message;
  if (!I.RemarksFilter.empty() && !Regex(I.RemarksFilter).isValid(Message))
    return createStringError(
        formatv("invalid --remarks-filter={0}: {1}", I.RemarksFilter, Message)
            .str());
  if (!I.Vocabulary.empty() && I.Dataset.empty())
    return createStringError("--ir2vec-vocab-path needs --dataset");
  if (!Options.OptTool.empty() && !I.TimeTrace.empty())
    return createStringError("--ftime-trace looks at the pipeline of this "
                             "LLVM, which --opt-tool replaces");
  return Error::success();
}
