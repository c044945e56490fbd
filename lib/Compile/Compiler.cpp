//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Compiler.h"
#include "PipelineParser.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PassTimingInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Compile/PipelineSpaceCheck.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/KeyBuilder.h"
#include "llvm/Mneme/Transforms/Deployable.h"
#include "llvm/Pass.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

#define DEBUG_TYPE "mneme-compile"
STATISTIC(NumPipelines, "Number of pipelines run");
STATISTIC(NumImages, "Number of GPU images made");

namespace {
/// Collects the errors that the back end reports through the context. Without a
/// handler, LLVM would print them and exit.
class DiagnosticScope {
  struct Handler : DiagnosticHandler {
    explicit Handler(std::string &Text) : Text(Text) {}
    bool handleDiagnostics(const DiagnosticInfo &DI) override {
      if (DI.getSeverity() != DS_Error)
        return false;
      raw_string_ostream OS(Text);
      DiagnosticPrinterRawOStream Printer(OS);
      if (!Text.empty())
        OS << '\n';
      DI.print(Printer);
      return true;
    }
    std::string &Text;
  };

public:
  explicit DiagnosticScope(LLVMContext &Context)
      : Context(Context), Previous(Context.getDiagnosticHandler()) {
    Context.setDiagnosticHandler(std::make_unique<Handler>(Text));
  }
  ~DiagnosticScope() { Context.setDiagnosticHandler(std::move(Previous)); }

  Error take() {
    return Text.empty() ? Error::success()
                        : createStringError(StringRef(Text).trim());
  }

private:
  LLVMContext &Context;
  std::unique_ptr<DiagnosticHandler> Previous;
  std::string Text;
};

/// Writes the optimization remarks of a context.
class RemarkScope {
public:
  explicit RemarkScope(LLVMContext &Context) : Context(Context) {}
  ~RemarkScope() {
    if (Entered)
      finalizeLLVMOptimizationRemarks(Context);
  }

  /// Does nothing if \p OS is null.
  Error enter(raw_ostream *OS, StringRef Filter) {
    if (!OS)
      return Error::success();
    if (Error E = setupLLVMOptimizationRemarks(Context, *OS, Filter, "yaml",
                                               /*RemarksWithHotness=*/false))
      return E;
    Entered = true;
    return Error::success();
  }

private:
  LLVMContext &Context;
  bool Entered = false;
};

class Stopwatch {
public:
  double seconds() const { return secondsSince(Start); }

private:
  std::chrono::steady_clock::time_point Start =
      std::chrono::steady_clock::now();
};
} // namespace

/// Returns true if the module was compiled with -ffp-contract=fast, CUDA's
/// default. clang tells the back end whether to fuse instructions that lack the
/// contract flag, such as libdevice's. The IR does not store that option, but
/// only modules compiled with it have contract flags.
static bool hasContractFlags(const Module &M) {
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (const auto *FP = dyn_cast<FPMathOperator>(&I))
        if (FP->hasAllowContract())
          return true;
  return false;
}

/// Returns true if the module was compiled with -ffast-math, which implies
/// -ffp-contract=fast. HIP's own default has contract flags, too, but does not
/// let the back end fuse other instructions.
static bool hasFastMath(const Module &M) {
  for (const Function &F : M) {
    if (F.getName().starts_with("__")) // ROCm's device libraries.
      continue;
    for (const Instruction &I : instructions(F))
      if (const auto *FP = dyn_cast<FPMathOperator>(&I))
        if (FP->isFast())
          return true;
  }
  return false;
}

static bool hasDebugInfo(const Module &M) {
  return !M.debug_compile_units().empty();
}

/// Returns the level that clang passes to the code generator and to ptxas for
/// -O\p Level.
static unsigned getDefaultCodeGenLevel(StringRef Level) {
  if (Level == "s" || Level == "z")
    return 2;
  unsigned Number = 2;
  Level.getAsInteger(10, Number);
  return std::min(Number, 3u);
}

