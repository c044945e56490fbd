//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildSource.h"
#include "CodeStore.h"
#include "ModuleSource.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/FindClang.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Source/CompileCommand.h"
#include "llvm/Mneme/Source/Diagnostics.h"
#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::JitBuilt;
using ::mneme::JitInputs;
using ::mneme::JitMessage;
using ::mneme::JitSource;
using ::mneme::JitTarget;

static bool hasKernels(const JitSource &S) {
  return S.Target != JitTarget::Library;
}

static bool isHip(const JitSource &S) {
  return S.Target == JitTarget::HipLibrary;
}

/// Returns the language of sources with kernels.
static StringRef kernelLanguage(const JitSource &S) {
  return isHip(S) ? "hip" : "cuda";
}

/// Returns code that the program looks up, whatever options and pragmas of the
/// source hide.
static std::string makeVisible(StringRef Code) {
  // What is before may end with a backslash.
  return ("\n#pragma GCC visibility push(default)\n" + Code +
          "\n#pragma GCC visibility pop\n")
      .str();
}

/// What kernels are launched with, by their stubs.
static constexpr StringLiteral LaunchCode = R"(
# 1 "mneme"
extern "C" int __mneme_launch(const void *Kernel, const unsigned *D,
                              size_t Shared, void *Stream, void **Args) {
  return cudaLaunchKernel(Kernel, dim3(D[0], D[1], D[2]), dim3(D[3], D[4], D[5]),
                          Args, Shared, (cudaStream_t)Stream);
}
extern "C" int __mneme_set_attribute(const void *Kernel, int Name, int Value) {
  return cudaFuncSetAttribute(Kernel, (cudaFuncAttribute)Name, Value);
}
)";

/// Likewise. It depends on no header of ROCm.
static constexpr StringLiteral HipLaunchCode = R"(
# 1 "mneme"
struct __mneme_dim3 { unsigned X, Y, Z; };
extern "C" {
int __mneme_launch_kernel(const void *, __mneme_dim3, __mneme_dim3, void **, decltype(sizeof(0)), void *) __asm__("hipLaunchKernel");
int __mneme_set(const void *, int, int) __asm__("hipFuncSetAttribute");
int __mneme_last_error() __asm__("hipGetLastError");
int __mneme_launch(const void *Kernel, const unsigned *D, decltype(sizeof(0)) Shared, void *Stream, void **Args) {
  return __mneme_launch_kernel(Kernel, {D[0], D[1], D[2]}, {D[3], D[4], D[5]}, Args, Shared, Stream);
}
int __mneme_set_attribute(const void *Kernel, int Name, int Value) { return __mneme_set(Kernel, Name, Value); }
}
)";

Expected<SourceTools> SourceTools::find(StringRef Program, std::string Clang) {
  SourceTools T;
  T.Clang = std::move(Clang);
  if (T.Clang.empty())
    if (Error E = findClang("").moveInto(T.Clang))
      return std::move(E);
  SmallString<128> Real;
  if (std::error_code EC = sys::fs::real_path(Program, Real))
    return createFileError(Program, EC);
  StringRef Prefix = sys::path::parent_path(sys::path::parent_path(Real));
  T.Plugin = (Prefix + "/lib/MnemePass.so").str();
  T.Warm = (Prefix + "/lib/mneme/libmneme_warm.so").str();
  T.Include = (Prefix + "/include").str();
  if (!sys::fs::real_path(T.Clang, Real))
    if (ErrorOr<std::string> Found =
            sys::findProgramByName("ld.lld", sys::path::parent_path(Real)))
      T.Linker = *Found;
  if (ErrorOr<std::string> Found = sys::findProgramByName("ld");
      Found && !T.Linker.empty() && !sys::fs::equivalent(*Found, T.Linker))
    T.SmallLinker = *Found;
  return std::move(T);
}

namespace {
/// Compiles one source.
class SourceBuild {
public:
  SourceBuild(const BuildJob &Job, const SourceTools &Tools, StringRef Kept,
              const WarmTools &Warm)
      : Job(Job), Source(Job.Source), Tools(Tools), Kept(Kept), Warm(Warm),
        Ignored{Kept.str(), Warm.Folder} {}
  Expected<BuildResult> run();
  JitInputs findCommonInputs(const timespec &Start);

private:
  using Words = std::vector<std::string>;
  using MaybeRun = std::optional<Expected<CompilerRun>>;

