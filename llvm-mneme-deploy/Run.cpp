//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Runtime/DeployEnvironment.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Exit code if a verification found a difference and the application
/// succeeded.
static constexpr int Differs = 2;

cl::SubCommand mneme::RunCommand("run", "Run an application with packages");

static cl::list<std::string>
    Words(cl::Positional, cl::desc("<package>... -- application arguments..."),
          cl::sub(RunCommand), cl::cat(CommandCategory));
static cl::opt<LaunchDevice> DeviceKind(
    "device", cl::desc("Device that the kernels run on"),
    cl::values(clEnumValN(LaunchDevice::Auto, "auto",
                          "a GPU when there is one, else the host (default)"),
               clEnumValN(LaunchDevice::Host, "host", "this machine's CPU"),
               clEnumValN(LaunchDevice::Cuda, "cuda", "an NVIDIA GPU")),
    cl::init(LaunchDevice::Auto), cl::sub(RunCommand),
    cl::cat(CommandCategory));
static cl::opt<std::string>
    Scope("scope",
          cl::desc("Launches to serve: recorded or kernel (default recorded)"),
          cl::value_desc("which"), cl::sub(RunCommand),
          cl::cat(CommandCategory));
static cl::opt<std::string>
    LaunchShape("launch-shape",
                cl::desc("Changed launch shapes to admit: proven, verified or "
                         "unproven (default proven)"),
                cl::value_desc("grade"), cl::sub(RunCommand),
                cl::cat(CommandCategory));
static cl::opt<std::string>
    DeviceMatch("device-match",
                cl::desc("GPUs to serve: those with the name of the measured "
                         "one, or all that the code runs on (default name)"),
                cl::value_desc("name|arch"), cl::sub(RunCommand),
                cl::cat(CommandCategory));
static cl::opt<std::string>
    Report("report",
           cl::desc("Write to a file, as JSON, which launches were served, and "
                    "why others were not; - for text on standard error"),
           cl::value_desc("file"), cl::sub(RunCommand),
           cl::cat(CommandCategory));
static cl::opt<bool>
    Strict("strict",
           cl::desc("Fail if a package cannot be used, instead of a warning"),
           cl::sub(RunCommand), cl::cat(CommandCategory));

static cl::opt<uint64_t>
    Verify("verify",
           cl::desc("Launches of each variant to compare with the "
                    "application's own kernel (default 0)"),
           cl::value_desc("n"), cl::sub(RunCommand), cl::cat(CommandCategory));
static cl::opt<double>
    VerifyRate("verify-rate",
               cl::desc("Share of the later launches to compare, from 0 to 1 "
                        "(default 0)"),
               cl::value_desc("share"), cl::sub(RunCommand),
               cl::cat(CommandCategory));

/// Returns the path of a library of the same build or install tree.
static std::string findLibrary(const char *Argv0, StringRef Name) {
  std::string Tool =
      sys::fs::getMainExecutable(Argv0, reinterpret_cast<void *>(findLibrary));
  SmallString<128> Path(sys::path::parent_path(sys::path::parent_path(Tool)));
  sys::path::append(Path, "lib", Name);
  return std::string(Path);
}

/// Sets a variable of the application to a word, unless the word is empty.
static void setVariable(const char *Name, StringRef Value) {
  if (!Value.empty())
    ::setenv(Name, Value.str().c_str(), /*overwrite=*/1);
}

static Error setEnvironment(ArrayRef<std::string> Packages) {
  auto Check = [](const cl::opt<std::string> &Option,
                  ArrayRef<StringRef> Known) -> Error {
    if (!Option.getNumOccurrences() ||
        is_contained(Known, StringRef(Option.getValue())))
      return Error::success();
    return createStringError("--" + Option.ArgStr + ": expected " +
                             join(Known, " or ") + ", got '" + Option + "'");
  };
  if (Error E = Check(Scope, {"recorded", "kernel"}))
    return E;
  if (Error E = Check(LaunchShape, {"proven", "verified", "unproven"}))
    return E;
  if (VerifyRate.getNumOccurrences() && !(VerifyRate >= 0 && VerifyRate <= 1))
    return createStringError(
        formatv("--verify-rate: expected a number from 0 to 1, got '{0}'",
                VerifyRate.getValue()));
  if (Error E = Check(DeviceMatch, {"name", "arch"}))
    return E;
  std::vector<std::string> Paths;
  for (const std::string &Package : Packages) {
    SmallString<128> Path(Package);
    sys::fs::make_absolute(Path);
    if (StringRef(Path).contains(':'))
      return createFileError(
          Package, createStringError("a package's path cannot contain ':'"));
    Paths.push_back(std::string(Path));
  }
  setVariable(MNEME_ENV_TUNED, join(Paths, ":"));
  setVariable(MNEME_ENV_TUNED_SCOPE, Scope);
  setVariable(MNEME_ENV_TUNED_LAUNCH_SHAPE, LaunchShape);
  setVariable(MNEME_ENV_TUNED_DEVICE_MATCH, DeviceMatch);
  setVariable(MNEME_ENV_TUNED_REPORT, Report);
  setVariable(MNEME_ENV_TUNED_STRICT, Strict ? "1" : "");
  setVariable(MNEME_ENV_TUNED_VERIFY, Verify ? Twine(Verify).str() : "");
  setVariable(MNEME_ENV_TUNED_VERIFY_RATE,
              VerifyRate > 0 ? formatv("{0:e17}", VerifyRate.getValue()).str()
                             : "");
  return Error::success();
}