/// Rejects options that contradict each other or the target.
static Error checkOptions(const Triple &TT, const CompileOptions &O) {
  if (!TT.isNVPTX() && !O.Ptxas.empty())
    return createStringError(
        formatv("--ptxas is for NVIDIA GPUs, not {0}", TT.getArchName()).str());
  if (!TT.isNVPTX() && !O.PtxasControls.empty())
    return createStringError(
        formatv("--ptxas-controls is for NVIDIA GPUs, not {0}",
                TT.getArchName())
            .str());
  // ptxas names the file in the code, and no key has its contents.
  if (any_of(O.PtxasOptions, [](StringRef Option) {
        return Option.ltrim('-').starts_with("apply-controls");
      }))
    return createStringError("--ptxas-options=--apply-controls: name the file "
                             "with --ptxas-controls");
  constexpr unsigned MaxRegisters = 255;
  if (!TT.isNVPTX() && (O.MaxRegisters || !O.PtxasOptions.empty()))
    return createStringError(
        formatv("--maxnreg and --ptxas-options are for NVIDIA GPUs, not {0}",
                TT.getArchName())
            .str());
  if (O.MaxRegisters > MaxRegisters)
    return createStringError(
        formatv("impossible --maxnreg={0}: a thread has at most {1} registers",
                O.MaxRegisters, MaxRegisters)
            .str());
  if (O.MaxRegisters && O.Specialize.MinBlocks)
    return createStringError("--maxnreg and --min-blocks-per-sm contradict "
                             "each other: both limit registers");
  if (O.MaxRegisters && any_of(O.PtxasOptions, [](StringRef Option) {
        return Option.ltrim('-').starts_with("maxrregcount");
      }))
    return createStringError("--maxnreg and --ptxas-options=--maxrregcount "
                             "contradict each other");
  // AMDGPU machine code is for a single processor.
  if (TT.isAMDGCN() && !O.Arch.empty() && !O.TargetCPU.empty() &&
      O.Arch != O.TargetCPU)
    return createStringError(
        formatv("--arch={0} and --target-cpu={1} contradict each other", O.Arch,
                O.TargetCPU)
            .str());
  return Error::success();
}

/// LLVM only warns about an invalid CPU or feature, at each use.
static Error checkProcessor(const MCSubtargetInfo *STI, const Triple &TT,
                            StringRef CPU, StringRef Features) {
  if (TT.isAMDGCN() && CPU.contains(':'))
    return createStringError(
        formatv("unknown architecture '{0}': use '{1}', whose code runs with "
                "any settings",
                CPU, CPU.split(':').first)
            .str());
  if (!STI || !STI->isCPUStringValid(CPU))
    return createStringError(
        formatv("unknown architecture '{0}' for {1}", CPU, TT.getArchName())
            .str());
  for (StringRef Feature : split(Features, ',')) {
    if (Feature.empty())
      continue;
    StringRef Name = Feature.drop_front();
    bool Known = any_of(
        STI->getAllProcessorFeatures(),
        [&](const SubtargetFeatureKV &F) { return StringRef(F.Key) == Name; });
    if (!Known || !StringRef("+-").contains(Feature.front()))
      return createStringError(
          formatv("unknown target feature '{0}' for {1}: must be + or - and "
                  "the name of a feature",
                  Feature, TT.getArchName())
              .str());
  }
  return Error::success();
}

KernelCompiler::KernelCompiler() = default;
KernelCompiler::KernelCompiler(KernelCompiler &&) = default;
KernelCompiler::~KernelCompiler() = default;

