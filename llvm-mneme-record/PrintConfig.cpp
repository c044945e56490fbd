//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record --print-config=key,...: paths and flags for Makefiles and
/// configure scripts.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Compile/FindClang.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::list<std::string>
    PrintConfig("print-config", cl::CommaSeparated,
                cl::desc("Print build settings for recordable programs, one "
                         "value per line, and exit; 'help' lists the keys"),
                cl::value_desc("key,..."), cl::cat(RecordCategory));

bool mneme::isConfigWanted() { return PrintConfig.getNumOccurrences(); }

using Value = Expected<std::string>;

static std::string below(StringRef Folder, const Twine &A,
                         const Twine &B = "") {
  SmallString<128> Path(Folder);
  sys::path::append(Path, A, B);
  return std::string(Path);
}

/// Quotes \p Arg as a single shell word if necessary.
static std::string quote(StringRef Arg) {
  constexpr StringLiteral Plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
                                  "STUVWXYZ0123456789_@%+=:,./-";
  if (!Arg.empty() && Arg.find_first_not_of(Plain) == StringRef::npos)
    return Arg.str();
  std::string Quoted = "'";
  for (char C : Arg)
    Quoted += C == '\'' ? "'\\''" : std::string(1, C);
  return Quoted + "'";
}

static std::string quoteAll(ArrayRef<std::string> Args) {
  return llvm::join(map_range(Args, quote), " ");
}

static Value getBinDir(StringRef Prefix) { return below(Prefix, "bin"); }
static Value getLibDir(StringRef Prefix) { return below(Prefix, "lib"); }
static Value getIncludeDir(StringRef Prefix) {
  return below(Prefix, "include");
}
static Value getMnemeVersion(StringRef) { return getVersion().str(); }
static Value getLLVMVersion(StringRef) { return LLVM_VERSION_STRING; }

static Value getCMakeDir(StringRef Prefix) {
  return below(Prefix, "lib/cmake", "Mneme");
}

static Value getPlugin(StringRef Prefix) {
  std::string Path = below(Prefix, "lib", "MnemePass.so");
  if (!sys::fs::exists(Path))
    return createStringError("no pass at '" + Path + "'");
  return Path;
}

static Value getNvcc(StringRef Prefix) {
  return below(Prefix, "bin", "nvcc-as-clang");
}

static Value getHipcc(StringRef Prefix) {
  return below(Prefix, "bin", "hipcc-as-clang");
}

static Value getCxx(StringRef Prefix) {
  return findClang(below(Prefix, "bin"));
}

/// Returns the folder with the header: the first variable that is set, or the
/// first of the one above a program in PATH and the usual ones.
static Expected<std::optional<std::string>>
findToolkit(ArrayRef<const char *> Variables, StringRef Program,
            ArrayRef<StringRef> Usual, StringRef Header) {
  SmallVector<std::string, 4> Folders;
  auto HasHeader = [&](const std::string &Folder) {
    return sys::fs::exists(below(Folder, "include", Header));
  };
  for (const char *Variable : Variables) {
    std::optional<std::string> Folder = sys::Process::GetEnv(Variable);
    if (!Folder || Folder->empty())
      continue;
    if (HasHeader(*Folder))
      return Folder;
    return createStringError(Twine(Variable) + ": no include/" + Header +
                             " in '" + *Folder + "'");
  }
  if (ErrorOr<std::string> Path = sys::findProgramByName(Program))
    Folders.push_back(
        sys::path::parent_path(sys::path::parent_path(*Path)).str());
  for (StringRef Folder : Usual)
    Folders.push_back(Folder.str());
  for (const std::string &Folder : Folders)
    if (HasHeader(Folder))
      return Folder;
  return std::nullopt;
}

static Value getCudaDir(StringRef) {
  Expected<std::optional<std::string>> Folder =
      findToolkit({"CUDA_HOME", "CUDA_PATH"}, "ptxas", {"/usr/local/cuda"},
                  "cuda_runtime.h");
  if (!Folder)
    return Folder.takeError();
  if (*Folder)
    return **Folder;
  return createStringError("no CUDA toolkit: set CUDA_HOME to one");
}

static Value getRocmDir(StringRef) {
  Expected<std::optional<std::string>> Folder =
      findToolkit({"ROCM_PATH", "HIP_PATH"}, "hipconfig", {"/opt/rocm", "/usr"},
                  "hip/hip_runtime.h");
  if (!Folder)
    return Folder.takeError();
  if (*Folder)
    return **Folder;
  return createStringError(
      "no ROCm with HIP's headers: install it (in Debian: libamdhip64-dev and "
      "rocm-device-libs), or set ROCM_PATH");
}

static Value getCxxFlags(StringRef Prefix) {
  Value Plugin = getPlugin(Prefix);
  if (!Plugin)
    return Plugin.takeError();
  // ccache hashes the file given with -fplugin, but not the file given with
  // -fpass-plugin. -fplugin has no other effect.
  return quoteAll({"-fplugin=" + *Plugin, "-fpass-plugin=" + *Plugin,
                   "-I" + below(Prefix, "include")});
}

static Value getCudaFlags(StringRef Prefix) {
  Value Cuda = getCudaDir(Prefix);
  if (!Cuda)
    return Cuda.takeError();
  Value Cxx = getCxxFlags(Prefix);
  if (!Cxx)
    return Cxx.takeError();
  std::vector<std::string> Flags = {"--cuda-path=" + *Cuda,
                                    // Clang warns about each new toolkit.
                                    "-Wno-unknown-cuda-version"};
  // Location of CUB and Thrust since CUDA 13.
  std::string CCCL = below(*Cuda, "include", "cccl");
  if (sys::fs::is_directory(CCCL))
    Flags.insert(Flags.end(), {"-isystem", CCCL});
  return quoteAll(Flags) + " " + *Cxx;
}

static Value getLdFlags(StringRef Prefix) {
  Value Cuda = getCudaDir(Prefix);
  if (!Cuda)
    return Cuda.takeError();
  std::string Lib = below(*Cuda, "lib64");
  return quoteAll({"-L" + Lib, "-Wl,-rpath," + Lib, "-lcudart"});
}

namespace {
struct ConfigKey {
  StringLiteral Name;
  StringLiteral Description;
  Value (*Get)(StringRef Prefix);
};
} // namespace

static constexpr ConfigKey Keys[] = {
#define CONFIG_KEY(NAME, DESCRIPTION, GET) {NAME, DESCRIPTION, GET},
#include "PrintConfig.def"
};

static void printKeys() {
  for (const ConfigKey &Key : Keys)
    outs() << left_justify(Key.Name, 14) << Key.Description << '\n';
}

Expected<int> mneme::runPrintConfig(ToolArgs Args) {
  std::string Prefix = getInstallPrefix(Args.front());
  SmallVector<std::string> Values;
  for (const std::string &Name : PrintConfig) {
    if (Name == "help") {
      printKeys();
      return 0;
    }
    const ConfigKey *Key =
        find_if(Keys, [&](const ConfigKey &K) { return K.Name == Name; });
    if (Key == std::end(Keys))
      return createStringError(
          "--print-config: no '" + Name + "', only " +
          llvm::join(map_range(Keys, [](const ConfigKey &K) { return K.Name; }),
                     ", "));
    Value V = Key->Get(Prefix);
    if (!V)
      return createStringError("--print-config=" + Name + ": " +
                               toString(V.takeError()));
    Values.push_back(*V);
  }
  // Print nothing on error: a partial answer would end up in a command line.
  for (const std::string &V : Values)
    outs() << V << '\n';
  return 0;
}
