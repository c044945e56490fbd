//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file runs the external programs that turn LLVM's output into GPU images,
// and images into text.
//
//===----------------------------------------------------------------------===//

#include "PTXCompilerLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/FindCuda.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/Compile/PtxasOptions.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace llvm::mneme;

static Expected<std::string> findInToolkit(StringRef Name, StringRef CudaPath) {
  auto In = [&](StringRef Root) -> std::optional<std::string> {
    SmallString<128> Path(Root);
    sys::path::append(Path, "bin", Name);
    if (Root.empty() || !sys::fs::can_execute(Path))
      return std::nullopt;
    return std::string(Path);
  };
  if (!CudaPath.empty()) {
    if (auto Path = In(CudaPath))
      return *Path;
    return createStringError(
        formatv("no bin/{0} in '{1}'", Name, CudaPath).str());
  }
  for (const char *Variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> Root = sys::Process::GetEnv(Variable))
      if (auto Path = In(*Root))
        return *Path;
  if (auto Path = In(findCudaOfPip()))
    return *Path;
  if (ErrorOr<std::string> Path = sys::findProgramByName(Name))
    return *Path;
  if (auto Path = In("/usr/local/cuda"))
    return *Path;
  return createStringError(
      formatv("no {0}: give --cuda-path, set CUDA_HOME, or put it in PATH",
              Name)
          .str());
}

Expected<std::string> mneme::findPtxas(StringRef CudaPath) {
  return findInToolkit("ptxas", CudaPath);
}

Expected<std::string> mneme::findNvdisasm(StringRef CudaPath) {
  return findInToolkit("nvdisasm", CudaPath);
}

std::vector<std::string> mneme::makePtxasOptions(const AssembleOptions &O) {
  std::vector<std::string> Args = {"-m64"};
  if (O.Debug && O.Level == 0)
    Args.insert(Args.end(), {"-g", "--dont-merge-basicblocks",
                             "--return-at-end"});
  else
    Args.push_back("-O" + std::to_string(O.Level));
  if (O.Debug && O.Level != 0)
    Args.push_back("-lineinfo");
  Args.push_back("-v");
  Args.push_back("--gpu-name=" + O.Arch);
  Args.insert(Args.end(), O.Extra.begin(), O.Extra.end());
  return Args;
}

static Expected<SmallVector<char, 0>> runPtxas(StringRef PTX,
                                               const AssembleOptions &O,
                                               StringRef Ptxas,
                                               std::string &Log) {
  ScratchFile In, Out;
  if (Error E = ScratchFile::create("ptx", In, PTX))
    return std::move(E);
  if (Error E = ScratchFile::create("cubin", Out))
    return std::move(E);

  std::vector<std::string> Own = makePtxasOptions(O);
  SmallVector<StringRef, 16> Args = {Ptxas};
  Args.append(Own.begin(), Own.end());
  ScratchFile Controls;
  if (!O.Controls.empty()) {
    if (Error E =
            ScratchFile::create("acf", Controls, getControlsBytes(O.Controls)))
      return std::move(E);
    // ptxas writes the name into the code, which must not differ by the name of
    // a scratch file.
    Args.append({"--apply-controls", "/dev/stdin"});
  }
  Args.append({"--output-file", Out.Path, In.Path});
  if (Error E = runProgram(Args, Log, O.ToolSeconds, Controls.Path)) {
    // ptxas has one message for a damaged file and one for another version.
    if (!StringRef(Log).contains("Invalid compiler controls file"))
      return std::move(E);
    return createStringError(toString(std::move(E)) +
                             ": it is damaged, or was made for another "
                             "version of ptxas");
  }
  return Out.read();
}

/// Returns the path of the ptxas to run, or std::nullopt for the library.
static Expected<std::optional<std::string>>
choosePTXCompiler(PTXCompiler Compiler, StringRef CudaPath, StringRef Named) {
  if (!Named.empty() && Compiler == PTXCompiler::Library)
    return createStringError("--ptxas and --ptx-compiler=nvptxcompiler "
                             "contradict each other");
  if (!Named.empty()) {
    Expected<ToolInfo> Tool = identifyTool(Named, {ToolKind::Ptxas}, "--ptxas");
    if (!Tool)
      return Tool.takeError();
    return std::move(Tool->Path);
  }
  if (Compiler == PTXCompiler::Library) {
    if (hasPTXCompilerLibrary())
      return std::nullopt;
    return createStringError("nvPTXCompiler is not built in: its static "
                             "library was missing at build time");
  }
  Expected<std::string> Ptxas = findPtxas(CudaPath);
  if (Ptxas)
    return *Ptxas;
  // An explicitly given toolkit must contain ptxas.
  if (Compiler == PTXCompiler::Ptxas || !CudaPath.empty() ||
      !hasPTXCompilerLibrary())
    return Ptxas.takeError();
  consumeError(Ptxas.takeError());
  return std::nullopt;
}