  Error open();
  void addFiles(ArrayRef<std::string> Command);
  Error compile();
  Error compileIR(MemoryBufferRef Text);
  Error compileMLIR();
  Error runClang(StringRef Language, const Words &DeviceOptions = {});
  Error runNvcc();
  Expected<std::string> askDriver(StringRef Language);
  Expected<std::vector<Words>> listJobs(StringRef Language);
  void runTogether(MutableArrayRef<Words> Jobs, MutableArrayRef<MaybeRun> Runs);
  Words clangOptions(StringRef Language) const;
  Error prepareStop();
  std::optional<CompilerRun> runFromStop(Words Command, int In) const;
  int findWarm(StringRef Program) const;
  Words withoutLibraries(Words Link) const;
  /// Runs a command. \returns false, with messages, if it fails.
  Expected<bool> run(const Words &Command) {
    return finish(Command, execute(Command));
  }
  Expected<CompilerRun> execute(const Words &Command,
                                int In = NullStream) const;
  Expected<bool> finish(const Words &Command, Expected<CompilerRun> Run);
  Expected<std::string> findTool(StringRef Name);
  void addMessages(StringRef Output);
  void addError(const Twine &Text) {
    Result.Built.Messages.push_back({"error", "", Text.str()});
  }
  bool hasErrors() const {
    return any_of(Result.Built.Messages, [](const JitMessage &M) {
      return StringRef(M.Severity).contains("error");
    });
  }
  /// Adds what a program has looked up.
  void addLookups(StringRef Lookups);
  /// Changes of these change the key.
  bool isTool(StringRef Path) const {
    return is_contained(
        {Tools.Clang, Tools.Plugin, Tools.Linker, Tools.SmallLinker}, Path);
  }
  bool isIgnored(StringRef Path) const {
    // Both may have files of users.
    bool IsOfSystem =
        !Path.starts_with("/dev/shm/") && !Path.starts_with("/proc/self/cwd/");
    auto IsIn = [&](StringRef Start) {
      return !Start.empty() && Path.starts_with(Start);
    };
    return any_of(Ignored, IsIn) ||
           (IsOfSystem &&
            any_of(ArrayRef<StringRef>{"/dev/", "/proc/", "/sys/"}, IsIn));
  }
  void addInput(const std::string &Path, bool Found,
                const std::string &Identity);
  static std::string identify(const JitInputs::File &F) {
    return F.Digest.empty()     ? Missing.str()
           : F.Identity.empty() ? F.Stamp
                                : F.Identity;
  }
  void addInputs(const JitInputs &Inputs) {
    for (const JitInputs::File &F : Inputs.Files)
      if (Seen.try_emplace(F.Path, identify(F)).second)
        Result.Inputs.Files.push_back(F);
  }
  /// Returns the text that sources have in common.
  std::string common() const {
    return "# 1 \"module.cpp\"\n" + Source.Text + "\n" +
           (hasKernels(Source) ? launchCode() : "");
  }
  std::string tail() const {
    return Source.Tail.empty()
               ? ""
               : makeVisible("# 1 \"instance.cpp\"\n" + Source.Tail);
  }
  std::string pathOf(const Twine &Name) const {
    return Work.pathOf(Name.str());
  }
  std::string launchCode() const {
    return makeVisible(isHip(Source) ? HipLaunchCode : LaunchCode);
  }
  Error write(StringRef Path, StringRef Text) {
    return writeFileAtomically(Path, Text, /*Sync=*/false);
  }

  const BuildJob &Job;
  const JitSource &Source;
  const SourceTools &Tools;
  StringRef Kept;
  const WarmTools &Warm;
  bool Stops = false; ///< Front ends stop after the common text.
  PrivateFolder Work;
  std::string Main, Library;
  timespec Start; ///< Files that change later may be read before or after it.
  /// The identities or stamps of inputs, as far as they are known.
  StringMap<std::string> Seen;
  static constexpr StringLiteral Missing = "missing";
  /// Starts of paths that other builds do not look up.
  std::vector<std::string> Ignored;
  BuildResult Result;
};
} // namespace

static bool isFrontEnd(ArrayRef<std::string> Job) {
  return Job.size() > 2 && Job[1] == "-cc1";
}

static bool isFrontEndOfHost(ArrayRef<std::string> Job) {
  return isFrontEnd(Job) && !is_contained(Job, "-fcuda-is-device");
}

//===----------------------------------------------------------------------===//
// Running programs
//===----------------------------------------------------------------------===//

/// Lookups that are never current, of a run without the library.
static constexpr StringRef Unknown("+changed:unknown");

/// Removes the name of a module from messages of clang, which prints it after
/// it has freed it: it can be any bytes.
static std::string withoutFreedNames(StringRef Text) {
  std::string Clean;
  while (true) {
    auto [Before, After] = Text.split("cannot link module '");
    Clean += Before;
    if (After.empty())
      return Clean;
    Clean += "cannot link the module: ";
    Text = After.split("': ").second;
  }
}

void SourceBuild::addMessages(StringRef Output) {
  std::string Text = withoutFreedNames(Output);
  auto Same = [](SourcePosition P) { return P; };
  for (const SourceDiagnostic &D : parseDiagnostics(Text, Same)) {
    auto Add = [&](const SourceDiagnostic &Each) {
      Result.Built.Messages.push_back({Each.Severity, Each.Where.File,
                                       Each.Message, Each.Where.Line,
                                       Each.Where.Column});
    };
    Add(D);
    for_each(D.Notes, Add);
  }
}

