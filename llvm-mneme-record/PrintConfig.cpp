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
#include "llvm/Mneme/Compile/FindCuda.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/VersionTuple.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::list<std::string>
    PrintConfig("print-config", cl::CommaSeparated,
                cl::desc("Print build settings for recordable programs, one "
                         "value per line, and exit; 'help' lists the keys"),
                cl::value_desc("key,..."), cl::cat(RecordCategory));

static cl::opt<std::string>
    Clang("clang",
          cl::desc("For --print-config: the clang++ that compiles (default: "
                   "$MNEME_CLANG, that of the tools' LLVM, or another that has "
                   "a pass)"),
          cl::value_desc("program"), cl::cat(RecordCategory));

bool mneme::isConfigWanted() { return PrintConfig.getNumOccurrences(); }

using Value = Expected<std::string>;

namespace {
/// The clang++ that the printed settings are for.
struct Compiler {
  std::string Path;     ///< Empty: of this tool's LLVM, wherever it is.
  VersionTuple Version; ///< 22.1.8
  /// Loads plugins of the LLVM that this tool uses.
  bool isOwn() const {
    return Version.getMajor() == LLVM_VERSION_MAJOR &&
           Version.getMinor() == LLVM_VERSION_MINOR;
  }
};

/// What the keys depend on.
struct Setup {
  std::string Prefix; ///< Of the build or install tree.
  Compiler Clang;
};
} // namespace

static std::string below(StringRef Folder, const Twine &A,
                         const Twine &B = "") {
  SmallString<128> Path(Folder);
  sys::path::append(Path, A, B);
  return std::string(Path);
}

/// Returns the newest compiler in PATH among those of other LLVMs that have a
/// pass.
static std::optional<Compiler> findOtherCompiler(StringRef Prefix) {
  std::optional<Compiler> Newest;
  std::error_code Error;
  for (sys::fs::directory_iterator File(below(Prefix, "lib"), Error), End;
       !Error && File != End; File.increment(Error)) {
    StringRef Major = sys::path::stem(File->path());
    if (!Major.consume_front("MnemePass-"))
      continue;
    for (const std::string &Name :
         {"clang++-" + Major.str(), std::string("clang++")}) {
      ErrorOr<std::string> Path = sys::findProgramByName(Name);
      Compiler C;
      if (!Path || C.Version.tryParse(askClangVersion(*Path)) ||
          Twine(C.Version.getMajor()).str() != Major)
        continue;
      C.Path = *Path;
      if (!Newest || Newest->Version < C.Version)
        Newest = C;
      break;
    }
  }
  return Newest;
}

