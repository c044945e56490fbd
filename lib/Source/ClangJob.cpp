//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClangJob.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Process/Jail.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

Error ClangJob::open() {
  if (!Folder.path().empty())
    return Error::success();
  if (Error E = PrivateFolder::createTemporary().moveInto(Folder))
    return E;
  return PrivateFolder::createTemporary().moveInto(Output);
}

Error ClangJob::add(StringRef Name, StringRef Contents) {
  if (Error E = open())
    return E;
  std::string Path = Folder.pathOf(formatv("file{0}", NextFile++).str());
  map(Name, Path);
  return writeFileAtomically(Path, Contents, /*Sync=*/false);
}

/// Returns a file system of the mapped files only, in LLVM's format.
std::string ClangJob::makeOverlay() const {
  json::Array Roots;
  for (const MappedFile &F : Files)
    Roots.push_back(json::Object{
        {"type", "file"}, {"name", F.Name}, {"external-contents", F.Path}});
  return formatv("{0}",
                 json::Value(json::Object{{"version", 0},
                                          {"case-sensitive", true},
                                          {"use-external-names", false},
                                          {"redirecting-with", "redirect-only"},
                                          {"roots", std::move(Roots)}}))
      .str();
}

Expected<CompilerRun> ClangJob::run(ArrayRef<std::string> Action,
                                    StringRef Main) {
  if (Error E = open())
    return std::move(E);
  std::string Overlay = Folder.pathOf("overlay.yaml");
  if (Error E = writeFileAtomically(Overlay, makeOverlay(), /*Sync=*/false))
    return std::move(E);
  JailPaths Paths;
  SmallString<128> Real;
  if (!sys::fs::real_path(Clang, Real))
    // The program's folder and the libraries beside it.
    Paths.Readable.push_back(
        sys::path::parent_path(sys::path::parent_path(Real)).str());
  Paths.Readable.push_back(Folder.path());
  for (const MappedFile &F : Files)
    Paths.Readable.push_back(F.Path);
  Paths.Writable.push_back(Output.path());
  Expected<Jail> J = Jail::create(Paths);
  if (!J)
    return J.takeError();

  std::vector<std::string> Words = {Clang, "-cc1"};
  append_range(Words, Info.Options);
  for (const LinkedBitcode &B : Info.Bitcode)
    Words.insert(Words.end(), {"-mlink-builtin-bitcode", B.Path});
  Words.insert(Words.end(),
               {"-disable-free", "-ivfsoverlay", Overlay,
                "-fno-diagnostics-use-presumed-location",
                "-fdiagnostics-parseable-fixits", "-ferror-limit", "20",
                formatv("-ftemplate-depth={0}", Limits.TemplateDepth).str(),
                formatv("-fconstexpr-steps={0}", Limits.ConstexprSteps).str(),
                // Otherwise, the IR would name the folder.
                "-fdebug-compilation-dir=."});
  append_range(Words, Action);
  Words.insert(Words.end(), {"-o", outputPath(), Main.str()});
  CompilerSetup Setup;
  Setup.Directory = Output.path();
  Setup.Confined = &*J;
  // Other processes must not decide what compiles. A compiler that waits ends,
  // too.
  constexpr double Busy = 6;
  Setup.Limits.Seconds = Limits.Seconds * Busy;
  Setup.Limits.ProcessorSeconds = std::ceil(Limits.Seconds);
  Setup.Limits.Bytes = Limits.Bytes;
  Setup.Limits.FileBytes = Limits.OutputBytes;
  return runCompiler(Clang, Words, Setup);
}

//===----------------------------------------------------------------------===//
// Extraction
//===----------------------------------------------------------------------===//

/// Returns the kernel of \p Info in \p M, or the one that has the same name but
/// for a number of the compiler.
static Function *findRecordedKernel(Module &M, StringRef Name) {
  if (Function *F = M.getFunction(Name); F && isKernel(*F))
    return F;
  for (Function &F : M)
    if (isKernel(F) && withoutCompileId(F.getName()) == withoutCompileId(Name))
      return &F;
  return nullptr;
}

/// Also renames the function's comdat.
static void rename(Function &F, StringRef Name) {
  if (F.getName() == Name)
    return;
  const Comdat *Old = F.getComdat();
  if (Old && Old->getName() == F.getName()) {
    Comdat *New = F.getParent()->getOrInsertComdat(Name);
    New->setSelectionKind(Old->getSelectionKind());
    F.setComdat(New);
  }
  F.setName(Name);
}

static std::vector<FunctionPlace> listFunctions(const Module &M,
                                                StringRef Kernel) {
  std::vector<FunctionPlace> Places;
  for (const Function &F : M) {
    const DISubprogram *S = F.getSubprogram();
    if (!S || F.isDeclaration())
      continue;
    FunctionPlace P = {S->getName().split('<').first.str(),
                       S->getFilename().str(), S->getLine()};
    Places.insert(F.getName() == Kernel ? Places.begin() : Places.end(),
                  std::move(P));
  }
  return Places;
}