/// Returns the socket of a program that waits; -1 if there is none.
int SourceBuild::findWarm(StringRef Program) const {
  if (Warm.Clang >= 0 && sys::fs::equivalent(Program, Tools.Clang))
    return Warm.Clang;
  return Warm.Linker >= 0 && sys::fs::equivalent(Program, Tools.Linker)
             ? Warm.Linker
             : -1;
}

Expected<CompilerRun> SourceBuild::execute(const Words &Command, int In) const {
  if (Stops && isFrontEnd(Command))
    if (std::optional<CompilerRun> Run = runFromStop(Command, In))
      // The errors of the common text are those of another run.
      if (Run->succeeded() || !Warm.Copies.empty())
        return std::move(*Run);
  CompilerSetup Setup;
  Setup.Directory = Job.Folder;
  Setup.In = In;
  if (int Socket = findWarm(Command.front()); Socket >= 0)
    if (std::optional<CompilerRun> Run = runWarm(Socket, Command, Setup))
      return std::move(*Run);
  // Several may run at the same time.
  static std::atomic<unsigned> Count{0};
  std::string Path = pathOf("lookups-" + Twine(Count++));
  Setup.Environment = {{"LD_PRELOAD", Tools.Warm},
                       {MNEME_WARM_LOOKUPS_VARIABLE, Path}};
  Expected<CompilerRun> Run = runCompiler(Command.front(), Command, Setup);
  if (!Run)
    return Run.takeError();
  Expected<std::unique_ptr<MemoryBuffer>> Lookups = readFile(Path);
  Run->Lookups = (Lookups ? (*Lookups)->getBuffer() : Unknown).str();
  consumeError(Lookups.takeError());
  return Run;
}

Expected<bool> SourceBuild::finish(const Words &Command,
                                   Expected<CompilerRun> Run) {
  if (!Run)
    return Run.takeError();
  addMessages(Run->Messages);
  addLookups(Run->Lookups);
  if (Run->succeeded())
    return true;
  if (!hasErrors())
    addError(sys::path::filename(Command.front()) + ": " +
             Run->describeFailure());
  return false;
}

void SourceBuild::addLookups(StringRef Lookups) {
  SmallVector<StringRef, 0> All;
  Lookups.split(All, '\0', -1, /*KeepEmpty=*/false);
  StringSet<> Written;
  for (StringRef Each : All)
    if (Each.front() == MnemeWarmWritten)
      Written.insert(Each.split(':').second);
  for (StringRef Each : All) {
    bool IsListed = Each.front() == MnemeWarmListed;
    auto [Identity, Path] = Each.drop_front().split(':');
    StringRef Short = Path.rtrim('/');
    if (Short.empty() || Written.contains(Path) || isTool(Path) ||
        isIgnored(Path))
      continue;
    addInput((IsListed ? Short + "/" : Short).str(),
             Each.front() != MnemeWarmMissing, Identity.str());
  }
}

void SourceBuild::addInput(const std::string &Path, bool Found,
                           const std::string &Identity) {
  auto [It, IsNew] = Seen.try_emplace(Path);
  const std::string &Last = It->second;
  if (!IsNew && Found == (Last != Missing) &&
      (Identity.empty() || Last == Identity ||
       Last == ::mneme::jitDigest(Identity)))
    return;
  // It may not be the same file each time.
  Result.Inputs.add(Path, Job.Folder, Start, Found, Identity, *Warm.Known);
  It->second = identify(Result.Inputs.Files.back());
}

//===----------------------------------------------------------------------===//
// clang
//===----------------------------------------------------------------------===//

SourceBuild::Words SourceBuild::clangOptions(StringRef Language) const {
  Words W = {"-shared", "-fPIC", "-O3", "-Wl,-Bsymbolic",
             "-fno-color-diagnostics"};
  if (!Tools.Linker.empty())
    W.push_back("-fuse-ld=lld");
  if (Language != "ir")
    W.insert(W.end(), {"-std=c++17", "-fpass-plugin=" + Tools.Plugin,
                       // Inclusions relative to the application's folder.
                       "-iquote", Job.Folder.empty() ? "." : Job.Folder,
                       // For annotations: mneme/jit.h.
                       "-idirafter", Tools.Include});
  else
    W.push_back("-Wno-override-module");
  if (hasKernels(Source)) {
    W.insert(W.end(),
             {"--offload-arch=" + Source.Arch, "--no-offload-new-driver",
              "-Wno-unknown-cuda-version",
              // Otherwise, names would contain that of a folder.
              "-fuse-cuid=none", isHip(Source) ? "-lamdhip64" : "-lcudart"});
    if (isHip(Source)) {
      // As hipcc.
      if (!is_contained(Source.Options, "-nogpuinc"))
        W.insert(W.end(), {"-include", "hip/hip_runtime.h"});
      // Where ptxas is, is the toolkit.
    } else if (Expected<std::string> Ptxas = findPtxas(Job.CudaPath)) {
      std::string Toolkit =
          sys::path::parent_path(sys::path::parent_path(*Ptxas)).str();
      W.insert(W.end(), {"--cuda-path=" + Toolkit, "-L" + Toolkit + "/lib64",
                         // The application may not have the CUDA runtime.
                         "-Wl,-rpath," + Toolkit + "/lib64"});
    } else {
      consumeError(Ptxas.takeError());
    }
  }
  append_range(W, Source.Options);
  W.insert(W.end(), {"-x", Language.str(), Main, "-o", Library});
  return W;
}