/// Returns an error unless \p Ptxas, or the library if unset, takes controls
/// files.
static Error checkControls(Expected<std::optional<std::string>> Ptxas) {
  auto Refuse = [](const Twine &Found) {
    return createStringError(
        formatv("--ptxas-controls needs ptxas of CUDA {0}.{1} or later, but "
                "{2}: name one with --ptxas, for example that of the Python "
                "package nvidia-cuda-nvcc",
                FirstControlsMajor, FirstControlsMinor, Found.str())
            .str());
  };
  if (!Ptxas)
    return Refuse("found " + toString(Ptxas.takeError()));
  if (!*Ptxas)
    return Refuse("nvPTXCompiler was chosen");
  Expected<ToolInfo> Tool = identifyTool(**Ptxas);
  if (!Tool)
    return Tool.takeError();
  unsigned Minor = 0;
  StringRef(Tool->Version).split('.').second.consumeInteger(10, Minor);
  // A ptxas of unknown version says itself that it lacks the option.
  if (!Tool->Major || std::pair(Tool->Major, Minor) >=
                          std::pair(FirstControlsMajor, FirstControlsMinor))
    return Error::success();
  return Refuse("'" + **Ptxas + "' is of " + Tool->Version);
}

Error mneme::checkPTXCompiler(PTXCompiler Compiler, StringRef CudaPath,
                              StringRef Ptxas, bool NeedsControls) {
  Expected<std::optional<std::string>> Chosen =
      choosePTXCompiler(Compiler, CudaPath, Ptxas);
  return NeedsControls ? checkControls(std::move(Chosen)) : Chosen.takeError();
}

Expected<SmallVector<char, 0>>
mneme::assemblePTX(StringRef PTX, const AssembleOptions &O, std::string &Log) {
  Expected<std::optional<std::string>> Ptxas =
      choosePTXCompiler(O.Compiler, O.CudaPath, O.Ptxas);
  if (!Ptxas)
    return Ptxas.takeError();
  if (!O.Controls.empty())
    if (Error E = checkControls(*Ptxas))
      return std::move(E);
  if (*Ptxas)
    return runPtxas(PTX, O, **Ptxas, Log);
  return runPTXCompilerLibrary(PTX, makePtxasOptions(O), Log);
}

Expected<std::string> mneme::disassembleCubin(StringRef Image,
                                              StringRef CudaPath) {
  Expected<std::string> Program = findNvdisasm(CudaPath);
  if (!Program)
    return Program.takeError();
  ScratchFile In;
  if (Error E = ScratchFile::create("cubin", In, Image))
    return std::move(E);
  StringRef Args[] = {*Program, "--print-code", In.Path};
  std::string Text;
  if (Error E = runProgram(Args, Text))
    return std::move(E);
  return std::move(Text);
}

Expected<std::string> mneme::disassembleObject(StringRef Object) {
  ErrorOr<std::string> Program =
      sys::findProgramByName("llvm-objdump-" + utostr(LLVM_VERSION_MAJOR));
  if (!Program)
    Program = sys::findProgramByName("llvm-objdump");
  if (!Program)
    return createStringError("no llvm-objdump in PATH");
  ScratchFile In;
  if (Error E = ScratchFile::create("o", In, Object))
    return std::move(E);
  StringRef Args[] = {*Program, "-d", "-r", In.Path};
  std::string Text;
  if (Error E = runProgram(Args, Text))
    return std::move(E);
  // Drop the second line: it names a file that no longer exists.
  return StringRef(Text).ltrim().split('\n').second.str();
}

/// Returns true if \p Lld is of this LLVM: older ones reject newer code
/// objects.
static bool isSameLld(StringRef Lld) {
  constexpr double Seconds = 30;
  std::string Text;
  Expected<std::optional<int>> Code =
      askProgram({Lld, "--version"}, Text, Seconds);
  if (!Code) {
    consumeError(Code.takeError());
    return false;
  }
  return *Code == 0 &&
         StringRef(Text).contains("LLD " + utostr(LLVM_VERSION_MAJOR) + ".");
}

std::optional<std::string> mneme::findLld() {
  const StringRef Folders[] = {MNEME_LLVM_TOOLS_DIR};
  if (ErrorOr<std::string> Beside = sys::findProgramByName("ld.lld", Folders))
    return *Beside;
  if (ErrorOr<std::string> Named =
          sys::findProgramByName("ld.lld-" + utostr(LLVM_VERSION_MAJOR)))
    return *Named;
  static const std::optional<std::string> Other =
      []() -> std::optional<std::string> {
    ErrorOr<std::string> Path = sys::findProgramByName("ld.lld");
    if (Path && isSameLld(*Path))
      return *Path;
    return std::nullopt;
  }();
  return Other;
}

Expected<std::optional<SmallVector<char, 0>>>
mneme::linkAMDGPU(ArrayRef<char> Object) {
  std::optional<std::string> Lld = findLld();
  if (!Lld)
    return std::nullopt;
  ScratchFile In, Out;
  if (Error E = ScratchFile::create("o", In, toStringRef(Object)))
    return std::move(E);
  if (Error E = ScratchFile::create("hsaco", Out))
    return std::move(E);
  std::string Log;
  // As clang's driver calls it.
  StringRef Args[] = {*Lld,      "-m",    "elf64_amdgpu", "--no-undefined",
                      "-shared", In.Path, "-o",           Out.Path};
  if (Error E = runProgram(Args, Log))
    return std::move(E);
  Expected<SmallVector<char, 0>> Image = Out.read();
  if (!Image)
    return Image.takeError();
  return std::move(*Image);
}
