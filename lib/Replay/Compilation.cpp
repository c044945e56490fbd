//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instruments.h"
#include "ScopedTimer.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Fatbin.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Mneme/Transforms/Deployable.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// One compilation of a plan's kernel.
class Compilation {
public:
  Compilation(const ReplayPlan &Plan, CodeTarget Target,
              function_ref<void(ReplayStage)> Report, KnownCodeFn Known)
      : Plan(Plan), Options(Plan.options()), Target(Target), Report(Report),
        Known(Known), Programs([this] { this->Report(Stage); }) {}

  Expected<CompiledKernel> run();

private:
  Expected<CompiledKernel> compile(LLVMContext &Context, Instruments &Watching);
  const ReplayPlan &Plan;
  const ReplayOptions &Options;
  CodeTarget Target;
  function_ref<void(ReplayStage)> Report;
  KnownCodeFn Known;
  CompiledKernel Code;
  ReplayStage Stage = ReplayStage::Optimize;
  /// A stage may run several programs; each may take the time of the stage.
  ProgramObserver Programs;

  void begin(ReplayStage S) {
    Stage = S;
    Report(S);
  }

  /// Stores a hash. \returns true if the result for this hash is known.
  bool stopsAt(CodeStage Stage, std::string Hash);
  std::string hashIR(const Module &M, const CompileResult &Optimized) const;
  std::string hashAssembly(const Module &M, StringRef PTX) const;
  void hashImage(StringRef Bytes);
  std::optional<ChildTask> tryGPUCode(const Module &M,
                                      const CompileResult &Compiled) const;
  Error emitForGPU(const Module &M, CompileResult &Compiled);
  Error emitForHost(Module &M);
  Error compareWithApp(StringRef Image);
  Error writeIR(const Module &M);
  Error writeFiles(const CompileResult &Compiled);

  bool wantsGPUImage() const {
    return Target == CodeTarget::GPU || Options.wantsGPUImage();
  }

  /// Compiler errors become part of the result; shortages remain errors.
  Expected<CompiledKernel> fail(Error E) {
    E = recognizeShortage(std::move(E));
    if (E.isA<ShortageError>())
      return std::move(E);
    Code.V = E.isA<ToolTimeout>() ? Verdict::Timeout : Verdict::CompileError;
    Code.Error = toString(std::move(E));
    return std::move(Code);
  }
};
} // namespace

Expected<CompiledKernel> Compilation::run() {
  begin(ReplayStage::Optimize);
  LLVMContext Context;
  // Value names cost time and make equal code look different.
  Context.setDiscardValueNames(Options.OutputIR.empty() &&
                               !Options.Instruments.showsIR());
  Instruments Watching(Plan);
  if (Error E = Watching.begin())
    return std::move(E);
  Expected<CompiledKernel> Made = compile(Context, Watching);
  if (!Made)
    return Made;
  if (Error E = Watching.end())
    return std::move(E);
  Made->Features = Watching.takeFeatures();
  return Made;
}

Expected<CompiledKernel> Compilation::compile(LLVMContext &Context,
                                              Instruments &Watching) {
  std::unique_ptr<Module> M = [&] {
    ScopedTimer Timer(Code.Times.Specialize);
    return Plan.cloneModule(Context);
  }();
  if (Error Failed = Watching.seeRecorded(*M))
    return std::move(Failed);
  CompileResult Compiled;
  Compiled.Remarks = Watching.remarks();
  Error E = Plan.compiler().optimize(M, Compiled);
  Code.Times.Specialize += Compiled.PreprocessTime;
  Code.Times.Optimize = Compiled.OptimizeTime;
  // An invalid selection of passes is the user's error, not the compiler's.
  if (E.isA<PassSetError>())
    return std::move(E);
  if (E)
    return fail(std::move(E));
  if (Error Failed = writeIR(*M))
    return std::move(Failed);
  if (Error Failed = Watching.seeOptimized(*M))
    return std::move(Failed);
  if (stopsAt(CodeStage::IR, hashIR(*M, Compiled)))
    return std::move(Code);

  begin(ReplayStage::Codegen);
  if (Error E = emitForGPU(*M, Compiled)) {
    if (E.isA<PassSetError>())
      return std::move(E);
    return fail(std::move(E));
  }
  if (Code.StoppedAt)
    return std::move(Code);
  if (Error Failed = writeFiles(Compiled))
    return std::move(Failed);
  if (Error Failed = Watching.seeGPUCode(Compiled))
    return std::move(Failed);
  const SmallVector<char, 0> &Compared =
      Compiled.Object.empty() ? Compiled.Image : Compiled.Object;
  if (Error Failed =
          compareWithApp(StringRef(Compared.data(), Compared.size())))
    return std::move(Failed);
  std::optional<ChildTask> Trial = tryGPUCode(*M, Compiled);
  if (Target == CodeTarget::Host) {
    begin(ReplayStage::HostCodegen);
    if (Error E = emitForHost(*M))
      return fail(std::move(E));
  }
  if (Trial)
    if (Error E = Trial->wait().takeError())
      Code.GPUFailure = toString(std::move(E));
  if (Target == CodeTarget::Host)
    if (Error Failed = Watching.seeHostCode(
            StringRef(Code.Image.Object.data(), Code.Image.Object.size())))
      return std::move(Failed);
  return std::move(Code);
}