/// Returns the text with \p To for \p From.
static std::string replaceAll(StringRef Text, StringRef From, StringRef To) {
  SmallVector<StringRef, 0> Parts;
  Text.split(Parts, From);
  return join(Parts, To);
}

/// Returns a digest of what programs see of the environment, as far as it can
/// matter and differ from server to server. It may have secrets.
static std::string digestEnvironment() {
  constexpr StringLiteral Others[] = {
      "TMPDIR=", "PWD=", "OLDPWD=", "SHLVL=", "TERM=", "_=", "SSH_"};
  std::vector<StringRef> Variables;
  for (char **Each = environ; *Each; ++Each)
    if (none_of(Others, [&](StringRef Other) {
          return StringRef(*Each).starts_with(Other);
        }))
      Variables.push_back(*Each);
  llvm::sort(Variables);
  return ::mneme::jitDigest(join(Variables, StringRef("\0", 1)));
}

/// Returns the commands that the driver would run, and its messages. An answer
/// without an error is kept for other sources with the same options, also of
/// the next server.
Expected<std::string> SourceBuild::askDriver(StringRef Language) {
  Words Ask = {Tools.Clang, "-###"};
  append_range(Ask, clangOptions(Language));
  constexpr StringLiteral Placeholder("\1");
  ::mneme::WireWriter KeyWriter;
  for (const std::string &Part :
       {std::string("driver"), Job.Tools, Job.Folder, digestEnvironment(),
        ::mneme::cpuIdentity(), // of -march=native
        replaceAll(join(Ask, StringRef("\0", 1)), Work.path(), Placeholder)})
    KeyWriter.str(Part);
  const std::string &Key = KeyWriter.body();
  Expected<LockedFile> Lock =
      LockedFile::wait((Kept + "/" + toHexString(digest128(Key))).str());
  if (!Lock)
    return Lock.takeError();
  CodeStore Store;
  JitInputs Known;
  std::string Answer;
  auto IsCurrent = [&](const std::string &Contents) {
    ::mneme::WireReader R(Contents.data(), Contents.size());
    Known = {};
    Answer = R.str();
    return JitInputs::decode(R.str(), Known) && R.atEnd() &&
           Known.isCurrent(Job.Folder);
  };
  if (Store.find(Warm.Notes, Key, ::mneme::JitFile::Toolchain, IsCurrent)) {
    addInputs(Known);
    return replaceAll(Answer, Placeholder, Work.path());
  }
  Expected<CompilerRun> Run = execute(Ask);
  if (!Run)
    return Run.takeError();
  // All that the driver looked up, also what is known to the build.
  JitInputs Others = std::exchange(Result.Inputs, JitInputs());
  StringMap<std::string> OthersSeen = std::exchange(Seen, {});
  addLookups(Run->Lookups);
  JitInputs Inputs = std::exchange(Result.Inputs, std::move(Others));
  Seen = std::move(OthersSeen);
  addInputs(Inputs);
  if (!Run->succeeded())
    // There are no commands to run.
    return replaceAll(Run->Messages, "\n \"", "\n# \"");
  ::mneme::WireWriter W;
  W.str(replaceAll(Run->Messages, Work.path(), Placeholder));
  W.str(Inputs.encode());
  // Without it, the next build asks again.
  consumeError(Store.addNote(Warm.Notes, Key, W.body()));
  return std::move(Run->Messages);
}

/// Returns the commands that the driver would run; none, with messages, if it
/// refuses the options.
Expected<std::vector<SourceBuild::Words>>
SourceBuild::listJobs(StringRef Language) {
  Expected<std::string> Answer = askDriver(Language);
  if (!Answer)
    return Answer.takeError();
  std::vector<Words> Jobs;
  std::string Messages;
  for (StringRef Line : split(*Answer, '\n'))
    if (Line.starts_with(" \""))
      Jobs.push_back(splitCommand(Line));
    else
      Messages += (Line + "\n").str();
  addMessages(Messages);
  return std::move(Jobs);
}