Expected<KernelCompiler> KernelCompiler::describe(const Module &M,
                                                  CompileOptions Options) {
  const Function *Kernel = M.getFunction(Options.Kernel);
  if (!Kernel || Kernel->isDeclaration())
    return createStringError(
        formatv("the IR has no kernel '{0}'", Options.Kernel).str());
  const Triple &TT = M.getTargetTriple();
  if (!TT.isNVPTX() && !TT.isAMDGCN())
    return createStringError(
        formatv("'{0}' is not a GPU triple", TT.str()).str());
  if (Error E = checkOptions(TT, Options))
    return std::move(E);
  if (Error E =
          loadControls(Options.PtxasControls).moveInto(Options.PtxasControls))
    return std::move(E);
  if (Options.Deployable)
    if (std::string Why = findUndeployable(M); !Why.empty())
      return createStringError("the kernel cannot be compiled with "
                               "--deployable: " +
                               Why + ": pass it as an argument");

  KernelCompiler C;
  if (Error E = PassSelection::parse(Options.RunPasses, Options.SkipPasses)
                    .moveInto(C.Selection))
    return std::move(E);
  C.Arch = Options.Arch;
  if (C.Arch.empty() && TT.isAMDGCN())
    C.Arch = Options.TargetCPU;
  if (C.Arch.empty())
    C.Arch = Kernel->getFnAttribute("target-cpu").getValueAsString().str();
  C.CPU = Options.TargetCPU.empty() ? C.Arch : Options.TargetCPU;
  C.Features = Options.TargetFeatures.value_or("");
  // NVPTX has one subtarget per module; AMDGPU reads each function's own
  // attributes.
  if (TT.isNVPTX() && !Options.TargetFeatures && Options.Arch.empty() &&
      Options.TargetCPU.empty())
    C.Features =
        Kernel->getFnAttribute("target-features").getValueAsString().str();
  if (C.Arch.empty())
    return createStringError(
        formatv("kernel '{0}' has no target-cpu; give one with --arch",
                Options.Kernel)
            .str());
  C.CodeGenLevel =
      Options.CodeGenLevel.value_or(getDefaultCodeGenLevel(Options.OptLevel));
  C.Pipeline = Options.Passes.value_or(getClangPipeline(Options.OptLevel));
  if (std::string Level = expandLevel(C.Pipeline); !Level.empty())
    C.Pipeline = std::move(Level);
  C.Options = std::move(Options);
  return std::move(C);
}

Expected<KernelCompiler> KernelCompiler::create(const Module &M,
                                                CompileOptions Options) {
  initializeTargets();
  Expected<KernelCompiler> C = describe(M, std::move(Options));
  if (C)
    if (Error E = C->setUp(M))
      return std::move(E);
  return C;
}

/// The part of the setup that takes longer than checking options.
Error KernelCompiler::setUp(const Module &M) {
  if (Error E = checkPluginFiles(Options.Plugins))
    return E;
  // Their options exist only then. Those for another opt may need another LLVM.
  if (Options.OptTool.empty())
    if (Error E = loadPlugins(Options.Plugins))
      return E;
  LLVMOptionScope Scope;
  if (Error E = enterLLVMOptions(Scope))
    return E;
  const Triple &TT = M.getTargetTriple();
  std::string Message;
  const Target *T = TargetRegistry::lookupTarget(TT, Message);
  if (!T)
    return createStringError(Message);
  if (!Options.FPContract.empty() && Options.FPContract != "fast" &&
      Options.FPContract != "standard")
    return createStringError("--fp-fusion: expected fast or standard, got '" +
                             Options.FPContract + "'");
  FuseFP = !Options.FPContract.empty() ? Options.FPContract == "fast"
           : TT.isNVPTX()              ? hasContractFlags(M)
                                       : hasFastMath(M);

  // As clang's EmitAssemblyHelper does for a device compilation.
  TargetOptions TO;
  TO.AllowFPOpFusion = FuseFP ? FPOpFusion::Fast : FPOpFusion::Standard;
  TO.MCOptions.AsmVerbose = true;
  TO.DebuggerTuning = DebuggerKind::GDB;
  std::optional<CodeGenOptLevel> Level = CodeGenOpt::getLevel(CodeGenLevel);
  if (!Level)
    return createStringError(formatv("invalid code generation level {0}: "
                                     "must be 0, 1, 2 or 3",
                                     CodeGenLevel)
                                 .str());
  // Creating a subtarget with an invalid CPU only prints a warning, at each
  // use.
  std::unique_ptr<MCSubtargetInfo> STI(T->createMCSubtargetInfo(TT, "", ""));
  if (Error E = checkProcessor(STI.get(), TT, Arch, ""))
    return E;
  if (Error E = checkProcessor(STI.get(), TT, CPU,
                               Options.TargetFeatures.value_or("")))
    return E;
  TM.reset(T->createTargetMachine(TT, CPU, Features, TO,
                                  TT.isNVPTX() ? Reloc::Static : Reloc::PIC_,
                                  std::nullopt, *Level));
  if (!TM)
    return createStringError(
        formatv("no code generator for {0}", TT.str()).str());
  if (!Options.LlcTool.empty())
    if (Expected<ToolInfo> Llc =
            identifyTool(Options.LlcTool, {ToolKind::Llc}, "--llc-tool");
        !Llc)
      return Llc.takeError();
  if (Options.OptTool.empty())
    return checkPipeline(*TM, Pipeline, Options.Plugins);
  return OptTool::create(Options.OptTool, M, Pipeline, Options.Plugins,
                         toolTarget())
      .moveInto(ExternalOpt);
}