/// Begins to generate the GPU's assembly in another process, which may crash,
/// while this one compiles for the host. Returns nothing if that is not wanted,
/// or for lack of resources: the replay does not need it.
std::optional<ChildTask>
Compilation::tryGPUCode(const Module &M, const CompileResult &Compiled) const {
  if (Target != CodeTarget::Host || !Options.TriesGPUCode || wantsGPUImage() ||
      !Options.OutputAsm.empty() || !Plan.hasIR())
    return std::nullopt;
  ChildLimits Limits;
  Limits.Seconds = Options.Timeout;
  Expected<ChildTask> Task = ChildTask::start(
      "it",
      [&]() -> Expected<std::string> {
        if (Error E = Plan.compiler().emitAssembly(M, &Compiled).takeError())
          return std::move(E);
        return "";
      },
      Limits);
  if (Task)
    return std::move(*Task);
  consumeError(Task.takeError());
  return std::nullopt;
}

bool Compilation::stopsAt(CodeStage Stage, std::string Hash) {
  std::string &Noted = Stage == CodeStage::IR ? Code.IRHash : Code.AssemblyHash;
  Noted = std::move(Hash);
  // Output files require the full compilation.
  bool Writes = !Options.OutputAsm.empty() || !Options.OutputObject.empty() ||
                !Options.OutputHostAsm.empty() ||
                !Options.CompareWithApp.empty() || !Options.Instruments.empty();
  if (!Known || Writes || !Known(Stage, Noted))
    return false;
  Code.StoppedAt = Stage;
  return true;
}

std::string Compilation::hashIR(const Module &M,
                                const CompileResult &Optimized) const {
  SmallVector<char, 0> Bytes = writeExactBitcode(M);
  raw_svector_ostream OS(Bytes);
  OS << '\0' << Plan.compiler().codegenKey(&Optimized) << '\0'
     << static_cast<int>(Target) << wantsGPUImage();
  if (Target == CodeTarget::Host)
    OS << getHostStrategyName(Options.Host.Strategy)
       << getHostFinishName(Options.Host.Finish) << Options.Host.Interleave;
  return toHexString(digest128(OS.str()));
}

std::string Compilation::hashAssembly(const Module &M, StringRef PTX) const {
  std::string Text = PTX.str();
  raw_string_ostream(Text) << '\0' << Plan.compiler().assembleKey() << '\0'
                           << M.debug_compile_units().empty();
  return toHexString(digest128(Text));
}

/// Combines the hashes of the code that runs and of the image that the
/// resources were read from, if they differ.
void Compilation::hashImage(StringRef Bytes) {
  std::string Hash = toHexString(digest128(Bytes));
  Code.CodeHash = Code.CodeHash.empty()
                      ? Hash
                      : toHexString(digest128(Code.CodeHash + Hash));
}

Error Compilation::writeIR(const Module &M) {
  if (Options.OutputIR.empty())
    return Error::success();
  return writeFileAtomically(Options.OutputIR, [&](raw_ostream &OS) {
    M.print(OS, nullptr);
    return Error::success();
  });
}

/// Returns true for device memory that kernels can write.
static bool isOwnVariable(const GlobalVariable &G) {
  unsigned AS = G.getAddressSpace();
  return (AS == 0 || AS == 1) && !G.isDeclaration() && !G.isConstant() &&
         !G.getName().starts_with("llvm.");
}

