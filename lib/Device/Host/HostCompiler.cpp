//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The chain of lowering passes, the finishing pipeline and code generation.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "HostABI.h"
#include "IntrinsicLibrary.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/LibcallLoweringInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

#define DEBUG_TYPE "mneme-host"
STATISTIC(NumLoops, "Number of kernels run as a loop over threads");
STATISTIC(NumRegions, "Number of kernels run as loops between barriers");
STATISTIC(NumCoroutines, "Number of kernels run as coroutines");
STATISTIC(NumFibers, "Number of kernels run on fibers");

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef mneme::getHostStrategyName(HostStrategy S) {
  switch (S) {
  case HostStrategy::Auto:
    return "auto";
  case HostStrategy::Loop:
    return "loop";
  case HostStrategy::Region:
    return "region";
  case HostStrategy::Coroutine:
    return "coroutine";
  case HostStrategy::Fiber:
    return "fiber";
  }
  llvm_unreachable("unknown strategy");
}

StringRef mneme::getHostFinishName(HostFinish F) {
  switch (F) {
  case HostFinish::O3:
    return "O3";
  case HostFinish::O1:
    return "O1";
  case HostFinish::Min:
    return "min";
  case HostFinish::None:
    return "none";
  }
  llvm_unreachable("unknown finish");
}

Expected<HostStrategy> mneme::parseHostStrategy(StringRef Name) {
  for (HostStrategy S :
       {HostStrategy::Auto, HostStrategy::Loop, HostStrategy::Region,
        HostStrategy::Coroutine, HostStrategy::Fiber})
    if (Name == getHostStrategyName(S))
      return S;
  return createStringError(
      "unknown host strategy '" + Name +
      "': expected auto, loop, region, coroutine or fiber");
}

Expected<HostFinish> mneme::parseHostFinish(StringRef Name) {
  for (HostFinish F :
       {HostFinish::O3, HostFinish::O1, HostFinish::Min, HostFinish::None})
    if (Name == getHostFinishName(F))
      return F;
  return createStringError("unknown host finish '" + Name +
                           "': expected O3, O1, min or none");
}

//===----------------------------------------------------------------------===//
// Pass managers
//===----------------------------------------------------------------------===//

static Expected<std::unique_ptr<TargetMachine>>
createHostTargetMachine(CodeGenOptLevel Level) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  Triple T(sys::getDefaultTargetTriple());
  std::string Message;
  const Target *Host = TargetRegistry::lookupTarget(T, Message);
  if (!Host)
    return createStringError(Message);
  SubtargetFeatures Features;
  for (const auto &Feature : sys::getHostCPUFeatures())
    Features.AddFeature(Feature.first(), Feature.second);
  TargetOptions Options;
  // Contraction was decided on the device's IR; see HostNormalize.
  Options.AllowFPOpFusion = FPOpFusion::Standard;
  std::unique_ptr<TargetMachine> TM(
      Host->createTargetMachine(T, sys::getHostCPUName(), Features.getString(),
                                Options, Reloc::PIC_, CodeModel::Small, Level));
  if (!TM)
    return createStringError("cannot generate code for '" + T.str() + "'");
  return std::move(TM);
}

namespace {
/// The analyses of one module, for the host's CPU.
struct Analyses {
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB;

  explicit Analyses(TargetMachine *TM,
                    PipelineTuningOptions Tuning = PipelineTuningOptions())
      : PB(TM, Tuning) {
    const Triple &T = TM->getTargetTriple();
    // Device code has malloc() only: do not combine it with memset().
    TargetLibraryInfoImpl Functions(T);
    Functions.setUnavailable(LibFunc_calloc);
    FAM.registerPass([Functions] { return TargetLibraryAnalysis(Functions); });
    MAM.registerPass([&] { return RuntimeLibraryAnalysis(T); });
    MAM.registerPass([&] { return LibcallLoweringModuleAnalysis(); });
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CAM, MAM);
  }

  template <typename PassT> Error run(Module &M, PassT Pass) {
    TimeTraceScope Scope("MnemeHostLower", PassT::name());
    MAM.invalidate(M, Pass.run(M, MAM));
    return takeLoweringError(M);
  }
};
} // namespace

