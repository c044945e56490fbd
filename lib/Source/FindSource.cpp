//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/FindSource.h"
#include "ClangJob.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/FindClang.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// Makes a SourceUnit of one unit, if it is the recorded kernel's.
class SourceProof {
public:
  SourceProof(const RecordedKernel &K, StringRef ToolFolder)
      : K(K), ToolFolder(ToolFolder) {}

  Expected<SourceUnit> prove(EmbeddedSource Unit);

private:
  Error describe(const EmbeddedSource &Unit);
  Expected<ExtractedKernel> compileWhole(const EmbeddedSource &Unit) const;
  /// Finds the functions of the kernel that are in its file.
  Error findBlocks(const ExtractedKernel &Kernel, StringRef Original);
  /// Returns the static hash of an unedited kernel.cu with Info; empty if it
  /// does not compile.
  Expected<std::string> hashUnedited(const EmbeddedSource &Unit,
                                     bool UsePrefix) const;
  Error chooseForm(const EmbeddedSource &Unit);

  const RecordedKernel &K;
  StringRef ToolFolder;
  SourceInfo Info;
  std::string Clang;
  FrontEndLimits Limits;
};
} // namespace

Error SourceProof::describe(const EmbeddedSource &Unit) {
  Info.Kernel = K.KernelName;
  Info.StaticHash = K.StaticHash;
  Info.Arch = K.Arch;
  Info.OptLevel = K.OptLevel;
  Info.Options = selectOptions(Unit.Words);
  Info.IsRDC = is_contained(Unit.Words, "-fgpu-rdc");
  Info.Bitcode.clear();
  for (const std::string &Path : getLinkedBitcode(Unit.Words)) {
    Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path);
    if (!File)
      return File.takeError();
    Info.Bitcode.push_back(
        {Path, toHexString(digest128((*File)->getBuffer()))});
  }
  StringRef Toolchain = K.Toolchain;
  Toolchain.consume_front("clang ");
  Info.Compiler = Toolchain.str();
  return findClang(ToolFolder, Info.Compiler).moveInto(Clang);
}

Expected<ExtractedKernel>
SourceProof::compileWhole(const EmbeddedSource &Unit) const {
  constexpr StringLiteral Name = "/mneme/unit.cu";
  FrontEndLimits Own = Limits;
  Own.OutputBytes = 0; // It may have other, larger kernels.
  ClangJob Job(Info, Clang, Own);
  if (Error E = Job.add(Name, Unit.Rewritten))
    return std::move(E);
  for (const LinkedBitcode &B : Info.Bitcode)
    Job.map(B.Path, B.Path);
  Expected<CompilerRun> Run =
      Job.run({"-emit-llvm-bc", "-disable-llvm-passes",
               "-debug-info-kind=line-tables-only", "-dwarf-version=5"},
              Name);
  if (!Run)
    return Run.takeError();
  if (!Run->succeeded())
    return createStringError("does not compile as one text: " +
                             Run->describeFailure());
  return extractFromUnit(Job.outputPath(), Info);
}

Error SourceProof::findBlocks(const ExtractedKernel &Kernel,
                              StringRef Original) {
  std::vector<SourceToken> Tokens = lexSource(Original);
  std::vector<FunctionExtent> Functions = findFunctions(Original, Tokens);
  LineTable Lines(Original);
  Info.Blocks.clear();
  for (const FunctionPlace &Place : Kernel.Functions) {
    if (Place.File != Info.File)
      continue;
    auto Contains = [&](const FunctionExtent &F) {
      return Lines.lineOf(F.Begin) <= Place.Line &&
             Place.Line <= Lines.lineOf(F.End - 1);
    };
    auto Found = find_if(Functions, [&](const FunctionExtent &F) {
      return F.Name == Place.Name && Contains(F);
    });
    // A macro may make the name.
    bool IsKernel = &Place == &Kernel.Functions.front();
    if (Found == Functions.end() && IsKernel)
      Found = find_if(Functions, Contains);
    if (Found != Functions.end())
      Info.Blocks.push_back({Place.Name, Lines.lineOf(Found->Begin),
                             Lines.lineOf(Found->End - 1)});
    else if (IsKernel)
      return createStringError("cannot find the definition of the kernel at "
                               "line " +
                               Twine(Place.Line) + " of '" + Info.File + "'");
  }
  llvm::sort(Info.Blocks, [](const SourceBlock &A, const SourceBlock &B) {
    return A.First < B.First;
  });
  // Functions that share a line share a block, as do instances of a template.
  std::vector<SourceBlock> Merged;
  for (SourceBlock &B : Info.Blocks)
    if (!Merged.empty() && B.First <= Merged.back().Last)
      Merged.back().Last = std::max(Merged.back().Last, B.Last);
    else
      Merged.push_back(std::move(B));
  Info.Blocks = std::move(Merged);
  return Error::success();
}

Expected<std::string> SourceProof::hashUnedited(const EmbeddedSource &Unit,
                                                bool UsePrefix) const {
  Expected<SourceUnit> Made = SourceUnit::create(Info, Unit.Rewritten);
  if (!Made)
    return Made.takeError();
  auto Shared = std::make_shared<SourceUnit>(std::move(*Made));
  Expected<std::unique_ptr<FrontEnd>> F = FrontEnd::create(Shared, ToolFolder);
  if (!F)
    return F.takeError();
  if (UsePrefix)
    if (Error E = (*F)->preparePrefix()) {
      consumeError(std::move(E));
      return "";
    }
  Expected<FrontEndResult> Code = (*F)->compile(Shared->marked());
  if (Code)
    return Code->StaticHash;
  // A text without its end may not compile, or lack the instance of a template.
  consumeError(Code.takeError());
  return "";
}