/// Returns true if an object refers to nothing outside.
static bool isSelfContained(StringRef Path) {
  Expected<object::OwningBinary<object::ObjectFile>> File =
      object::ObjectFile::createObjectFile(Path);
  if (!File) {
    consumeError(File.takeError());
    return false;
  }
  return all_of(File->getBinary()->symbols(), [](object::SymbolRef S) {
    Expected<uint32_t> Flags = S.getFlags();
    if (!Flags)
      consumeError(Flags.takeError());
    return Flags && (!(*Flags & object::SymbolRef::SF_Undefined) ||
                     *Flags & object::SymbolRef::SF_FormatSpecific);
  });
}

/// Returns a link without the libraries of the language, by a linker that
/// starts at once, where the code needs none: to read their symbols, and to
/// load LLVM, takes most of a link's time. Empty: the code needs them.
SourceBuild::Words SourceBuild::withoutLibraries(Words Link) const {
  bool OnlyPreprocesses = all_of(Source.Options, [](StringRef Option) {
    return any_of(
        ArrayRef<StringRef>{"-D", "-U", "-I", "-L", "-O", "-std=", "-Xlinker"},
        [&](StringRef Each) { return Option.starts_with(Each); });
  });
  auto IsObject = [&](StringRef Word) {
    return Word.starts_with(Work.path()) && Word.ends_with(".o");
  };
  if (hasKernels(Source) || !OnlyPreprocesses ||
      !all_of(make_filter_range(Link, IsObject), isSelfContained))
    return {};
  erase_if(Link, [](StringRef Word) {
    return is_contained({"-lstdc++", "-lm", "-lgcc", "-lgcc_s", "-lc"}, Word);
  });
  if (!Tools.SmallLinker.empty()) {
    Link.front() = Tools.SmallLinker;
    // ld.lld refuses some of what GNU's linker warns of.
    append_range(Link, ArrayRef<StringRef>{"--fatal-warnings", "-z", "text"});
  }
  return Link;
}

static constexpr StringLiteral ImageOption("-fcuda-include-gpubinary");
static constexpr StringLiteral StandardInput("/proc/self/fd/0");

/// Writes the text that front ends of instances have in common.
Error SourceBuild::prepareStop() {
  if (Error E = write(Warm.restPath(), ""))
    return E;
  if (Error E = write(Warm.driverInputsPath(), Result.Inputs.encode()))
    return E;
  return write(Warm.commonPath(),
               common() + "\n#include \"" + Warm.restPath() + "\"\n");
}

/// Runs a front end that leaves a copy behind when it has compiled the common
/// text, or goes on from there.
std::optional<CompilerRun> SourceBuild::runFromStop(Words Command,
                                                    int In) const {
  // The image for the GPU is the standard input, unless there was no pipe.
  if (auto Image = llvm::find(Command, ImageOption);
      Image != Command.end() && Image[1] != StandardInput)
    return std::nullopt;
  size_t Number = isFrontEndOfHost(Command) ? Warm.FrontEnds.size() - 1 : 0;
  // Files of a run are descriptors: their names are those of the first one. The
  // last word is the source.
  auto Replace = [&](StringRef Option, const char *By) {
    auto It = llvm::find(reverse(Command), Option);
    return It == Command.rend() || It == Command.rbegin()
               ? std::string()
               : std::exchange(*std::prev(It), By);
  };
  std::string OutPath = Replace("-o", "-");
  // The start of the names of other files, which options can ask for.
  Replace("-dumpdir", "module-");
  if (OutPath.empty() || any_of(drop_end(Command), [&](StringRef Word) {
        return Word.contains(Work.path());
      }))
    return std::nullopt;
  Descriptor Out(::open(OutPath.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
                        S_IRUSR | S_IWUSR));
  if (!Out)
    return std::nullopt;
  CompilerSetup Setup;
  Setup.Directory = Job.Folder;
  Setup.In = In;
  Setup.Out = Out.get();
  WarmStop Stop;
  Stop.Path = Warm.restPath();
  Stop.Contents = tail();
  if (Warm.Copies.empty())
    return runWarm(Warm.FrontEnds[Number], {}, Setup, Stop);
  Command.back() = Warm.commonPath();
  // To free the syntax tree takes longer than to keep it: the copy has it, too.
  llvm::erase(Command, "-clear-ast-before-backend");
  Stop.Copy = Warm.Copies[Number];
  return runWarm(Warm.Clang, Command, Setup, Stop);
}