/// Emits the requested parts: assembly, image and its resources.
Error Compilation::emitForGPU(const Module &M, CompileResult &Compiled) {
  bool RunsThere = Target == CodeTarget::GPU;
  if (wantsGPUImage()) {
    // The host's code is made from the IR and may differ although the PTX is
    // equal.
    auto IsKnown = [&](StringRef PTX) {
      return Target != CodeTarget::Host &&
             stopsAt(CodeStage::Assembly, hashAssembly(M, PTX));
    };
    if (!Plan.hasIR() && !Plan.kernel().Image.IsPTX) {
      if (Error E = Plan.readRecordedCubin().moveInto(Compiled.Image))
        return E;
      if (Error E = readResources(
                        StringRef(Compiled.Image.data(), Compiled.Image.size()),
                        Plan.kernel().KernelName)
                        .moveInto(Compiled.Resources))
        return E;
    } else if (Error E = Plan.compiler().emitImage(M, Compiled, IsKnown)) {
      return E;
    }
    if (Code.StoppedAt) {
      Code.Times.Codegen = Compiled.CodegenTime;
      return Error::success();
    }
    Code.Resources = Compiled.Resources;
    Code.ObjectSize = Compiled.Image.size();
    StringRef Bytes(Compiled.Image.data(), Compiled.Image.size());
    hashImage(Bytes);
    Code.Assembler = readPtxasBuild(Bytes);
    if (Target == CodeTarget::Host) {
      Code.Times.GPUCodegen = Compiled.CodegenTime;
    } else {
      Code.Times.Codegen = Compiled.CodegenTime - Compiled.AssembleTime;
      Code.Times.Assemble = Compiled.AssembleTime;
    }
  }
  if (RunsThere) {
    DeviceImage &Image = Code.Image;
    Image.Triple = M.getTargetTriple().str();
    Image.Arch = Plan.compiler().arch().str();
    Image.KernelName = Plan.kernel().KernelName;
    Image.Object = Compiled.Image;
    Image.Args = Plan.kernel().Args;
    for (const KernelGlobal &G : Plan.globals()) {
      const GlobalVariable *Variable = M.getNamedGlobal(G.Name);
      if (Variable && (!Variable->isDeclaration() || !Plan.hasIR()))
        Image.Globals.push_back(G.Name);
    }
    for (const GlobalVariable &G : M.globals())
      if (isOwnVariable(G) && !is_contained(Image.Globals, G.getName()))
        Image.OwnVariables.push_back(G.getName().str());
    for (const SharedVariable &V : getVariableSlots(M))
      Image.Slots.push_back(V.Name);
  }
  bool WantsAssembly =
      !Options.OutputAsm.empty() || !Options.Instruments.SaveTemps.empty();
  if (!WantsAssembly || !Compiled.Assembly.empty())
    return Error::success();
  return Plan.compiler().emitAssembly(M, &Compiled).moveInto(Compiled.Assembly);
}

Error Compilation::writeFiles(const CompileResult &Compiled) {
  if (!Options.OutputAsm.empty())
    if (Error E = writeFileAtomically(Options.OutputAsm, Compiled.Assembly))
      return E;
  if (Options.OutputObject.empty())
    return Error::success();
  return writeFileAtomically(
      Options.OutputObject,
      StringRef(Compiled.Image.data(), Compiled.Image.size()));
}

/// An application may have several kernels of that name: compares with an
/// identical one, or else with the first.
Error Compilation::compareWithApp(StringRef Image) {
  for (const SmallVector<char, 0> &Theirs : Plan.appImages()) {
    StringRef Other(Theirs.data(), Theirs.size());
    StringRef Kernel = Plan.kernel().KernelName;
    Expected<CodeComparison> Compared = compareKernelCode(Image, Other, Kernel);
    if (!Compared)
      return createFileError(Options.CompareWithApp, Compared.takeError());
    if (Code.App && !Compared->Identical)
      continue;
    Expected<KernelResources> Resources = readResources(Other, Kernel);
    if (!Resources)
      return createFileError(Options.CompareWithApp, Resources.takeError());
    Code.App.emplace();
    Code.App->App = Options.CompareWithApp;
    Code.App->Copies = Plan.appImages().size();
    Code.App->Options = readPtxasOptions(Other);
    Code.App->Code = std::move(*Compared);
    Code.App->Resources = *Resources;
    if (Code.App->Code.Identical)
      break;
  }
  return Error::success();
}

