//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Bake.h"
#include "PackGuards.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/NVPTXAddrSpace.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral UsePackage =
    "use a package at run time (llvm-mneme-deploy)";

namespace {
/// Bakes one kernel.
class KernelBaker {
public:
  KernelBaker(StringRef Module, StringRef Kernel, const TunedConfig &Tuned,
              const BakeOptions &O)
      : Whole(Module), Tuned(Tuned), O(O) {
    Baked.Name = Kernel.str();
  }

  /// Sets Baked and the options that the command line must have.
  Error run();

  BakedKernel Baked;
  /// Options of the whole compilation that the winner needs.
  unsigned CodeGenLevel = 0;
  std::vector<std::string> PtxasOptions;
  /// Those of LLVM that the code generator needs, if any.
  std::vector<LLVMOption> LLVMOptions;
  const TunedConfig &tuned() const { return Tuned; }

private:
  Error fail(const Twine &Why) const {
    return createStringError("'" + Tuned.File + "': kernel '" + Tuned.Kernel +
                             "': " + Why);
  }
  std::unique_ptr<Module> parse(LLVMContext &Context) const;
  Expected<std::string> runIsolated(ChildTask::WorkFn Work) const;
  Error checkConfig() const;
  Error planLaunch();
  Expected<Dim3> chooseBlock() const;
  Error planBlocks(const Dim3 &From, const Dim3 &To);
  Expected<CompileOptions> makeOptions() const;
  Error optimize(const CompileOptions &CO, std::string &Assembly);
  Error checkCodeGenerator(const CompileOptions &CO, StringRef Assembly);

  StringRef Whole; ///< The bitcode of the module.
  const TunedConfig &Tuned;
  const BakeOptions &O;
  KernelConfig Config;
};
} // namespace

/// Parses the kernel as a recording has it. A child process has checked and
/// written the module, and the kernel was found in it.
std::unique_ptr<Module> KernelBaker::parse(LLVMContext &Context) const {
  return cantFail(extractKernel(
      cantFail(parseBitcodeFile(MemoryBufferRef(Whole, ""), Context)),
      Baked.Name));
}

/// Passes may crash, and some LLVM options last.
Expected<std::string> KernelBaker::runIsolated(ChildTask::WorkFn Work) const {
  Expected<std::string> Result = runInChild("the compiler", Work, {});
  if (!Result)
    return fail(toString(Result.takeError()));
  return Result;
}

//===----------------------------------------------------------------------===//
// The configuration
//===----------------------------------------------------------------------===//

/// Fails for settings that clang cannot follow for one kernel.
Error KernelBaker::checkConfig() const {
  for (const auto &[Key, Value] : Tuned.Config) {
    const SettingInfo *S = findSetting(Key);
    if (Value.getAsString() == "") // No file.
      continue;
    bool IsUnknown = is_contained({"target_cpu", "target_features", "arch"},
                                  StringRef(Key)) ||
                     (S && (S->Reach == SettingReach::RunsPrograms ||
                            S->Reach == SettingReach::ReadsFiles));
    if (IsUnknown)
      return fail("the compiler cannot apply '" + StringRef(Key) +
                  "': " + UsePackage);
  }
  if (Config.Deployable)
    return fail("it was measured with 'deployable', a form for packages: tune "
                "without it, or " +
                UsePackage);
  if (std::vector<ConfigSideEffect> Effects = findSideEffects(Tuned.Config);
      !Effects.empty())
    return fail(toString(Effects.front()) +
                ", which a compilation must not do: " + UsePackage);
  if (std::string Pass = findUnguardedPass(Config.Passes.value_or(""));
      !Pass.empty())
    return fail("no guards are known for the pass '" + Pass +
                "' of the pipeline: tune without it");
  if (std::string Changed =
          findMeaningChange(Config, Config.Passes.value_or(""), false);
      !Changed.empty())
    return fail(Changed +
                " can change results for other data than the "
                "recorded: " +
                UsePackage);
  return Error::success();
}

/// Returns the block that all launches of the winner have.
Expected<Dim3> KernelBaker::chooseBlock() const {
  if (Tuned.Launches.empty())
    return fail("the file does not have the recorded launch: run the study "
                "again with this version");
  std::optional<Dim3> Block;
  for (const TunedLaunch &L : Tuned.Launches) {
    Dim3 New{Config.Block[0].value_or(L.Block.X),
             Config.Block[1].value_or(L.Block.Y),
             Config.Block[2].value_or(L.Block.Z)};
    if (Block && *Block != New)
      return fail("its launches have different blocks: " + UsePackage);
    Block = New;
  }
  return *Block;
}