namespace {
/// Hides the diagnostics of passes from the user, who did not write this code:
/// a GPU pragma that the CPU's pipeline cannot follow is irrelevant. The first
/// error is kept, because LLVM's own handler would end the process.
class DiagnosticScope {
  class Handler final : public DiagnosticHandler {
    std::string &FirstError;

  public:
    explicit Handler(std::string &FirstError) : FirstError(FirstError) {}
    bool handleDiagnostics(const DiagnosticInfo &Info) override {
      if (Info.getSeverity() == DS_Error && FirstError.empty()) {
        raw_string_ostream OS(FirstError);
        DiagnosticPrinterRawOStream Printer(OS);
        Info.print(Printer);
      }
      return true;
    }
  };

  LLVMContext &C;
  std::unique_ptr<DiagnosticHandler> Saved;
  std::string FirstError;

public:
  explicit DiagnosticScope(LLVMContext &C)
      : C(C), Saved(C.getDiagnosticHandler()) {
    C.setDiagnosticHandler(std::make_unique<Handler>(FirstError));
  }
  ~DiagnosticScope() { C.setDiagnosticHandler(std::move(Saved)); }
  StringRef getError() const { return FirstError; }
};
} // namespace

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

/// Removes everything except \p Kernel and its dependencies.
static void keepOnly(Module &M, Function &Kernel, ModuleAnalysisManager &MAM) {
  for (const char *Name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *G = M.getNamedGlobal(Name))
      G->eraseFromParent();
  // A pointer in device memory may denote functions that the kernel never
  // mentions.
  SetVector<Function *> Reached = findReachable(Kernel);
  if (any_of(Reached, [](Function *F) { return hasIndirectCall(*F); }))
    for (Function &F : M)
      if (isPointerTarget(F))
        F.addFnAttr(IndirectAttr);
  for (GlobalValue &G : M.global_values())
    if (auto *F = dyn_cast<Function>(&G);
        F && F->hasFnAttribute(IndirectAttr)) {
      F->setLinkage(GlobalValue::ExternalLinkage);
      F->setComdat(nullptr);
    } else if (&G != &Kernel && !G.isDeclaration() &&
               !G.getName().starts_with("llvm.")) {
      G.setVisibility(GlobalValue::DefaultVisibility);
      G.setLinkage(GlobalValue::InternalLinkage);
      if (auto *Object = dyn_cast<GlobalObject>(&G))
        Object->setComdat(nullptr);
    }
  Kernel.setComdat(nullptr);
  MAM.invalidate(M, GlobalDCEPass().run(M, MAM));
}

/// Makes a function that neither the program nor the executor has an error only
/// where it is called.
static void defineMissing(Module &M) {
  StringSet<> Known;
  size_t Count = 0;
  const MnemeHostSymbol *Symbols = mneme_host_symbols(&Count);
  for (const MnemeHostSymbol &S : ArrayRef(Symbols, Count))
    Known.insert(S.Name);
  for (Function &F : M) {
    StringRef Name = F.getName();
    if (!F.isDeclaration() || F.isIntrinsic() || F.use_empty() ||
        Name.starts_with("mneme.") || Known.contains(Name))
      continue;
    F.setAttributes({});
    F.setLinkage(GlobalValue::InternalLinkage);
    IRBuilder<> B(BasicBlock::Create(M.getContext(), "", &F));
    createUnsupported(B, Name);
    B.CreateUnreachable(); // the report does not return
  }
}

static Error checkValid(Module &M, const Twine &When) {
  std::string Text;
  raw_string_ostream OS(Text);
  if (!verifyModule(M, &OS))
    return Error::success();
  return createStringError("lowering for the host made an invalid module " +
                           When + ": " + StringRef(Text).split('\n').first);
}

static constexpr StringLiteral InterleaveReason =
    "a random schedule stops threads anywhere";

/// Tries the strategies, beginning with \p First, until one applies.
static Error applyStrategy(Module &M, HostStrategy First, Analyses &A) {
  switch (First) {
  case HostStrategy::Auto:
  case HostStrategy::Loop:
    if (Error E = A.run(M, HostLoopPass()))
      return E;
    if (findKernels(M).empty())
      return Error::success();
    [[fallthrough]];
  case HostStrategy::Region:
    if (Error E = A.run(M, HostRegionPass()))
      return E;
    if (findKernels(M).empty())
      return Error::success();
    [[fallthrough]];
  case HostStrategy::Coroutine:
    if (Error E = A.run(M, HostCoroutinePass()))
      return E;
    if (findKernels(M).empty())
      return Error::success();
    [[fallthrough]];
  case HostStrategy::Fiber:
    return A.run(M, HostFiberPass());
  }
  llvm_unreachable("unknown strategy");
}