Error Compilation::emitForHost(Module &M) {
  LLVMOptionScope Scope;
  if (Error E = Plan.compiler().enterLLVMOptions(Scope))
    return E;
  resolveVariableSlots(M);
  std::string Assembly;
  Expected<DeviceImage> Image = [&] {
    ScopedTimer Timer(Code.Times.Codegen);
    return compileKernelForHost(M, Plan.kernel().KernelName, Options.Host,
                                Options.OutputHostAsm.empty() ? nullptr
                                                              : &Assembly);
  }();
  if (!Image)
    return Image.takeError();
  if (!Options.OutputHostAsm.empty())
    if (Error E = writeFileAtomically(Options.OutputHostAsm, Assembly))
      return E;
  const HostKernelInfo &Info = getHostKernelInfo(*Image);
  Code.HostStrategy = getHostStrategyName(Info.Strategy).str();
  Code.HostReason = Info.Reason;
  if (!Code.Resources)
    Code.ObjectSize = Image->Object.size();
  hashImage(StringRef(Image->Object.data(), Image->Object.size()));
  Code.Image = std::move(*Image);
  return Error::success();
}

static Error withoutIR(const ReplayPlan &Plan, const Twine &Why) {
  return createStringError("kernel '" + Plan.kernel().KernelName +
                           "' was recorded without IR: it " + Why);
}

Expected<CompiledKernel>
mneme::compileVariant(const ReplayPlan &Variant, CodeTarget Target,
                      function_ref<void(ReplayStage)> Report,
                      KnownCodeFn Known) {
  // A missing tool is not a compile error.
  const ReplayOptions &O = Variant.options();
  if (Target == CodeTarget::Host && !Variant.hasIR())
    return withoutIR(Variant, Triple(Variant.kernel().Triple).isAMDGPU()
                                  ? "runs on an AMD GPU only (--device=hip:0)"
                                  : "runs on an NVIDIA GPU only "
                                    "(--device=cuda:0)");
  bool Assembles = Variant.hasIR() || Variant.kernel().Image.IsPTX;
  if (Target == CodeTarget::GPU && Assembles)
    if (Error E = checkPTXCompiler(O.Assembler, O.CudaPath, O.Ptxas))
      return std::move(E);
  return Compilation(Variant, Target, Report, Known).run();
}

Expected<PassListing> mneme::listPasses(const ReplayPlan &Plan,
                                        const PassListOptions &O) {
  if (!Plan.hasIR())
    return withoutIR(Plan, "has no passes");
  LLVMContext Context;
  Context.setDiscardValueNames(true);
  return Plan.compiler().listPasses(*Plan.cloneModule(Context), O);
}

//===----------------------------------------------------------------------===//
// Baseline options
//===----------------------------------------------------------------------===//

ReplayOptions mneme::getBaselineOptions(const ReplayOptions &O) {
  ReplayOptions B;
  B.Arch = O.Arch;
  B.CudaPath = O.CudaPath;
  B.Assembler = O.Assembler;
  B.Device = O.Device;
  B.Host = O.Host;
  B.Verify = O.Verify;
  B.Timeout = O.Timeout;
  B.ShowsOutput = O.ShowsOutput;
  B.Tolerances = O.Tolerances;
  B.ElementTypes = O.ElementTypes;
  B.Unordered = O.Unordered;
  // What compares with the baseline has measured it.
  B.Envelope.Replays = 0;
  B.Norm = O.Norm;
  B.NaN = O.NaN;
  return B;
}

Expected<CompiledKernel> mneme::readAppCode(const ReplayPlan &Plan,
                                            StringRef App) {
  const RecordedKernel &K = Plan.kernel();
  Expected<SmallVector<char, 0>> Cubin =
      App.empty() && Plan.hasRecordedImage()
          ? Plan.readRecordedCubin()
          : extractKernelImage(App, K.KernelName, K.Arch);
  if (!Cubin)
    return Cubin.takeError();
  StringRef Bytes(Cubin->data(), Cubin->size());
  CompiledKernel Code;
  Expected<KernelResources> Resources = readResources(Bytes, K.KernelName);
  if (!Resources)
    return Resources.takeError();
  Code.Resources = *Resources;
  Code.ObjectSize = Bytes.size();
  Code.CodeHash = toHexString(digest128(Bytes));
  Code.Assembler = readPtxasBuild(Bytes);
  Code.Image.Triple = K.Triple;
  Code.Image.Arch = K.Arch;
  Code.Image.KernelName = K.KernelName;
  Code.Image.Object = std::move(*Cubin);
  Code.Image.Args = K.Args;
  for (const KernelGlobal &G : Plan.globals())
    Code.Image.Globals.push_back(G.Name);
  return std::move(Code);
}