static Error preloadLibrary(const char *Argv0) {
  std::string Library = findLibrary(Argv0, "libmneme_deploy.so");
  if (!sys::fs::exists(Library))
    return createFileError(
        Library, std::make_error_code(std::errc::no_such_file_or_directory));
  // The loader splits LD_PRELOAD at spaces and colons.
  if (StringRef(Library).find_first_of(" :") != StringRef::npos)
    return createFileError(
        Library,
        createStringError("a path with a space or colon cannot be preloaded"));
  const char *Others = ::getenv("LD_PRELOAD");
  setVariable("LD_PRELOAD",
              Library + (Others && *Others ? ":" + std::string(Others) : ""));
  return Error::success();
}

/// Replaces the tool by the application.
static Error becomeApplication(ArrayRef<std::string> Command) {
  std::vector<char *> Argv;
  for (const std::string &Word : Command)
    Argv.push_back(const_cast<char *>(Word.c_str()));
  Argv.push_back(nullptr);
  ::execvp(Argv[0], Argv.data());
  return createFileError(Command.front(), errnoAsErrorCode());
}

static volatile pid_t Application;

/// Signals from the terminal reach the application directly, because it is in
/// the same process group.
static void forwardSignal(int Number, siginfo_t *Info, void *) {
  if (Info->si_code <= 0)
    ::kill(Application, Number);
}

/// Runs the application to its end. \returns its exit code, or 128 + N if
/// signal N ended it.
static Expected<int> runApplication(const std::vector<std::string> &Command) {
  ErrorOr<std::string> Program = sys::findProgramByName(Command.front());
  if (!Program)
    return createFileError(Command.front(), Program.getError());
  ChildOptions Options;
  Options.IsUsers = true;
  ::sigprocmask(SIG_SETMASK, nullptr, &Options.Mask);
  Expected<Child> App = Child::spawn(*Program, Command, Options);
  if (!App)
    return App.takeError();
  Application = App->pid();
  struct sigaction Forward = {};
  Forward.sa_sigaction = forwardSignal;
  Forward.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int S : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    ::sigaction(S, &Forward, nullptr);
  int Status = App->wait();
  return WIFSIGNALED(Status) ? 128 + WTERMSIG(Status) : WEXITSTATUS(Status);
}

Expected<int> mneme::runRun(int Argc, char **Argv) {
  // All words behind the separator are the application's.
  char **Separator = std::find_if(Argv, Argv + Argc, [](const char *Word) {
    return StringRef(Word) == "--";
  });
  size_t NumCommand =
      Separator == Argv + Argc ? 0 : Argv + Argc - Separator - 1;
  if (!NumCommand)
    return createStringError("no application: give it after '--'");
  ArrayRef<std::string> All = Words;
  ArrayRef<std::string> Packages = All.drop_back(NumCommand);
  if (Packages.empty())
    return createStringError("no package: give it before '--'");
  if (Error E = setEnvironment(Packages))
    return std::move(E);
  LaunchOptions Options;
  Options.Command = All.take_back(NumCommand).vec();
  bool UseCuda =
      DeviceKind == LaunchDevice::Cuda ||
      (DeviceKind == LaunchDevice::Auto && sys::fs::exists(Options.CudaNode));
  if (UseCuda)
    if (Error E = preloadLibrary(Argv[0]))
      return std::move(E);
  bool IsVerified = Verify || VerifyRate > 0;
  if (UseCuda && !IsVerified)
    return becomeApplication(Options.Command);
  // Any process of the application adds a line for each difference.
  SmallString<128> Log;
  if (IsVerified) {
    if (std::error_code EC =
            sys::fs::createTemporaryFile("mneme-differences", "", Log))
      return createFileError("mneme-differences", EC);
    setVariable(MNEME_ENV_TUNED_VERIFY_LOG, Log);
  }
  FileRemover Remover(Log, IsVerified);
  Options.RuntimePath = findLibrary(Argv[0], "libmneme_rt.so");
  Options.DriverPath = findLibrary(Argv[0], "MnemeHostDriver.so");
  Options.Device = LaunchDevice::Host;
  Options.Record = false;
  Options.Quiet = true;
  Options.AnyExecutable = true;
  Options.ReportError = printError;
  Expected<int> Code =
      UseCuda ? runApplication(Options.Command) : launchApplication(Options);
  uint64_t Size = 0;
  if (Code && !*Code && IsVerified && !sys::fs::file_size(Log, Size) && Size)
    return Differs;
  return Code;
}