static void count(HostStrategy S) {
  switch (S) {
  case HostStrategy::Auto:
    return;
  case HostStrategy::Loop:
    ++NumLoops;
    return;
  case HostStrategy::Region:
    ++NumRegions;
    return;
  case HostStrategy::Coroutine:
    ++NumCoroutines;
    return;
  case HostStrategy::Fiber:
    ++NumFibers;
    return;
  }
}

static Expected<HostKernelInfo> collectInfo(Module &M, StringRef Kernel,
                                            HostKernelInfo Info) {
  Info.Name = Kernel.str();
  Info.Entry = ("mneme.entry." + Kernel).str();
  const Function *Entry = M.getFunction(Info.Entry);
  if (!Entry || Entry->isDeclaration())
    return createStringError(
        "no strategy of the host device applies to kernel '" + Kernel + "'");
  Expected<HostStrategy> Strategy =
      parseHostStrategy(Entry->getFnAttribute(EntryAttr).getValueAsString());
  if (!Strategy)
    return Strategy.takeError();
  Info.Strategy = *Strategy;
  Info.Reason = Entry->getFnAttribute(ReasonAttr).getValueAsString().str();
  count(Info.Strategy);
  LLVM_DEBUG(dbgs() << Kernel << ": strategy "
                    << getHostStrategyName(Info.Strategy) << " (" << Info.Reason
                    << ")\n");
  Info.StaticShared = getIntAttr(*Entry, StaticSharedAttr);
  Info.WaveSize = getIntAttr(*Entry, WaveSizeAttr, 32);
  Info.Ordered = getIntAttr(*Entry, OrderedAttr);
  Info.ContextSize = getIntAttr(*Entry, ContextSizeAttr);
  for (const GlobalVariable &G : M.globals())
    if (G.isDeclaration() && !G.use_empty())
      Info.Globals.push_back(G.getName().str());
  return std::move(Info);
}

/// Returns the size of clusters that \p Kernel requires; empty if there is
/// none. An upper bound (nvvm.maxclusterrank) is no size: without an attribute
/// of the launch, blocks then have no cluster.
static Expected<std::vector<uint32_t>> getClusterDim(const Function &Kernel) {
  StringRef Text = Kernel.getFnAttribute("nvvm.cluster_dim").getValueAsString();
  if (Text.empty())
    return std::vector<uint32_t>();
  std::vector<uint32_t> Dim;
  for (StringRef Size : split(Text, ','))
    if (!to_integer(Size.trim(), Dim.emplace_back()) || Dim.back() == 0)
      return createStringError("kernel '" + Kernel.getName() +
                               "': nvvm.cluster_dim: expected up to three "
                               "positive numbers, got '" +
                               Text + "'");
  Dim.resize(3, 1);
  return std::move(Dim);
}

Expected<HostKernelInfo> mneme::lowerKernelForHost(Module &M, StringRef Kernel,
                                                   const HostOptions &Options) {
  Function *F = M.getFunction(Kernel);
  if (!F || F->isDeclaration())
    return createStringError("module '" + M.getModuleIdentifier() +
                             "' defines no kernel '" + Kernel + "'");
  Expected<std::unique_ptr<TargetMachine>> TM =
      createHostTargetMachine(CodeGenOptLevel::Default);
  if (!TM)
    return TM.takeError();
  std::string Name = Kernel.str();
  HostKernelInfo Info;
  Info.NumArgs = F->arg_size();
  if (Error E = getClusterDim(*F).moveInto(Info.ClusterDim))
    return std::move(E);

  Analyses A(TM->get());
  keepOnly(M, *F, A.MAM);
  F->addFnAttr(KernelAttr);
  if (Error E = A.run(M, HostNormalizePass()))
    return std::move(E);
  if (Error E = A.run(M, HostAsmPass()))
    return std::move(E);
  if (Error E = A.run(M, HostIntrinsicsPass()))
    return std::move(E);
  defineMissing(M);
  if (Error E = A.run(M, HostSharedPass()))
    return std::move(E);
  if (Error E = A.run(M, HostGlobalsPass()))
    return std::move(E);
  if (Error E = A.run(M, HostInlinePass()))
    return std::move(E);
  if (Error E = checkValid(M, "before a strategy"))
    return std::move(E);
  HostStrategy First = Options.Strategy;
  if (Options.Interleave && First != HostStrategy::Coroutine) {
    First = HostStrategy::Fiber;
    setReason(*M.getFunction(Name), InterleaveReason);
    if (Error E = A.run(M, HostInterleavePass()))
      return std::move(E);
  }
  if (Error E = applyStrategy(M, First, A))
    return std::move(E);
  if (Error E = A.run(M, HostCallsPass()))
    return std::move(E);
  Expected<HostKernelInfo> Result = collectInfo(M, Name, std::move(Info));
  if (!Result)
    return Result;
  if (Error E = checkValid(M, "for strategy '" +
                                  getHostStrategyName(Result->Strategy) + "'"))
    return std::move(E);
  return Result;
}