Error KernelCompiler::enterLLVMOptions(LLVMOptionScope &Scope) const {
  return Scope.enter(Options.LLVMOptions,
                     /*SkipUnknown=*/hasPluginsElsewhere());
}

ToolTarget KernelCompiler::toolTarget() const {
  ToolTarget T = {CPU,
                  Features,
                  CodeGenLevel,
                  FuseFP,
                  Options.LLVMOptions,
                  Options.ToolSeconds};
  append_range(T.LLVMOptions, Options.Instruments.Printing);
  T.VerifyEach = Options.Instruments.VerifyEach;
  T.RemarksFilter = Options.Instruments.RemarksFilter;
  return T;
}

/// Returns the numbering of pass executions; empty if there is none.
static const PassListing &getNumbers(const CompileResult *Optimized) {
  static const PassListing None;
  return Optimized && Optimized->Numbers ? *Optimized->Numbers : None;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// The contents of CompileOptions::PTXFile, which the path does not imply.
static std::string getPTXKey(const CompileConfig &C) {
  if (C.PTXFile.empty())
    return "";
  Expected<std::unique_ptr<MemoryBuffer>> Text = readTextFile(C.PTXFile);
  if (Text)
    return toHexString(digest128((*Text)->getBuffer()));
  return toString(Text.takeError()); // which emitImage() reports
}

std::string mneme::getKey(const CompileOptions &O) {
  KeyBuilder K;
  K.add(O.Kernel).add(O.OptLevel);
  const SpecializeOptions &S = O.Specialize;
  K.add(S.Args.size());
  for (auto [Index, Value] : S.Args)
    K.add(uint64_t(Index)).add(Value);
  K.add(S.Known.size());
  for (const KnownBytes &B : S.Known)
    K.add(uint64_t(B.Where)).add(uint64_t(B.Arg)).add(B.Offset).add(B.Bytes);
  K.add(S.Block).add(S.Grid).add(uint64_t(S.Constants)).add(uint64_t(S.Ranges));
  K.add(S.MaxThreads).add(S.MinBlocks);
  K.add(uint64_t(O.Fill.has_value()));
  if (O.Fill)
    K.add(uint64_t(O.Fill->Byte)).add(O.Fill->DynamicShared);
  K.add(O.Plugins).add(uint64_t(O.Assembler)).add(O.CudaPath);
  if (O.hasTools())
    K.add(std::to_string(O.ToolSeconds));
  K.add(getPTXKey(O));
  return K.take() + getKey(O, SettingStage::Pipeline, getToolIdentity);
}

/// Returns the settings for the stages after the pipeline.
CompileConfig KernelCompiler::resolvedConfig() const {
  CompileConfig C = Options;
  C.CodeGenLevel = CodeGenLevel;
  C.MaxRegisters = 0; // It is an attribute of the module.
  return C;
}

std::string KernelCompiler::codegenKey(const CompileResult *Optimized) const {
  KeyBuilder K;
  K.add(LLVM_VERSION_STRING).add(Options.Kernel).add(CPU).add(Features);
  K.add(uint64_t(FuseFP));
  K.add(Selection.codeGenKey(getNumbers(Optimized)));
  return K.take() +
         getKey(resolvedConfig(), SettingStage::CodeGen, getToolIdentity) +
         assembleKey();
}

std::string KernelCompiler::assembleKey() const {
  KeyBuilder K;
  K.add(Arch).add(uint64_t(CodeGenLevel));
  K.add(uint64_t(Options.Assembler)).add(Options.CudaPath);
  K.add(getPTXKey(Options));
  return K.take() +
         getKey(resolvedConfig(), SettingStage::Assembler, getToolIdentity);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// Sets the requested architecture on all functions of \p M.
void KernelCompiler::retarget(Module &M) const {
  if (!Options.Arch.empty() || !Options.TargetCPU.empty() ||
      Options.TargetFeatures)
    for (Function &F : M) {
      if (F.isDeclaration())
        continue;
      F.addFnAttr("target-cpu", CPU);
      F.removeFnAttr("target-features");
      if (Options.TargetFeatures && !Options.TargetFeatures->empty())
        F.addFnAttr("target-features", *Options.TargetFeatures);
    }
  M.setDataLayout(TM->createDataLayout());
}

/// Works like CUDA's __maxnreg__, which replaces the minimum number of blocks
/// in __launch_bounds__.
void KernelCompiler::limitRegisters(Module &M) const {
  if (!Options.MaxRegisters)
    return;
  Function &F = *M.getFunction(Options.Kernel);
  F.addFnAttr("nvvm.maxnreg", utostr(Options.MaxRegisters));
  F.removeFnAttr("nvvm.minctasm");
}

Expected<std::string> KernelCompiler::expandedPipeline() const {
  Expected<PipelineParser> Parser =
      PipelineParser::create(*TM, Options.Plugins);
  if (!Parser)
    return Parser.takeError();
  return Parser->print(Pipeline);
}

Error KernelCompiler::checkSpace(const PipelineSpace &Space) const {
  if (hasPluginsElsewhere())
    return Error::success();
  return checkPipelineSpace(*TM, Space, Options.Plugins);
}

namespace {
/// Disables the fixpoint check of instcombine: an instcombine that is named in
/// a pipeline aborts the process if a second iteration would change more. The
/// check serves LLVM's tests; LLVM's own pipelines disable it, and a candidate
/// pipeline should not fail because of it.
class FixpointsDoNotMatter {
public:
  explicit FixpointsDoNotMatter(Module &M) : M(M) { allow(M); }
  ~FixpointsDoNotMatter() { forget(M); }

  static void allow(Module &M) {
    for (Function &F : M)
      if (!F.isDeclaration())
        F.addFnAttr(Attribute);
  }
  static void forget(Module &M) {
    for (Function &F : M)
      F.removeFnAttr(Attribute);
  }

private:
  static constexpr StringLiteral Attribute = "instcombine-no-verify-fixpoint";
  Module &M;
};
} // namespace

/// Runs the steps before the pipeline.
void KernelCompiler::preprocess(Module &M) const {
  retarget(M);
  limitRegisters(M);
  ModuleAnalysisManager MAM;
  if (Options.Fill)
    FillPass(*Options.Fill).run(M, MAM);
  if (Options.Deployable)
    DeployablePass().run(M, MAM);
  if (!Options.Specialize.empty()) {
    SpecializeOptions SO = Options.Specialize;
    SO.Kernel = Options.Kernel;
    SpecializePass(std::move(SO)).run(M, MAM);
  }
}

Error KernelCompiler::optimize(Module &M, CompileResult &Result) const {
  LLVMOptionScope Scope;
  if (Error E = enterLLVMOptions(Scope))
    return E;
  if (!Selection.empty())
    if (Error E = findNumbers(M).moveInto(Result.Numbers))
      return E;
  // Enabled only now: the compilation that finds the numbers must not print.
  LLVMOptionScope Printing;
  if (Error E = Printing.enter(Options.Instruments.Printing))
    return E;
  RemarkScope Remarks(M.getContext());
  if (Error E =
          Remarks.enter(Result.Remarks, Options.Instruments.RemarksFilter))
    return E;
  if (Selection.empty())
    return runGated(M, Result, nullptr);
  PassGate Gate(Selection, Result.Numbers);
  return runGated(M, Result, &Gate);
}

/// optimize() while LLVM's options are set. Without a \p Gate all passes run.
Error KernelCompiler::runGated(Module &M, CompileResult &Result,
                               PassGate *Gate) const {
  DiagnosticScope Diagnostics(M.getContext());
  Stopwatch Preprocess;
  {
    TimeTraceScope Trace("MnemeSpecialize");
    preprocess(M);
  }
  Result.PreprocessTime = Preprocess.seconds();

  Stopwatch Optimize;
  LLVM_DEBUG(dbgs() << "pipeline of " << Options.Kernel << ": " << Pipeline
                    << '\n');
  ++NumPipelines;
  Error E = [&] {
    TimeTraceScope Trace("MnemeOptimize", Pipeline);
    FixpointsDoNotMatter Scope(M);
    return runPipeline(M, *TM, Pipeline, Options.Plugins, Gate,
                       Options.Instruments.VerifyEach, Options.Specialize);
  }();
  Result.OptimizeTime = Optimize.seconds();
  if (E)
    return E;
  if (Error Diagnosed = Diagnostics.take())
    return Diagnosed;
  return checkKernel(M, "the pipeline");
}

Error KernelCompiler::optimize(std::unique_ptr<Module> &M,
                               CompileResult &Result) const {
  if (!ExternalOpt)
    return optimize(*M, Result);
  if (!Selection.empty())
    if (Error E = findNumbers(*M).moveInto(Result.Numbers))
      return E;
  Stopwatch Preprocess;
  preprocess(*M);
  Result.PreprocessTime = Preprocess.seconds();

  Stopwatch Optimize;
  // Not a scope, because ExternalOpt replaces the module.
  FixpointsDoNotMatter::allow(*M);
  Error E = ExternalOpt->run(M, Selection, getNumbers(&Result), Result.Remarks);
  FixpointsDoNotMatter::forget(*M);
  Result.OptimizeTime = Optimize.seconds();
  if (E)
    return E;
  return checkKernel(*M, "'" + ExternalOpt->program().Path + "'");
}

Error KernelCompiler::checkKernel(const Module &M, const Twine &Who) const {
  const Function *Kernel = M.getFunction(Options.Kernel);
  if (Options.Kernel.empty() || (Kernel && !Kernel->isDeclaration()))
    return Error::success();
  return createStringError(Who + " removed kernel '" + Options.Kernel +
                           "': leave out passes that make functions local and "
                           "remove what nothing calls, such as internalize");
}

/// Runs the external opt for a listing.
Error KernelCompiler::runTool(std::unique_ptr<Module> &M, PassGate &Gate,
                              double Seconds) const {
  static const PassListing None;
  const PassGate::Options &O = Gate.options();
  preprocess(*M);
  FixpointsDoNotMatter::allow(*M);
  OptTool Limited = *ExternalOpt;
  Limited.limitTime(Seconds);
  Expected<PassListing> L =
      Limited.list(M, O.Selection, O.Numbers ? *O.Numbers : None);
  FixpointsDoNotMatter::forget(*M);
  if (!L)
    return L.takeError();
  std::string Failure = L->Failure;
  Gate.addPipeline(std::move(*L));
  return Failure.empty() ? Error::success() : createStringError(Failure);
}

/// Adds a placeholder for a variable that the kernel does not use. In constant
/// memory it has the variable's size; elsewhere only its position matters.
static GlobalVariable *addPlaceholder(Module &M, const ImageVariable &V) {
  constexpr unsigned ConstantAddressSpace = 4, GlobalAddressSpace = 1;
  /// The most constant memory of an image; ptxas would reject more.
  constexpr uint64_t MaxConstants = 1 << 16;
  bool IsConstant = V.AddressSpace == ConstantAddressSpace;
  if (V.Alignment > MaxConstants || (IsConstant && V.Size > MaxConstants))
    return nullptr;
  Type *Bytes =
      ArrayType::get(Type::getInt8Ty(M.getContext()), IsConstant ? V.Size : 1);
  auto *G = new GlobalVariable(
      M, Bytes, /*isConstant=*/false,
      V.IsLocal ? GlobalValue::InternalLinkage : GlobalValue::ExternalLinkage,
      Constant::getNullValue(Bytes), V.Name, /*InsertBefore=*/nullptr,
      GlobalValue::NotThreadLocal,
      IsConstant ? ConstantAddressSpace : GlobalAddressSpace);
  G->setAlignment(Align(V.Alignment));
  return G;
}

/// Orders the variables of \p M as in the application's image.
static void placeVariables(Module &M) {
  SmallVector<GlobalVariable *, 8> Variables;
  for (const ImageVariable &V : getImageVariables(M)) {
    GlobalVariable *G = M.getNamedGlobal(V.Name);
    // The pipeline may have removed a local variable, as in the application.
    if (!G && !M.getNamedValue(V.Name))
      G = addPlaceholder(M, V);
    if (G)
      Variables.push_back(G);
  }
  // Insert at the front, before llvm.used: a variable is printed after those
  // that it refers to.
  for (GlobalVariable *G : reverse(Variables)) {
    G->removeFromParent();
    M.insertGlobalVariable(M.global_begin(), G);
  }
}

/// If an image has a single kernel, ptxas knows the targets of its indirect
/// calls. If the application's image has several kernels, adds an empty one, so
/// that ptxas does not know them either.
static void addOtherKernel(Module &M) {
  if (!hasOtherKernels(M) || none_of(M, [](const Function &F) {
        return !F.isDeclaration() && F.hasAddressTaken();
      }))
    return;
  LLVMContext &Context = M.getContext();
  auto *F = Function::Create(
      FunctionType::get(Type::getVoidTy(Context), /*isVarArg=*/false),
      GlobalValue::ExternalLinkage, "mneme_other_kernel", M);
  F->setCallingConv(CallingConv::PTX_Kernel);
  ReturnInst::Create(Context, BasicBlock::Create(Context, "", F));
}

/// Emits with the passes that the options select.
Expected<SmallVector<char, 0>>
KernelCompiler::emitSelected(const Module &M, bool Object,
                             const CompileResult *Optimized) const {
  LLVMOptionScope Scope;
  if (Error E = enterLLVMOptions(Scope))
    return std::move(E);
  if (Selection.needsNumbers() && !(Optimized && Optimized->Numbers))
    return createStringError("the numbers of pass executions are unknown: "
                             "optimize the module first");
  LLVMOptionScope Printing;
  if (Error E = Printing.enter(Options.Instruments.Printing))
    return std::move(E);
  // If an image has been emitted, its remarks have been written.
  raw_ostream *Remarks =
      Optimized && Optimized->Image.empty() ? Optimized->Remarks : nullptr;
  const PassListing &Numbers = getNumbers(Optimized);
  if (Selection.codeGenKey(Numbers).empty())
    return emit(M, Object, nullptr, Remarks);
  PassGate Gate(Selection, std::make_shared<PassListing>(Numbers));
  return emit(M, Object, &Gate, Remarks);
}

/// Emits while LLVM's options are set. Without a \p Gate all passes run.
Expected<SmallVector<char, 0>>
KernelCompiler::emit(const Module &M, bool Object, PassGate *Gate,
                     raw_ostream *Remarks) const {
  TimeTraceScope Trace("MnemeCodeGen");
  LLVMContext Context;
  Context.setDiscardValueNames(true);
  std::unique_ptr<Module> Copy = copyModule(M, Context);
  if (Copy->getTargetTriple().isNVPTX()) {
    placeVariables(*Copy);
    addOtherKernel(*Copy);
  }
  if (!Options.LlcTool.empty())
    return runLlcTool(Options.LlcTool, *Copy, Object, toolTarget(), Remarks,
                      Gate);
  DiagnosticScope Diagnostics(Context);
  RemarkScope Remarking(Context);
  if (Error E = Remarking.enter(Remarks, Options.Instruments.RemarksFilter))
    return std::move(E);
  const Triple &TT = Copy->getTargetTriple();
  const TargetOptions &TO = TM->Options;
  std::unique_ptr<legacy::PassManager> Manager =
      Gate ? Gate->createPassManager(*Copy)
           : std::make_unique<legacy::PassManager>();
  legacy::PassManager &PM = *Manager;
  PM.add(createTargetTransformInfoWrapperPass(TM->getTargetIRAnalysis()));
  PM.add(
      new TargetLibraryInfoWrapperPass(TargetLibraryInfoImpl(TT, TO.VecLib)));
  PM.add(new RuntimeLibraryInfoWrapper(TT, TO.ExceptionModel, TO.FloatABIType,
                                       TO.EABIVersion, TO.MCOptions.ABIName,
                                       TO.VecLib));
  SmallVector<char, 0> Out;
  raw_svector_ostream OS(Out);
  CodeGenFileType Type =
      Object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if (TM->addPassesToEmitFile(PM, OS, nullptr, Type, /*DisableVerify=*/true))
    return createStringError(
        formatv("{0} cannot emit this kind of file", TT.str()).str());
  PM.run(*Copy);
  if (TimePassesIsEnabled)
    reportAndResetTimings();
  if (Gate)
    Gate->finishCodeGen();
  if (Error E = Diagnostics.take())
    return std::move(E);
  return Out;
}

Expected<std::string>
KernelCompiler::emitAssembly(const Module &M,
                             const CompileResult *Optimized) const {
  Expected<SmallVector<char, 0>> Text =
      emitSelected(M, /*Object=*/false, Optimized);
  if (!Text)
    return Text.takeError();
  return std::string(Text->begin(), Text->end());
}

/// Returns the text of \p Path in place of the code generator's.
static Expected<SmallVector<char, 0>> readPTX(const Module &M, StringRef Path) {
  if (!M.getTargetTriple().isNVPTX())
    return createStringError("--ptx: the kernel is for " +
                             M.getTargetTriple().str());
  Expected<std::unique_ptr<MemoryBuffer>> Text = readTextFile(Path);
  if (!Text)
    return createStringError("--ptx: " + toString(Text.takeError()));
  StringRef PTX = (*Text)->getBuffer();
  return SmallVector<char, 0>(PTX.begin(), PTX.end());
}

Error KernelCompiler::emitImage(
    const Module &M, CompileResult &Result,
    function_ref<bool(StringRef PTX)> IsKnown) const {
  Stopwatch Codegen;
  bool IsNVPTX = M.getTargetTriple().isNVPTX();
  Expected<SmallVector<char, 0>> Emitted =
      Options.PTXFile.empty() ? emitSelected(M, /*Object=*/!IsNVPTX, &Result)
                              : readPTX(M, Options.PTXFile);
  if (!Emitted)
    return Emitted.takeError();

  if (IsNVPTX)
    Result.Assembly.assign(Emitted->begin(), Emitted->end());
  if (IsNVPTX && IsKnown && IsKnown(Result.Assembly)) {
    Result.CodegenTime = Codegen.seconds();
    return Error::success();
  }

  ++NumImages;
  TimeTraceScope Trace("MnemeAssemble");
  std::string PtxasLog;
  Stopwatch Assemble;
  if (IsNVPTX) {
    AssembleOptions AO;
    AO.Arch = Arch;
    AO.Level = CodeGenLevel;
    AO.Debug = hasDebugInfo(M);
    AO.Extra = Options.PtxasOptions;
    AO.Compiler = Options.Assembler;
    AO.CudaPath = Options.CudaPath;
    AO.Ptxas = Options.Ptxas;
    AO.Controls = Options.PtxasControls;
    AO.ToolSeconds = Options.ToolSeconds;
    Expected<SmallVector<char, 0>> Cubin =
        assemblePTX(Result.Assembly, AO, PtxasLog);
    if (!Cubin)
      return Cubin.takeError();
    Result.Image = std::move(*Cubin);
  } else {
    Expected<std::optional<SmallVector<char, 0>>> Linked = linkAMDGPU(*Emitted);
    if (!Linked)
      return Linked.takeError();
    Result.Image = *Linked ? std::move(**Linked) : *Emitted;
    Result.Object = std::move(*Emitted);
  }
  Result.AssembleTime = Assemble.seconds();
  Result.CodegenTime = Codegen.seconds();

  Expected<KernelResources> R = readResources(
      StringRef(Result.Image.data(), Result.Image.size()), Options.Kernel);
  if (!R)
    return R.takeError();
  Result.Resources = *R;
  readPtxasLog(PtxasLog, Options.Kernel, Result.Resources);
  return Error::success();
}