/// Runs the jobs for the GPU and the front end for the CPU at the same time: it
/// reads the image for the GPU only at its end. \p Runs stays empty for jobs
/// that did not run, and after the first that failed.
void SourceBuild::runTogether(MutableArrayRef<Words> Jobs,
                              MutableArrayRef<MaybeRun> Runs) {
  size_t Host = find_if(Jobs, isFrontEndOfHost) - Jobs.begin();
  if (Host == Jobs.size())
    return;
  auto Image = llvm::find(Jobs[Host], ImageOption);
  Expected<Pipe> Ends = Pipe::create();
  if (Jobs[Host].end() - Image < 2 || !Ends) {
    consumeError(Ends.takeError());
    return;
  }
  std::string Path = std::exchange(Image[1], StandardInput.str());
  // The front end may end before it has read the image. LLVM's own handler, set
  // up by now, would end this process.
  std::signal(SIGPIPE, SIG_IGN);
  bool Ok = true;
  std::thread Device([&] {
    for (size_t I = 0; I != Host && Ok; ++I) {
      Runs[I].emplace(execute(Jobs[I]));
      Ok = *Runs[I] && (*Runs[I])->succeeded();
    }
    Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path);
    if (File)
      consumeError(writeAll(Ends->Write.get(), (*File)->getBuffer()));
    else
      consumeError(File.takeError());
    Ends->Write.reset();
  });
  Expected<CompilerRun> Run = execute(Jobs[Host], Ends->Read.get());
  Ends->Read.reset();
  Device.join();
  if (Ok)
    Runs[Host].emplace(std::move(Run));
  else
    consumeError(Run.takeError());
}