//===----------------------------------------------------------------------===//
// Finishing
//===----------------------------------------------------------------------===//

/// Lowering leaves coroutines and functions that must be inlined.
static constexpr StringLiteral FinishNone =
    "coro-early,always-inline,cgscc(coro-split),coro-cleanup,globaldce";
static constexpr StringLiteral FinishMin =
    "coro-early,always-inline,cgscc(coro-split),coro-cleanup,globaldce,"
    "function(sroa<modify-cfg>,early-cse<memssa>,loop-mssa(licm),simplifycfg)";

static void runFinish(Module &M, HostFinish Finish, TargetMachine &TM) {
  TimeTraceScope Scope("MnemeHostFinish", getHostFinishName(Finish));
  PipelineTuningOptions Tuning;
  Tuning.LoopVectorization = Finish == HostFinish::O3;
  Tuning.SLPVectorization = Finish == HostFinish::O3;
  Tuning.LoopInterleaving = Finish == HostFinish::O3;
  Analyses A(&TM, Tuning);
  ModulePassManager MPM;
  switch (Finish) {
  case HostFinish::O3:
    MPM = A.PB.buildPerModuleDefaultPipeline(OptimizationLevel::O3);
    break;
  case HostFinish::O1:
    MPM = A.PB.buildPerModuleDefaultPipeline(OptimizationLevel::O1);
    break;
  case HostFinish::Min:
    cantFail(A.PB.parsePassPipeline(MPM, FinishMin));
    break;
  case HostFinish::None:
    cantFail(A.PB.parsePassPipeline(MPM, FinishNone));
    break;
  }
  MPM.run(M, A.MAM);
}

/// Changes \p M.
static Error emitHostCode(Module &M, TargetMachine &TM, CodeGenFileType Type,
                          raw_pwrite_stream &OS) {
  legacy::PassManager PM;
  TargetLibraryInfoImpl TLII(M.getTargetTriple());
  PM.add(new TargetLibraryInfoWrapperPass(TLII));
  PM.add(createTargetTransformInfoWrapperPass(TM.getTargetIRAnalysis()));
  PM.add(new RuntimeLibraryInfoWrapper(M.getTargetTriple()));
  if (TM.addPassesToEmitFile(PM, OS, nullptr, Type))
    return createStringError("cannot emit code for '" +
                             M.getTargetTriple().str() + "'");
  PM.run(M);
  return Error::success();
}