static OptimizationLevel getLevel(StringRef OptLevel) {
  return StringSwitch<OptimizationLevel>(OptLevel)
      .Case("0", OptimizationLevel::O0)
      .Case("1", OptimizationLevel::O1)
      .Case("3", OptimizationLevel::O3)
      .Case("s", OptimizationLevel::Os)
      .Case("z", OptimizationLevel::Oz)
      .Default(OptimizationLevel::O2);
}

/// Runs the passes that the target adds to the start of each pipeline. In an
/// application's compilation they run before Mneme's.
static Error runTargetsFirstPasses(Module &M, const SourceInfo &Info) {
  initializeTargets();
  std::string Problem;
  const Target *T = TargetRegistry::lookupTarget(M.getTargetTriple(), Problem);
  if (!T)
    return createStringError(Problem);
  StringRef Features;
  for (const Function &F : M)
    if (!F.isDeclaration() && F.hasFnAttribute("target-features")) {
      Features = F.getFnAttribute("target-features").getValueAsString();
      break;
    }
  std::unique_ptr<TargetMachine> TM(T->createTargetMachine(
      M.getTargetTriple(), Info.Arch, Features, TargetOptions(), Reloc::PIC_));
  runPasses(M, TM.get(), [&](PassBuilder &PB, ModulePassManager &MPM) {
    PB.invokePipelineStartEPCallbacks(MPM, getLevel(Info.OptLevel));
  });
  return Error::success();
}

/// Runs in a child. The result is a line of JSON and the bitcode.
static Expected<std::string> extract(MemoryBufferRef Bytes,
                                     const SourceInfo &Info) {
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> M = parseBitcodeFile(Bytes, Context);
  if (!M)
    return M.takeError();
  if (verifyModule(**M))
    return createStringError("invalid IR");
  Function *F = findRecordedKernel(**M, Info.Kernel);
  if (!F)
    return createStringError("no kernel '" + demangleSymbol(Info.Kernel) +
                             "' (symbol '" + Info.Kernel + "')");
  rename(*F, Info.Kernel);
  if (Error E = runTargetsFirstPasses(**M, Info))
    return std::move(E);
  removeJitAnnotations(**M);
  CaptureOptions Capture;
  Capture.OptLevel = Info.OptLevel.empty() ? '2' : Info.OptLevel.front();
  Capture.IsRDC = Info.IsRDC;
  SmallVector<char, 0> Captured = captureBitcode(**M, Capture);
  Payload Unit;
  Unit.Triple = (*M)->getTargetTriple().str();
  Unit.Arch = Info.Arch;
  Unit.OptLevel = Capture.OptLevel;
  Unit.IsRDC = Info.IsRDC;
  Unit.Bitcode = toStringRef(Captured).str();
  LLVMContext Fresh;
  Expected<DeviceLink> Link = DeviceLink::create({std::move(Unit)}, Fresh);
  if (!Link)
    return Link.takeError();
  Expected<std::unique_ptr<Module>> Kernel = Link->extract(0, Info.Kernel);
  if (!Kernel)
    return Kernel.takeError();
  // Nothing else is compiled.
  if (Error E = checkComplete(**Kernel))
    return std::move(E);
  json::Array Functions;
  for (const FunctionPlace &P : listFunctions(**Kernel, Info.Kernel))
    Functions.push_back(json::Array{P.Name, P.File, P.Line});
  json::Object Facts{{"hash", computeStaticHash(**Kernel)},
                     {"functions", std::move(Functions)}};
  return formatv("{0}\n", json::Value(std::move(Facts))).str() +
         toStringRef(writeExactBitcode(**Kernel)).str();
}

Expected<ExtractedKernel> mneme::extractFromUnit(StringRef Path,
                                                 const SourceInfo &Info) {
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path, MaxIRFile);
  if (!File)
    return File.takeError();
  ChildLimits Limits;
  Limits.Seconds = DefaultIRSeconds;
  Limits.Bytes = getIRMemoryLimit((*File)->getBufferSize());
  Expected<std::string> Text = runInChild(
      "the reader of the compiled source",
      [&] { return extract((*File)->getMemBufferRef(), Info); }, Limits);
  if (!Text)
    return Text.takeError();
  auto [Line, Bitcode] = StringRef(*Text).split('\n');
  Expected<json::Value> Facts = json::parse(Line);
  if (!Facts)
    return Facts.takeError();
  const json::Object &O = *Facts->getAsObject();
  ExtractedKernel K;
  K.Bitcode.assign(Bitcode.begin(), Bitcode.end());
  K.StaticHash = O.getString("hash")->str();
  for (const json::Value &V : *O.getArray("functions")) {
    const json::Array &P = *V.getAsArray();
    K.Functions.push_back({P[0].getAsString()->str(), P[1].getAsString()->str(),
                           unsigned(*P[2].getAsInteger())});
  }
  return std::move(K);
}