/// \param DeviceOptions  options of the front end for device code.
Error SourceBuild::runClang(StringRef Language, const Words &DeviceOptions) {
  Expected<std::vector<Words>> Jobs = listJobs(Language);
  if (!Jobs)
    return Jobs.takeError();
  for (Words &Each : *Jobs)
    if (is_contained(Each, "-fcuda-is-device"))
      // Before libdevice, of which only that is linked what is needed.
      Each.insert(Each.begin() + 2, DeviceOptions.begin(), DeviceOptions.end());
  Stops = Job.isInstance() && Warm.Clang >= 0 &&
          size_t(count_if(*Jobs, isFrontEnd)) == Warm.FrontEnds.size();
  if (Stops && !Warm.Copies.empty())
    if (Error E = prepareStop())
      return E;
  for (const Words &Command : *Jobs)
    addFiles(Command);
  std::vector<MaybeRun> Runs(Jobs->size());
  runTogether(*Jobs, Runs);
  for (auto [Command, Run] : zip(*Jobs, Runs)) {
    bool IsLink = is_contained(Command, "-shared");
    if (Words Small = IsLink ? withoutLibraries(Command) : Words();
        !Small.empty()) {
      Run.emplace(execute(Small));
      if (*Run && (*Run)->succeeded() && (*Run)->Lookups != Unknown) {
        Command = std::move(Small);
      } else {
        // The options may be for another linker.
        if (!*Run)
          consumeError(Run->takeError());
        Run.reset();
      }
    }
    Result.UsesLinker |= IsLink && Command.front() != Tools.SmallLinker;
    Expected<bool> Ok =
        finish(Command, Run ? std::move(*Run) : execute(Command));
    if (!Ok)
      return Ok.takeError();
    if (!*Ok)
      return Error::success();
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// nvcc
//===----------------------------------------------------------------------===//

Error SourceBuild::runNvcc() {
  if (isHip(Source)) {
    addError("nvcc does not compile HIP: use clang");
    return Error::success();
  }
  Expected<std::string> Ptxas = findPtxas(Job.CudaPath);
  if (!Ptxas)
    return Ptxas.takeError();
  StringRef Folder = sys::path::parent_path(*Ptxas);
  std::string Lib = (sys::path::parent_path(Folder) + "/lib64").str();
  Words Command = {(Folder + "/nvcc").str(), "-shared", "-Xcompiler", "-fPIC",
                   "-std=c++17", "-O3", "-arch=" + Source.Arch,
                   "-cudart=shared", "-Xlinker", "-rpath=" + Lib,
                   // Stubs are found by name.
                   "-device-entity-has-hidden-visibility=false",
                   "-I" + Job.Folder};
  append_range(Command, Source.Options);
  Command.insert(Command.end(), {"-x", "cu", Main, "-o", Library});
  if (!sys::fs::can_execute(Command.front()))
    return createStringError("no nvcc beside '" + *Ptxas +
                             "': install the CUDA toolkit, or use clang");
  return run(Command).takeError();
}

//===----------------------------------------------------------------------===//
// LLVM IR and MLIR
//===----------------------------------------------------------------------===//

Error SourceBuild::compileIR(MemoryBufferRef Text) {
  LLVMContext Context;
  SMDiagnostic D;
  std::unique_ptr<Module> M = parseIR(Text, D, Context);
  if (!M) {
    Result.Built.Messages.push_back(
        {"error", D.getLineNo() > 0 ? "module.ll" : "", D.getMessage().str(),
         uint32_t(std::max(D.getLineNo(), 0)), uint32_t(D.getColumnNo() + 1)});
    return Error::success();
  }
  std::string Problem;
  raw_string_ostream OS(Problem);
  if (verifyModule(*M, &OS)) {
    addError("invalid IR: " + StringRef(Problem).trim());
    return Error::success();
  }
  if (!hasKernels(Source)) {
    if (Error E = write(Main, toStringRef(writeExactBitcode(*M))))
      return E;
    return runClang("ir");
  }
  Triple T(isHip(Source) ? "amdgcn-amd-amdhsa" : "nvptx64-nvidia-cuda");
  M->setTargetTriple(T);
  M->setDataLayout(T.computeDataLayout());
  // Features follow the name of an AMD GPU.
  StringRef Cpu = StringRef(Source.Arch).split(':').first;
  for (Function &F : *M)
    if (!F.isDeclaration() && !F.hasFnAttribute("target-cpu"))
      F.addFnAttr("target-cpu", Cpu);
  if (none_of(*M, [](const Function &F) {
        return !F.isDeclaration() && isKernel(F);
      })) {
    addError("the module has no kernels: give them the calling convention " +
             Twine(isHip(Source) ? "amdgpu_kernel" : "ptx_kernel"));
    return Error::success();
  }
  Words Options;
  if (takeFlags(*M))
    Options.push_back("-fdenormal-fp-math-f32=preserve-sign");
  std::string DeviceIR = pathOf("device.bc");
  if (Error E = write(DeviceIR, toStringRef(writeExactBitcode(*keepLines(*M)))))
    return E;
  if (Error E = write(Main, describeKernels(*M) + launchCode()))
    return E;
  Options.insert(Options.end(), {"-mlink-bitcode-file", DeviceIR});
  return runClang(kernelLanguage(Source), Options);
}

/// Returns a program of LLVM, beside clang or in PATH.
Expected<std::string> SourceBuild::findTool(StringRef Name) {
  SmallString<128> Real;
  std::string Numbered = (Name + "-" + Twine(LLVM_VERSION_MAJOR)).str();
  if (!sys::fs::real_path(Tools.Clang, Real))
    for (StringRef Each : {Name, StringRef(Numbered)})
      if (ErrorOr<std::string> Found =
              sys::findProgramByName(Each, sys::path::parent_path(Real)))
        return *Found;
  if (ErrorOr<std::string> Found = sys::findProgramByName(Numbered))
    return *Found;
  return createStringError("no " + Numbered + ": install MLIR's tools (mlir-" +
                           Twine(LLVM_VERSION_MAJOR) + "-tools)");
}

Error SourceBuild::compileMLIR() {
  if (isHip(Source)) {
    addError("MLIR for AMD GPUs is not supported: lower it to LLVM IR");
    return Error::success();
  }
  Expected<std::string> Opt = findTool("mlir-opt");
  if (!Opt)
    return Opt.takeError();
  Expected<std::string> Translate = findTool("mlir-translate");
  if (!Translate)
    return Translate.takeError();
  std::string Input = pathOf("module.mlir"), Lowered = pathOf("lowered.mlir");
  if (Error E = write(Input, Source.Text))
    return E;
  // MLIR's own pipelines.
  Words Command = {*Opt, Input, "-o", Lowered};
  if (hasKernels(Source))
    Command.push_back(
        "--pass-pipeline=builtin.module(nvvm-attach-target{chip=" +
        Source.Arch +
        " O=3},gpu.module(convert-scf-to-cf,expand-strided-metadata,"
        "lower-affine,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=true},"
        "convert-to-llvm,reconcile-unrealized-casts),"
        "gpu-module-to-binary{format=offloading})");
  else
    Command.push_back(
        "--pass-pipeline=builtin.module(convert-scf-to-cf,"
        "expand-strided-metadata,lower-affine,convert-math-to-llvm,"
        "convert-to-llvm,reconcile-unrealized-casts)");
  Expected<bool> Ok = run(Command);
  if (!Ok)
    return Ok.takeError();
  // The file is that of the application's text.
  for (JitMessage &M : Result.Built.Messages)
    if (M.File == Input)
      M.File = "module.mlir";
  if (!*Ok)
    return Error::success();
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Lowered);
  if (!Text)
    return Text.takeError();
  if (hasKernels(Source)) {
    StringRef All = (*Text)->getBuffer();
    size_t Count = All.count("gpu.binary @");
    if (Count != 1) {
      addError("expected exactly one gpu.module, got " + Twine(Count));
      return Error::success();
    }
    std::string Bitcode = readMLIRString(All.split("offload = \"").second);
    return compileIR(MemoryBufferRef(Bitcode, "module"));
  }
  std::string IR = pathOf("module.ll");
  Ok = run({*Translate, "--mlir-to-llvmir", Lowered, "-o", IR});
  if (!Ok)
    return Ok.takeError();
  if (!*Ok)
    return Error::success();
  Text = readFile(IR);
  if (!Text)
    return Text.takeError();
  return compileIR(**Text);
}

//===----------------------------------------------------------------------===//
// Any source
//===----------------------------------------------------------------------===//

Error SourceBuild::compile() {
  if (Source.Language == ::mneme::JitLanguage::IR)
    return compileIR(MemoryBufferRef(Source.Text, "module.ll"));
  if (Source.Language == ::mneme::JitLanguage::MLIR)
    return compileMLIR();
  if (Error E = write(Main, common() + tail()))
    return E;
  if (Source.Compiler == ::mneme::JitCompiler::Nvcc)
    return runNvcc();
  return runClang(hasKernels(Source) ? kernelLanguage(Source) : "c++");
}

/// Adds files that words of a command name, such as plugins.
void SourceBuild::addFiles(ArrayRef<std::string> Command) {
  for (StringRef Word : Command)
    for (StringRef Path : {Word, Word.split('=').second}) {
      SmallString<128> Full(Path);
      sys::path::make_absolute(Job.Folder, Full);
      struct stat S;
      if (!Path.empty() && !isIgnored(Path) && !isTool(Path) &&
          !::stat(Full.c_str(), &S) && S_ISREG(S.st_mode))
        addInput(Path.str(), /*Found=*/true, mnemeFileIdentity(S));
    }
}

Error SourceBuild::open() {
  ::clock_gettime(CLOCK_REALTIME_COARSE, &Start);
  if (Error E = PrivateFolder::createTemporary().moveInto(Work))
    return E;
  // For temporary files of the compilers.
  ::setenv("TMPDIR", Work.path().c_str(), 1);
  Main = pathOf("module.cpp");
  Library = pathOf("module.so");
  Ignored.push_back(Work.path());
  return Error::success();
}

JitInputs SourceBuild::findCommonInputs(const timespec &AtStart) {
  Start = AtStart;
  using MaybeFile = Expected<std::unique_ptr<MemoryBuffer>>;
  MaybeFile OfDriver = readFile(Warm.driverInputsPath());
  MaybeFile Lookups = readFile(Warm.lookupsPath());
  JitInputs Inputs;
  if (OfDriver && Lookups &&
      JitInputs::decode((*OfDriver)->getBuffer().str(), Inputs)) {
    addInputs(Inputs);
    addLookups((*Lookups)->getBuffer());
  } else {
    addLookups(Unknown);
  }
  consumeError(OfDriver.takeError());
  consumeError(Lookups.takeError());
  return std::move(Result.Inputs);
}

Expected<BuildResult> SourceBuild::run() {
  if (Error E = open())
    return std::move(E);
  addInputs(Warm.Inputs);
  addFiles(Source.Options);
  if (Error E = compile())
    return std::move(E);
  if (sys::fs::exists(Library)) {
    Expected<std::unique_ptr<MemoryBuffer>> Bytes = readFile(Library);
    if (!Bytes)
      return Bytes.takeError();
    Result.Built.Library = (*Bytes)->getBuffer().str();
  } else if (!hasErrors()) {
    addError("the compiler made no library: remove options such as "
             "-fsyntax-only");
  }
  return std::move(Result);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

Expected<BuildResult> llvm::mneme::buildSource(const BuildJob &Job,
                                               const SourceTools &Tools,
                                               StringRef Kept,
                                               const WarmTools &Warm) {
  return SourceBuild(Job, Tools, Kept, Warm).run();
}

JitInputs llvm::mneme::findCommonInputs(const BuildJob &Job,
                                        const SourceTools &Tools,
                                        StringRef Kept, const WarmTools &Warm,
                                        const timespec &Start) {
  return SourceBuild(Job, Tools, Kept, Warm).findCommonInputs(Start);
}

bool BuildJob::isInstance() const {
  return !Source.Tail.empty() && Source.Language == ::mneme::JitLanguage::Cpp &&
         Source.Compiler == ::mneme::JitCompiler::Clang;
}

std::string BuildJob::commonKey() const {
  JitSource Common = Source;
  Common.Tail.clear();
  return ::mneme::jitDigest(
      ::mneme::makeSourceKey(Tools + Folder + '\n' + CudaPath, Common, ""));
}

Expected<BuildJob> BuildJob::decode(StringRef Body) {
  ::mneme::WireReader R(Body.data(), Body.size());
  BuildJob J;
  bool Ok = readSource(R, J.Source);
  J.Folder = R.str();
  J.CacheFolder = R.str();
  J.CacheLimit = R.u64();
  J.CudaPath = R.str();
  if (!Ok || !R.ok() || !R.atEnd())
    return createStringError("malformed request");
  return std::move(J);
}

std::string BuildResult::encode() const {
  ::mneme::WireWriter B, W;
  writeFields(B, Built);
  W.str(Inputs.encode());
  W.u32(UsesLinker);
  W.str(B.body());
  return W.body();
}

std::optional<BuildResult> BuildResult::decode(StringRef Bytes) {
  ::mneme::WireReader R(Bytes.data(), Bytes.size());
  BuildResult Result;
  std::string Inputs = R.str();
  Result.UsesLinker = R.u32();
  std::string Built = R.str();
  ::mneme::WireReader B(Built.data(), Built.size());
  if (!R.ok() || !R.atEnd() || !JitInputs::decode(Inputs, Result.Inputs) ||
      !readBuilt(B, Result.Built))
    return std::nullopt;
  return std::move(Result);
}