/// Determines what the kernel depends on, by trying.
Error SourceProof::chooseForm(const EmbeddedSource &Unit) {
  for (bool Tail : {false, true})
    for (bool Prefix : {true, false}) {
      Info.NeedsTail = Tail;
      Info.HasPrefix = Prefix;
      Expected<std::string> Hash = hashUnedited(Unit, Prefix);
      if (!Hash)
        return Hash.takeError();
      if (*Hash == K.StaticHash)
        return Error::success();
    }
  return createStringError("is the recorded kernel only as a whole, not with "
                           "'" +
                           Info.File + "' as a separate file");
}

Expected<SourceUnit> SourceProof::prove(EmbeddedSource Unit) {
  if (Error E = describe(Unit))
    return std::move(E);
  Expected<ExtractedKernel> Kernel = compileWhole(Unit);
  if (!Kernel)
    return Kernel.takeError();
  if (Kernel->StaticHash != K.StaticHash)
    return createStringError("has static hash " + Kernel->StaticHash +
                             ", not the recorded " + K.StaticHash +
                             ": the source or an option has changed since");
  if (Kernel->Functions.empty())
    return createStringError("the compiler wrote no line numbers");
  Info.File = Kernel->Functions.front().File;
  Expected<UnitText> Text = UnitText::parse(Unit.Rewritten, Info.File);
  if (!Text)
    return Text.takeError();
  if (Error E = findBlocks(*Kernel, Text->original()))
    return std::move(E);
  if (Error E = chooseForm(Unit))
    return std::move(E);
  return SourceUnit::create(std::move(Info), std::move(Unit.Rewritten));
}

Expected<SourceUnit> mneme::findSource(const RecordedKernel &K,
                                       ArrayRef<EmbeddedSource> Units,
                                       StringRef ToolFolder) {
  std::string Reasons;
  for (const EmbeddedSource &Unit : Units) {
    Expected<SourceUnit> Found = SourceProof(K, ToolFolder).prove(Unit);
    if (Found)
      return Found;
    Reasons += "\n  '" + Unit.Input + "': " + toString(Found.takeError());
  }
  return createStringError("found no source of kernel '" + K.displayName() +
                           "' for " + K.Arch +
                           (Reasons.empty() ? "" : ":" + Reasons));
}

/// Runs the preprocessor of a job.
static Expected<EmbeddedSource> rewrite(const DeviceJob &Job) {
  PrivateFolder Folder;
  if (Error E = PrivateFolder::createTemporary().moveInto(Folder))
    return std::move(E);
  std::string Output = Folder.pathOf("unit.cu");
  std::vector<std::string> Words = {Job.Program};
  append_range(Words, Job.Words);
  Words.insert(Words.end(),
               {"-E", "-frewrite-includes", "-o", Output, Job.Input});
  Expected<CompilerRun> Run = runCompiler(Job.Program, Words, {Job.Directory});
  if (!Run)
    return Run.takeError();
  if (!Run->succeeded())
    return createStringError(Run->describeFailure());
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Output);
  if (!Text)
    return Text.takeError();
  return EmbeddedSource{Job.Words, Job.Input, (*Text)->getBuffer().str()};
}

/// Returns true if a command's source has the word \p Name. A kernel may also
/// be in a file that the source includes.
static bool mentions(const CompileCommand &C, StringRef Name) {
  SmallString<128> Path(C.File);
  sys::path::make_absolute(C.Directory, Path);
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Path);
  if (File)
    return (*File)->getBuffer().contains(Name);
  consumeError(File.takeError());
  return false;
}

Expected<SourceUnit> mneme::findSource(const RecordedKernel &K,
                                       ArrayRef<CompileCommand> Commands,
                                       StringRef ToolFolder) {
  // "void ns::kernel<float>(float*)" is written as "kernel".
  std::string Demangled = demangleSymbol(K.KernelName);
  StringRef Name = StringRef(Demangled).split('(').first.split('<').first;
  Name = Name.substr(Name.find_last_of(": ") + 1);
  std::vector<const CompileCommand *> Sorted, Others;
  for (const CompileCommand &C : Commands)
    (mentions(C, Name) ? Sorted : Others).push_back(&C);
  append_range(Sorted, Others);
  std::string Reasons;
  for (const CompileCommand *C : Sorted) {
    Expected<std::vector<DeviceJob>> Jobs = findDeviceJobs(*C, ToolFolder);
    if (!Jobs) {
      Reasons += "\n  " + toString(Jobs.takeError());
      continue;
    }
    for (const DeviceJob &Job : *Jobs) {
      if (Job.valueOf("-target-cpu") != K.Arch)
        continue;
      Expected<EmbeddedSource> Unit = rewrite(Job);
      Expected<SourceUnit> Found =
          Unit ? SourceProof(K, ToolFolder).prove(std::move(*Unit))
               : Expected<SourceUnit>(Unit.takeError());
      if (Found)
        return Found;
      Reasons += "\n  '" + Job.Input + "': " + toString(Found.takeError());
    }
  }
  return createStringError(
      "found no source of kernel '" + K.displayName() + "' for " + K.Arch +
      (Reasons.empty() ? ": no command compiles CUDA or HIP for it"
                       : ":" + Reasons));
}