static Expected<Compiler> findCompiler(StringRef Prefix) {
  std::string Wanted =
      Clang.empty() ? sys::Process::GetEnv("MNEME_CLANG").value_or("") : Clang;
  if (Wanted.empty()) {
    Compiler Own{"", VersionTuple(LLVM_VERSION_MAJOR, LLVM_VERSION_MINOR,
                                  LLVM_VERSION_PATCH)};
    Error Missing = findClang(below(Prefix, "bin")).moveInto(Own.Path);
    // getCxx() says so if it is asked, and there is no other.
    if (errorToBool(std::move(Missing)))
      return findOtherCompiler(Prefix).value_or(Own);
    return Own;
  }
  ErrorOr<std::string> Path = sys::findProgramByName(Wanted);
  if (!Path || !sys::fs::can_execute(*Path))
    return createStringError("no program '" + Wanted + "'" +
                             (Clang.empty() ? " (MNEME_CLANG)" : ""));
  Compiler C{*Path, {}};
  std::string Version = askClangVersion(C.Path);
  if (C.Version.tryParse(Version))
    return createStringError("'" + Wanted + "' is no clang");
  return C;
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

static Value getBinDir(const Setup &S) { return below(S.Prefix, "bin"); }
static Value getLibDir(const Setup &S) { return below(S.Prefix, "lib"); }
static Value getIncludeDir(const Setup &S) {
  return below(S.Prefix, "include");
}
static Value getMnemeVersion(const Setup &) { return getVersion().str(); }

static Value getCMakeDir(const Setup &S) {
  return below(S.Prefix, "lib/cmake", "Mneme");
}

static Value getCxx(const Setup &S) {
  if (S.Clang.Path.empty())
    return findClang(below(S.Prefix, "bin"));
  return S.Clang.Path;
}

static Value getLLVMVersion(const Setup &S) {
  return S.Clang.Version.getAsString();
}

/// One pass for each LLVM lies in the same folder.
static Value getPlugin(const Setup &S) {
  unsigned Major = S.Clang.Version.getMajor();
  std::string Path =
      below(S.Prefix, "lib",
            S.Clang.isOwn() ? Twine("MnemePass.so")
                            : "MnemePass-" + Twine(Major) + ".so");
  if (sys::fs::exists(Path))
    return Path;
  if (S.Clang.isOwn())
    return createStringError("no pass at '" + Path + "'");
  return createStringError(
      "'" + S.Clang.Path + "' is clang " + S.Clang.Version.getAsString() +
      ", and there is no pass for it at '" + Path +
      "': build it with -DMNEME_PLUGIN_ONLY=ON and LLVM_DIR of LLVM " +
      Twine(Major) + ", or choose another compiler with --clang");
}

static Value getNvcc(const Setup &S) {
  return below(S.Prefix, "bin", "nvcc-as-clang");
}

static Value getHipcc(const Setup &S) {
  return below(S.Prefix, "bin", "hipcc-as-clang");
}

/// Returns the folder with the header: the first variable that is set, or the
/// first of \p Nearest, the one above a program in PATH, and \p Usual.
static Expected<std::optional<std::string>>
findToolkit(ArrayRef<const char *> Variables, const std::string &Nearest,
            StringRef Program, ArrayRef<StringRef> Usual, StringRef Header) {
  SmallVector<std::string, 4> Folders = {Nearest};
  auto HasHeader = [&](const std::string &Folder) {
    return !Folder.empty() && sys::fs::exists(below(Folder, "include", Header));
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

static Value getCudaDir(const Setup &) {
  Expected<std::optional<std::string>> Folder =
      findToolkit({"CUDA_HOME", "CUDA_PATH"}, findCudaOfPip(), "ptxas",
                  {"/usr/local/cuda"}, "cuda_runtime.h");
  if (!Folder)
    return Folder.takeError();
  if (*Folder)
    return **Folder;
  return createStringError(
      "no CUDA toolkit: set CUDA_HOME to one, or install PyPI's beside this "
      "tool: pip install 'cuda-toolkit[cccl,cudart,nvcc]'");
}

static Value getRocmDir(const Setup &) {
  Expected<std::optional<std::string>> Folder =
      findToolkit({"ROCM_PATH", "HIP_PATH"}, "", "hipconfig",
                  {"/opt/rocm", "/usr"}, "hip/hip_runtime.h");
  if (!Folder)
    return Folder.takeError();
  if (*Folder)
    return **Folder;
  return createStringError(
      "no ROCm with HIP's headers: install it (in Debian: libamdhip64-dev and "
      "rocm-device-libs), or set ROCM_PATH");
}

/// Returns CUDA_VERSION of cuda.h: 13000 for 13.0; 0 if it is not there.
static unsigned readCudaVersion(StringRef Cuda) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Header =
      MemoryBuffer::getFile(below(Cuda, "include", "cuda.h"));
  if (!Header)
    return 0;
  unsigned Version = 0;
  (*Header)
      ->getBuffer()
      .split("#define CUDA_VERSION ")
      .second.consumeInteger(10, Version);
  return Version;
}

static Value getCxxFlags(const Setup &S) {
  Value Plugin = getPlugin(S);
  if (!Plugin)
    return Plugin.takeError();
  // ccache hashes the file given with -fplugin, but not the file given with
  // -fpass-plugin. -fplugin has no other effect.
  return quoteAll({"-fplugin=" + *Plugin, "-fpass-plugin=" + *Plugin,
                   "-I" + below(S.Prefix, "include")});
}

static Value getCudaFlags(const Setup &S) {
  Value Cuda = getCudaDir(S);
  if (!Cuda)
    return Cuda.takeError();
  Value Cxx = getCxxFlags(S);
  if (!Cxx)
    return Cxx.takeError();
  std::vector<std::string> Flags = {"--cuda-path=" + *Cuda,
                                    // Clang warns about each new toolkit.
                                    "-Wno-unknown-cuda-version"};
  // Location of CUB and Thrust since CUDA 13.
  std::string CCCL = below(*Cuda, "include", "cccl");
  if (sys::fs::is_directory(CCCL))
    Flags.insert(Flags.end(), {"-isystem", CCCL});
  // What clang expects of the toolkit, and CUDA 13 does not have, or PyPI has
  // in another package.
  const bool IsNew =
      S.Clang.Version.getMajor() < 22 && readCudaVersion(*Cuda) >= 13000;
  std::string Compat = below(S.Prefix, "lib/mneme", "cuda13");
  if (IsNew)
    Flags.push_back("-B" + Compat);
  if (IsNew ||
      !sys::fs::exists(below(*Cuda, "include", "curand_mtgp32_kernel.h")))
    Flags.insert(Flags.end(), {"-idirafter", Compat});
  return quoteAll(Flags) + " " + *Cxx;
}

static Value getLdFlags(const Setup &S) {
  Value Cuda = getCudaDir(S);
  if (!Cuda)
    return Cuda.takeError();
  // PyPI's toolkit has another folder, and no link for linkers.
  std::string Lib = below(*Cuda, "lib64");
  if (!sys::fs::exists(Lib))
    Lib = below(*Cuda, "lib");
  std::string Runtime = "-lcudart";
  std::string Versioned =
      "libcudart.so." + utostr(readCudaVersion(*Cuda) / 1000);
  if (!sys::fs::exists(below(Lib, "libcudart.so")) &&
      sys::fs::exists(below(Lib, Versioned)))
    Runtime = "-l:" + Versioned;
  return quoteAll({"-L" + Lib, "-Wl,-rpath," + Lib, Runtime});
}

namespace {
struct ConfigKey {
  StringLiteral Name;
  StringLiteral Description;
  Value (*Get)(const Setup &S);
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
  const std::string Prefix = getInstallPrefix(Args.front());
  Expected<Compiler> Clang = findCompiler(Prefix);
  if (!Clang)
    return createStringError("--print-config: " + toString(Clang.takeError()));
  const Setup S = {Prefix, *Clang};
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
    Value V = Key->Get(S);
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