Expected<CompileOptions> KernelBaker::makeOptions() const {
  CompileOptions CO = makeCompileOptions(Baked.Name, Config);
  CO.OptLevel = Tuned.OptLevel.empty() ? O.OptLevel : Tuned.OptLevel;
  if (!Config.SetLaunchBounds || Config.MaxThreads)
    return CO;
  Expected<Dim3> Block = chooseBlock();
  if (!Block)
    return Block.takeError();
  CO.Specialize.MaxThreads = Block->count();
  return CO;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

Error KernelBaker::planLaunch() {
  bool HasBlock = any_of(Config.Block, [](auto &B) { return B.has_value(); });
  bool HasGrid = any_of(Config.Grid, [](auto &G) { return G.has_value(); });
  if (!HasBlock && !HasGrid && !Config.SharedMem)
    return Error::success();
  Expected<Dim3> Block = chooseBlock();
  if (!Block)
    return Block.takeError();
  auto Refuse = [&](const Twine &Why) {
    return fail("another launch may give other results: " + Why +
                "; a package can serve the verified launches "
                "(llvm-mneme-deploy pack --launch-shape=verified), or tune "
                "without changing the launch");
  };
  bool IsSame = true;
  for (const TunedLaunch &L : Tuned.Launches) {
    if (Config.SharedMem && *Config.SharedMem != L.SharedMem)
      return Refuse("it changes the shared memory");
    for (unsigned Axis = 0; Axis != 3; ++Axis) {
      uint64_t Blocks = Config.Grid[Axis].value_or(L.Grid[Axis]);
      if (Blocks * (*Block)[Axis] != uint64_t(L.Grid[Axis]) * L.Block[Axis])
        return Refuse("it changes the number of threads");
    }
    IsSame &= *Block == L.Block;
    if (L.Block != Tuned.Launches.front().Block)
      return fail("its recorded launches have different blocks: " + UsePackage);
  }
  if (IsSame)
    return Error::success();
  Expected<std::string> Why = runIsolated([&]() -> Expected<std::string> {
    LLVMContext Context;
    std::unique_ptr<Module> M = parse(Context);
    for (StringRef Name : {"nvvm.reqntid", "nvvm.cluster_dim"})
      if (M->getFunction(Baked.Name)->hasFnAttribute(Name))
        return "the kernel has the attribute " + Name.str();
    return findShapeDependence(*M, Baked.Name);
  });
  if (!Why)
    return Why.takeError();
  if (!Why->empty())
    return Refuse(*Why);
  return planBlocks(Tuned.Launches.front().Block, *Block);
}

/// A launch that cannot be covered keeps its blocks.
Error KernelBaker::planBlocks(const Dim3 &From, const Dim3 &To) {
  if (Config.SetLaunchBounds &&
      (Config.MaxThreads ? Config.MaxThreads : To.count()) < From.count())
    return fail("its launch bounds exclude the recorded block: " + UsePackage);
  Baked.Rule = {From, To};
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

/// Returns the name of a variable of which the kernel alone has no copy that
/// other kernels could see; empty if there is none.
static std::string findPrivateVariable(const Module &M) {
  for (const GlobalVariable &G : M.globals())
    if (G.hasLocalLinkage() && G.hasInitializer() && !G.isConstant() &&
        G.getAddressSpace() != NVPTXAS::ADDRESS_SPACE_SHARED)
      return G.getName().str();
  return "";
}

/// Sets Baked.Bitcode and \p Assembly, as the study compiled them.
Error KernelBaker::optimize(const CompileOptions &CO, std::string &Assembly) {
  Expected<std::string> Both = runIsolated([&]() -> Expected<std::string> {
    LLVMContext Context;
    Context.setDiscardValueNames(true);
    std::unique_ptr<Module> M = parse(Context);
    if (std::string Name = findPrivateVariable(*M); !Name.empty())
      return createStringError("it uses the static variable '" + Name +
                               "', which other kernels share: declare it "
                               "without 'static', or pass it as an argument");
    Expected<KernelCompiler> Compiler = KernelCompiler::create(*M, CO);
    if (!Compiler)
      return Compiler.takeError();
    CompileResult Result;
    if (Error E = Compiler->optimize(M, Result))
      return std::move(E);
    Expected<std::string> Text = Compiler->emitAssembly(*M, &Result);
    if (!Text)
      return Text.takeError();
    SmallVector<char, 0> Bitcode = writeExactBitcode(*M);
    return *Text + '\0' + StringRef(Bitcode.data(), Bitcode.size()).str();
  });
  if (!Both)
    return Both.takeError();
  auto [Text, Bitcode] = StringRef(*Both).split('\0');
  Assembly = Text.str();
  Baked.Bitcode = Bitcode.str();
  return Error::success();
}

/// Compares with the code that clang will generate: settings may affect the
/// code generator, which clang runs for all kernels in the same way.
Error KernelBaker::checkCodeGenerator(const CompileOptions &CO,
                                      StringRef Assembly) {
  CompileOptions Plain;
  Plain.Kernel = CO.Kernel;
  Plain.OptLevel = O.OptLevel;
  Plain.CodeGenLevel = CodeGenLevel;
  Plain.LLVMOptions = O.LLVMOptions;
  Expected<std::string> Text = runIsolated([&]() -> Expected<std::string> {
    LLVMContext Context;
    // Only the module before optimization shows how clang fuses instructions.
    Expected<KernelCompiler> Compiler =
        KernelCompiler::create(*parse(Context), Plain);
    if (!Compiler)
      return Compiler.takeError();
    LLVMContext Fresh;
    return Compiler->emitAssembly(*readExactBitcode(Baked.Bitcode, "", Fresh));
  });
  if (!Text)
    return Text.takeError();
  if (*Text == Assembly)
    return Error::success();
  for (const LLVMOption &Option : CO.LLVMOptions)
    if (!is_contained(O.LLVMOptions, Option))
      LLVMOptions.push_back(Option);
  if (!LLVMOptions.empty())
    return Error::success();
  return fail("the compiler's code generator would not generate the measured "
              "code: it runs passes that the winner skips, or has -mllvm "
              "options that the study did not have: " +
              UsePackage);
}

Error KernelBaker::run() {
  if (Error E = applyConfig(Tuned.Config, Config))
    return fail(toString(std::move(E)));
  if (Error E = checkConfig())
    return E;
  if (Error E = planLaunch())
    return E;
  Expected<CompileOptions> CO = makeOptions();
  if (!CO)
    return CO.takeError();
  PtxasOptions = Config.PtxasOptions;
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context);
  Expected<KernelCompiler> Compiler = KernelCompiler::describe(*M, *CO);
  if (!Compiler)
    return fail(toString(Compiler.takeError()));
  CodeGenLevel = Compiler->codeGenLevel();
  std::string Assembly;
  if (Error E = optimize(*CO, Assembly))
    return E;
  return checkCodeGenerator(*CO, Assembly);
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

namespace {
/// A kernel of the module.
struct ModuleKernel {
  std::string Name, Arch, StaticHash;
};
} // namespace

static std::vector<ModuleKernel> findKernels(const Module &M) {
  std::vector<ModuleKernel> Kernels;
  for (const Function &F : M)
    if (isKernel(F))
      Kernels.push_back(
          {F.getName().str(),
           F.getFnAttribute("target-cpu").getValueAsString().str(), ""});
  return Kernels;
}

static std::string hashKernel(StringRef Bitcode, StringRef Kernel) {
  // Types of an earlier module in the same context would rename its own.
  LLVMContext Context;
  return computeStaticHash(*cantFail(extractKernel(
      cantFail(parseBitcodeFile(MemoryBufferRef(Bitcode, ""), Context)),
      Kernel)));
}

/// Returns the configuration for a kernel; null if it has none.
static Expected<const TunedConfig *>
chooseConfig(ModuleKernel &K, StringRef Bitcode, ArrayRef<TunedConfig> Tuned,
             const BakeOptions &O, function_ref<void(const Twine &)> Warn) {
  SmallVector<const TunedConfig *, 4> Named, Found;
  for (const TunedConfig &T : Tuned)
    if (withoutCompileId(T.Kernel) == withoutCompileId(K.Name) &&
        (T.Arch.empty() || T.Arch == K.Arch))
      Named.push_back(&T);
  if (Named.empty())
    return nullptr;
  K.StaticHash = hashKernel(Bitcode, K.Name);
  copy_if(Named, std::back_inserter(Found),
          [&](const TunedConfig *T) { return T->StaticHash == K.StaticHash; });
  std::string Kernel = "kernel '" + demangleSymbol(K.Name) + "' ";
  if (Found.empty()) {
    Warn(Kernel + "is not the one that '" + Named.front()->File +
         "' tuned, and is compiled without it: its code or its options were "
         "changed since" +
         (O.IsRDC ? ", or with -fgpu-rdc it needs other translation units, "
                    "or is static, which needs the same -cuid in both builds"
                  : "") +
         "; record and tune it again");
    return nullptr;
  }
  for (const TunedConfig *T : Found)
    if (T->Config != Found.front()->Config)
      return createStringError(
          Found.front()->File == T->File
              ? "'" + T->File + "': " + Kernel +
                    "has several configurations: " + UsePackage
              : Kernel + "has different configurations in '" +
                    Found.front()->File + "' and '" + T->File + "'");
  KernelConfig Config;
  if (Error E = applyConfig(Found.front()->Config, Config))
    return createStringError("'" + Found.front()->File + "': " + Kernel + ": " +
                             toString(std::move(E)));
  if (!isSpecialized(Config)) {
    if (Found.front()->IsFromHost)
      Warn(Kernel + "was measured on the host device ('" + Found.front()->File +
           "'): tune it on a GPU");
    if (Found.front()->HasOwnWinners)
      Warn(Kernel + "is compiled with the common winner of '" +
           Found.front()->File +
           "', not with those of single launches: " + UsePackage);
    return Found.front();
  }
  Warn(Kernel + "is compiled without '" + Found.front()->File +
       "': the winner is specialized for the values of a launch; " +
       UsePackage);
  return nullptr;
}

/// Returns the words of \p Wanted that \p Given lacks.
static std::vector<std::string> subtract(ArrayRef<std::string> Wanted,
                                         ArrayRef<std::string> Given) {
  std::vector<std::string> Missing;
  copy_if(Wanted, std::back_inserter(Missing),
          [&](const std::string &Word) { return !is_contained(Given, Word); });
  return Missing;
}

/// Returns the level of the code generator at this -O.
static std::string getCodeGenLevel(StringRef OptLevel) {
  return OptLevel == "s" || OptLevel == "z" ? "2" : OptLevel.str();
}

/// Options of the compilation are for all kernels of the module.
static Error checkUnit(ArrayRef<std::unique_ptr<KernelBaker>> Kernels,
                       const BakeOptions &O) {
  std::vector<std::string> Missing;
  for (const auto &K : Kernels) {
    const KernelBaker &First = *Kernels.front();
    if (K->CodeGenLevel != First.CodeGenLevel ||
        K->PtxasOptions != First.PtxasOptions)
      return createStringError(
          "kernels '" + First.Baked.Name + "' and '" + K->Baked.Name +
          "' of one source need different values of " +
          (K->CodeGenLevel != First.CodeGenLevel ? "'codegen_opt'"
                                                 : "'ptxas_options'") +
          ", which is an option of the whole compilation: " + UsePackage);
    for (const LLVMOption &Option : K->LLVMOptions)
      Missing.push_back("-mllvm " + quoteWord(toString(Option)));
  }
  if (Kernels.empty())
    return Error::success();
  const KernelBaker &First = *Kernels.front();
  if (std::string Level = utostr(First.CodeGenLevel);
      Level != getCodeGenLevel(O.OptLevel))
    Missing.push_back("-Xarch_device -O" + Level);
  for (const std::string &Word : subtract(First.PtxasOptions, O.PtxasOptions))
    Missing.push_back("-Xcuda-ptxas " + quoteWord(Word));
  if (Missing.empty())
    return Error::success();
  llvm::sort(Missing);
  Missing.erase(llvm::unique(Missing), Missing.end());
  return createStringError(
      "'" + First.tuned().File +
      "': the code was measured with options of the whole compilation: add " +
      join(Missing, " ") + ", or " + UsePackage);
}

Expected<std::vector<BakedKernel>>
mneme::bakeKernels(MemoryBufferRef IR, ArrayRef<TunedConfig> Tuned,
                   const BakeOptions &O,
                   function_ref<void(const Twine &)> Warn) {
  SmallVector<char, 0> Checked;
  std::vector<ModuleKernel> Kernels;
  bool HasDebugInfo;
  {
    LLVMContext Context;
    Expected<std::unique_ptr<Module>> M =
        readIR(IR, DefaultIRSeconds, Context, Checked);
    if (!M)
      return createFileError(IR.getBufferIdentifier(), M.takeError());
    Kernels = findKernels(**M);
    HasDebugInfo =
        (*M)->debug_compile_units_begin() != (*M)->debug_compile_units_end();
  }
  StringRef Bitcode = toStringRef(Checked);
  std::vector<std::unique_ptr<KernelBaker>> Bakers;
  for (ModuleKernel &K : Kernels) {
    Expected<const TunedConfig *> T = chooseConfig(K, Bitcode, Tuned, O, Warn);
    if (!T)
      return T.takeError();
    if (!*T)
      continue;
    Bakers.push_back(std::make_unique<KernelBaker>(Bitcode, K.Name, **T, O));
    if (Error E = Bakers.back()->run())
      return std::move(E);
  }
  if (Error E = checkUnit(Bakers, O))
    return std::move(E);
  if (!Bakers.empty() && HasDebugInfo && O.OptLevel == "0")
    Warn("with -O0 and -g, ptxas may generate other code for the tuned kernels "
         "than the study measured: compile with -O1, or " +
         UsePackage);
  std::vector<BakedKernel> Baked;
  for (const auto &B : Bakers)
    Baked.push_back(std::move(B->Baked));
  return Baked;
}