Expected<DeviceImage> mneme::compileKernelForHost(Module &M, StringRef Kernel,
                                                  const HostOptions &Options,
                                                  std::string *Assembly) {
  DiagnosticScope Diagnostics(M.getContext());
  Expected<HostKernelInfo> Info = lowerKernelForHost(M, Kernel, Options);
  if (!Info)
    return Info.takeError();
  Expected<std::unique_ptr<TargetMachine>> TM =
      createHostTargetMachine(Options.CodeGen);
  if (!TM)
    return TM.takeError();
  runFinish(M, Options.Finish, **TM);

  DeviceImage Image;
  Image.Triple = M.getTargetTriple().str();
  Image.KernelName = Info->Name;
  Image.Globals = Info->Globals;
  if (Assembly) {
    // The code generator changes its module.
    std::unique_ptr<Module> Copy = CloneModule(M);
    SmallString<0> Text;
    raw_svector_ostream OS(Text);
    if (Error E = emitHostCode(*Copy, **TM, CodeGenFileType::AssemblyFile, OS))
      return std::move(E);
    *Assembly = Text.str().str();
  }
  TimeTraceScope Scope("MnemeHostCodeGen", Info->Name);
  raw_svector_ostream OS(Image.Object);
  if (Error E = emitHostCode(M, **TM, CodeGenFileType::ObjectFile, OS))
    return std::move(E);
  if (!Diagnostics.getError().empty())
    return createStringError("cannot compile kernel '" + Info->Name +
                             "' for the host: " + Diagnostics.getError());
  Image.Arch = sys::getHostCPUName().str();
  setHostKernelInfo(Image, std::move(*Info));
  return std::move(Image);
}

static MnemeHostStrategy toExecutorStrategy(HostStrategy S) {
  switch (S) {
  case HostStrategy::Region:
    return MNEME_HOST_REGION;
  case HostStrategy::Coroutine:
    return MNEME_HOST_COROUTINE;
  case HostStrategy::Fiber:
    return MNEME_HOST_FIBER;
  case HostStrategy::Auto:
  case HostStrategy::Loop:
    break;
  }
  return MNEME_HOST_LOOP;
}

MnemeHostKernel mneme::toExecutorKernel(const HostKernelInfo &Info,
                                        uint64_t Entry) {
  MnemeHostKernel K = {};
  K.Entry = reinterpret_cast<void *>(Entry);
  K.Strategy = toExecutorStrategy(Info.Strategy);
  K.StaticShared = Info.StaticShared;
  K.WaveSize = Info.WaveSize;
  K.ContextSize = Info.ContextSize;
  K.Ordered = Info.Ordered;
  assert(Info.ClusterDim.size() <= std::size(K.ClusterDim) && "three axes");
  llvm::copy(Info.ClusterDim, K.ClusterDim);
  return K;
}

const HostKernelInfo &mneme::getHostKernelInfo(const DeviceImage &Image) {
  assert(Image.HostInfo && "not an image for the host device");
  return *static_cast<const HostKernelInfo *>(Image.HostInfo.get());
}

void mneme::setHostKernelInfo(DeviceImage &Image, HostKernelInfo Info) {
  Image.HostInfo = std::make_shared<HostKernelInfo>(std::move(Info));
}

json::Value mneme::toJSON(const HostKernelInfo &Info) {
  return json::Object{{"name", json::fixUTF8(Info.Name)},
                      {"entry", json::fixUTF8(Info.Entry)},
                      {"strategy", getHostStrategyName(Info.Strategy)},
                      {"reason", json::fixUTF8(Info.Reason)},
                      {"static_shared", Info.StaticShared},
                      {"wave_size", Info.WaveSize},
                      {"ordered", Info.Ordered},
                      {"cluster_dim", json::Array(Info.ClusterDim)},
                      {"context_size", Info.ContextSize},
                      {"args", Info.NumArgs},
                      {"globals", json::Array(Info.Globals)}};
}

bool mneme::fromJSON(const json::Value &V, HostKernelInfo &Info,
                     json::Path P) {
  json::ObjectMapper O(V, P);
  std::string Strategy;
  if (!O || !O.map("name", Info.Name) || !O.map("entry", Info.Entry) ||
      !O.map("strategy", Strategy) || !O.map("reason", Info.Reason) ||
      !O.map("static_shared", Info.StaticShared) ||
      !O.map("wave_size", Info.WaveSize) ||
      !O.map("ordered", Info.Ordered) ||
      !O.map("cluster_dim", Info.ClusterDim) ||
      !O.map("context_size", Info.ContextSize) ||
      !O.map("args", Info.NumArgs) || !O.map("globals", Info.Globals))
    return false;
  Expected<HostStrategy> Known = parseHostStrategy(Strategy);
  if (!Known) {
    consumeError(Known.takeError());
    P.field("strategy").report("unknown strategy");
    return false;
  }
  if (Info.ClusterDim.size() > 3) {
    P.field("cluster_dim").report("more than three axes");
    return false;
  }
  Info.Strategy = *Known;
  return true;
}
