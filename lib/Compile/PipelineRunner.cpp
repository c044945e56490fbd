//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only file of this library that includes PassBuilder.h.
//
//===----------------------------------------------------------------------===//

#include "PipelineParser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/LibcallLoweringInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Mneme/Compile/PassGate.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Transforms/Count.h"
#include "llvm/Mneme/Transforms/Fault.h"
#include "llvm/Mneme/Transforms/Fill.h"
#include "llvm/Mneme/Transforms/Number.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Mneme/Transforms/Trace.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace llvm::mneme;

std::string mneme::getClangPipeline(StringRef Level) {
  return ("clang<O" + Level + ">").str();
}

std::string mneme::expandLevel(StringRef Passes) {
  bool IsLevel = Passes.size() == 2 && Passes[0] == 'O' &&
                 StringRef("0123sz").contains(Passes[1]);
  return IsLevel ? ("default<" + Passes + ">").str() : "";
}

/// Returns the level of "clang<O2>"; std::nullopt for any other text.
static std::optional<OptimizationLevel> parseClangLevel(StringRef Text) {
  if (!Text.consume_front("clang<O") || !Text.consume_back(">"))
    return std::nullopt;
  if (Text == "0")
    return OptimizationLevel::O0;
  if (Text == "1")
    return OptimizationLevel::O1;
  if (Text == "2")
    return OptimizationLevel::O2;
  if (Text == "3")
    return OptimizationLevel::O3;
  if (Text == "s")
    return OptimizationLevel::Os;
  if (Text == "z")
    return OptimizationLevel::Oz;
  return std::nullopt;
}

/// Returns the level of the first such element of a pipeline, whose tuning
/// options apply to all elements.
static std::optional<OptimizationLevel> findClangLevel(StringRef Passes) {
  for (StringRef Element : split(Passes, ','))
    if (std::optional<OptimizationLevel> Level = parseClangLevel(Element))
      return Level;
  return std::nullopt;
}

static ModulePassManager buildClangPipeline(PassBuilder &PB,
                                            OptimizationLevel Level) {
  return Level == OptimizationLevel::O0
             ? PB.buildO0DefaultPipeline(Level)
             : PB.buildPerModuleDefaultPipeline(Level);
}

/// Handles "clang<O2>" in pipelines with other passes.
static void registerClangPipelines(PassBuilder &PB) {
  PB.registerPipelineParsingCallback(
      [&PB](StringRef Name, ModulePassManager &MPM,
            ArrayRef<PassBuilder::PipelineElement>) {
        std::optional<OptimizationLevel> Level = parseClangLevel(Name);
        if (Level)
          MPM.addPass(buildClangPipeline(PB, *Level));
        return Level.has_value();
      });
}

StringRef mneme::getClangDriverOption(const Triple &TT) {
  return TT.isNVPTX() ? "enable-memcpyopt-without-libcalls"
                      : "amdgpu-internalize-symbols";
}

namespace {
/// An option that clang's driver passes with -mllvm for the device's side. It
/// is global, so it is only set while a clang pipeline runs.
class ClangDriverOption {
public:
  explicit ClangDriverOption(StringRef Name) {
    auto &Options = cl::getRegisteredOptions();
    auto It = Options.find(Name);
    if (It == Options.end() || It->second->getNumOccurrences())
      return;
    Option = static_cast<cl::opt<bool> *>(It->second);
    Option->setValue(true);
  }
  ~ClangDriverOption() {
    if (Option)
      Option->setValue(false);
  }

private:
  cl::opt<bool> *Option = nullptr;
};

/// All objects needed to parse a pipeline, in order of destruction.
struct PipelineContext {
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassInstrumentationCallbacks PIC;
  PassBuilder PB;

  PipelineContext(TargetMachine &TM, PipelineTuningOptions PTO)
      : PB(&TM, PTO, std::nullopt, &PIC) {}

  Error loadPlugins(ArrayRef<std::string> Plugins) {
    for (const std::string &Path : Plugins) {
      Expected<PassPlugin> Plugin = PassPlugin::Load(Path);
      if (!Plugin)
        return Plugin.takeError();
      Plugin->registerPassBuilderCallbacks(PB);
    }
    registerSpecializePass(PB);
    registerFillPass(PB);
    registerTracePass(PB);
    registerCountPass(PB);
    registerNumberPass(PB);
    registerFaultPass(PB);
    registerClangPipelines(PB);
    return Error::success();
  }
};
} // namespace

static PipelineTuningOptions
getTuningOptions(std::optional<OptimizationLevel> Clang) {
  PipelineTuningOptions PTO;
  if (!Clang)
    return PTO; // As in opt.
  // The flags of clang's driver (-vectorize-loops, -vectorize-slp), and cc1's
  // defaults for the level; -Os and -Oz count as level 2 in cc1.
  bool Above1 = Clang->getSpeedupLevel() > 1;
  PTO.LoopVectorization = Above1 && *Clang != OptimizationLevel::Oz;
  PTO.SLPVectorization = Above1;
  PTO.LoopUnrolling = Above1;
  PTO.LoopInterleaving = Above1;
  return PTO;
}

/// LLVM's parser and the nested pass managers recurse once per level.
static constexpr unsigned MaxNesting = 256;

static bool isNestedTooDeeply(StringRef Passes) {
  unsigned Depth = 0;
  for (char C : Passes) {
    if (C == '(' && ++Depth > MaxNesting)
      return true;
    if (C == ')' && Depth)
      --Depth;
  }
  return false;
}

static Error parsePipeline(PassBuilder &PB, ModulePassManager &MPM,
                           StringRef Passes) {
  std::string Level = expandLevel(Passes);
  if (!Level.empty())
    Passes = Level;
  // Build it directly: the parser builds a named pipeline twice, including the
  // callbacks of plugins.
  if (std::optional<OptimizationLevel> Clang = parseClangLevel(Passes)) {
    MPM = buildClangPipeline(PB, *Clang);
    return Error::success();
  }
  if (isNestedTooDeeply(Passes))
    return createStringError("pipeline is nested more than " +
                             Twine(MaxNesting) + " levels deep");
  if (Passes.empty())
    return Error::success();
  Error E = PB.parsePassPipeline(MPM, Passes);
  size_t Open = Passes.count('('), Close = Passes.count(')');
  if (!E || Open == Close)
    return E;
  return createStringError(toString(std::move(E)) + ": a '" +
                           (Open > Close ? ")" : "(") + "' is missing");
}

struct PipelineParser::Impl {
  PipelineContext C;
  explicit Impl(TargetMachine &TM) : C(TM, PipelineTuningOptions()) {}
};

PipelineParser::PipelineParser(std::unique_ptr<Impl> I) : I(std::move(I)) {}
PipelineParser::PipelineParser(PipelineParser &&) = default;
PipelineParser::~PipelineParser() = default;

Expected<PipelineParser> PipelineParser::create(TargetMachine &TM,
                                                ArrayRef<std::string> Plugins) {
  auto I = std::make_unique<Impl>(TM);
  if (Error E = I->C.loadPlugins(Plugins))
    return E;
  return PipelineParser(std::move(I));
}

Error PipelineParser::parse(StringRef Passes) {
  ModulePassManager MPM;
  return parsePipeline(I->C.PB, MPM, Passes);
}

std::string PipelineParser::print(StringRef Passes) {
  ModulePassManager MPM;
  cantFail(parsePipeline(I->C.PB, MPM, Passes));
  std::string Text;
  raw_string_ostream OS(Text);
  MPM.printPipeline(OS, [&](StringRef ClassName) {
    return I->C.PIC.getPassNameForClassName(ClassName);
  });
  return Text;
}

std::vector<std::string> PipelineParser::passNames() {
  std::string Text;
  raw_string_ostream OS(Text);
  I->C.PB.printPassNames(OS);
  // Headings are not indented, passes are: "  gvn<no-pre;pre>".
  StringSet<> Known;
  std::vector<std::string> Names;
  for (StringRef Line : split(Text, '\n'))
    if (Line.consume_front("  ") && Known.insert(Line.split('<').first).second)
      Names.push_back(Line.split('<').first.str());
  return Names;
}

Error mneme::checkPluginFiles(ArrayRef<std::string> Plugins) {
  for (const std::string &Path : Plugins)
    if (sys::fs::exists(Path) && !sys::fs::is_regular_file(Path))
      return createStringError("plugin '" + Path + "' is not a regular file");
  return Error::success();
}

Error mneme::loadPlugins(ArrayRef<std::string> Plugins) {
  for (const std::string &Path : Plugins)
    if (Error E = PassPlugin::Load(Path).takeError())
      return E;
  return Error::success();
}

Error mneme::runPipeline(Module &M, TargetMachine &TM, StringRef Passes,
                         ArrayRef<std::string> Plugins, PassGate *Gate,
                         bool VerifyEach, const SpecializeOptions &Known) {
  std::optional<OptimizationLevel> Clang = findClangLevel(Passes);
  ClangDriverOption Scope(Clang ? getClangDriverOption(M.getTargetTriple())
                                : StringRef());
  PipelineContext C(TM, getTuningOptions(Clang));
  if (Error E = C.loadPlugins(Plugins))
    return E;
  registerKnownLoads(C.PB, Known);

  StandardInstrumentations SI(M.getContext(), /*DebugLogging=*/false,
                              VerifyEach);
  SI.registerCallbacks(C.PIC, &C.MAM);
  if (Gate)
    Gate->instrument(C.PIC, M);

  // opt registers these explicitly before PassBuilder's defaults, which do not
  // know the target's triple and options.
  const Triple &TT = M.getTargetTriple();
  TargetLibraryInfoImpl TLII(TT, TM.Options.VecLib);
  C.FAM.registerPass([&] { return TargetLibraryAnalysis(TLII); });
  C.FAM.registerPass([&] { return C.PB.buildDefaultAAPipeline(); });
  C.MAM.registerPass([&] {
    return RuntimeLibraryAnalysis(
        TT, TM.Options.ExceptionModel, TM.Options.FloatABIType,
        TM.Options.EABIVersion, TM.Options.MCOptions.ABIName,
        TM.Options.VecLib);
  });
  C.MAM.registerPass([&] { return LibcallLoweringModuleAnalysis(); });
  C.PB.registerModuleAnalyses(C.MAM);
  C.PB.registerCGSCCAnalyses(C.CGAM);
  C.PB.registerFunctionAnalyses(C.FAM);
  C.PB.registerLoopAnalyses(C.LAM);
  C.PB.crossRegisterProxies(C.LAM, C.FAM, C.CGAM, C.MAM);

  ModulePassManager MPM;
  if (Error E = parsePipeline(C.PB, MPM, Passes))
    return E;
  MPM.run(M, C.MAM);

  std::string Broken;
  raw_string_ostream OS(Broken);
  if (verifyModule(M, &OS))
    return createStringError("the pipeline left invalid IR: " +
                             StringRef(Broken).rtrim());
  return Error::success();
}
