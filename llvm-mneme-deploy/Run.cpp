//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "RunFlags.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Runtime/DeployEnvironment.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/FileSystem.h"
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

static RunFlags ServedFlags(RunCommand);
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
static cl::opt<std::string>
    VerifyRate("verify-rate",
               cl::desc("Share of the later launches to compare, from 0 to 1 "
                        "(default 0)"),
               cl::value_desc("share"), cl::sub(RunCommand),
               cl::cat(CommandCategory));

/// Sets a variable of the application to a word, unless the word is empty.
static void setVariable(const char *Name, StringRef Value) {
  if (!Value.empty())
    ::setenv(Name, Value.str().c_str(), /*overwrite=*/1);
}

static void setEnvironment(const RunFlags::Values &V) {
  setVariable(MNEME_ENV_TUNED, join(V.Packages, ":"));
  setVariable(MNEME_ENV_TUNED_SCOPE, V.Serve.Scope);
  setVariable(MNEME_ENV_TUNED_LAUNCH_SHAPE, V.Serve.LaunchShape);
  setVariable(MNEME_ENV_TUNED_CODE, V.Serve.Code);
  setVariable(MNEME_ENV_TUNED_DEVICE_MATCH, V.Serve.DeviceMatch);
  setVariable(MNEME_ENV_TUNED_REPORT, Report);
  setVariable(MNEME_ENV_TUNED_STRICT, Strict ? "1" : "");
  setVariable(MNEME_ENV_TUNED_VERIFY, Verify ? utostr(Verify) : "");
  setVariable(MNEME_ENV_TUNED_VERIFY_RATE, VerifyRate);
}

static volatile pid_t AppProcess;

/// Signals from the terminal reach the application directly, because it is in
/// the same process group.
static void forwardSignal(int Number, siginfo_t *Info, void *) {
  if (Info->si_code <= 0)
    ::kill(AppProcess, Number);
}

/// Runs the application to its end. \returns its exit code, or 128 + N if
/// signal N ended it.
static Expected<int> runApplication(const std::vector<std::string> &Command) {
  Expected<std::string> Program = findProgram(Command.front());
  if (!Program)
    return Program.takeError();
  ChildOptions Options;
  Options.IsUsers = true;
  ::sigprocmask(SIG_SETMASK, nullptr, &Options.Mask);
  Expected<Child> App = Child::spawn(*Program, Command, Options);
  if (!App)
    return App.takeError();
  AppProcess = App->pid();
  struct sigaction Forward = {};
  Forward.sa_sigaction = forwardSignal;
  Forward.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int S : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    ::sigaction(S, &Forward, nullptr);
  int Status = App->wait();
  return WIFSIGNALED(Status) ? 128 + WTERMSIG(Status) : WEXITSTATUS(Status);
}

Expected<int> mneme::runRun(ToolArgs Args) {
  Expected<RunFlags::Values> V = ServedFlags.read(Args);
  if (!V)
    return V.takeError();
  double Rate = 0;
  if (VerifyRate.getNumOccurrences() &&
      (StringRef(VerifyRate).getAsDouble(Rate) || !(Rate >= 0 && Rate <= 1)))
    return createStringError(
        "--verify-rate: expected a number from 0 to 1, got '" + VerifyRate +
        "'");
  setEnvironment(*V);
  std::string LibraryPath = getLibraryFolder(Args.front());
  LaunchOptions Options = makeHostLaunch(std::move(V->Command), LibraryPath);
  LaunchDevice Device = findServedDevice(V->Device);
  bool UseGPU = Device != LaunchDevice::Host;
  if (UseGPU) {
    Expected<std::string> Preload = getPreloadValue(LibraryPath, Device);
    if (!Preload)
      return Preload.takeError();
    setVariable("LD_PRELOAD", *Preload);
  }
  bool IsVerified = Verify || Rate > 0;
  PrivateFolder Folder;
  if (Error E = PrivateFolder::createTemporary().moveInto(Folder))
    return std::move(E);
  const char *Reported = ::getenv(MNEME_ENV_TUNED_REPORT);
  bool IsReported = Reported && *Reported;
  if (!IsReported)
    setVariable(MNEME_ENV_TUNED_REPORT, Folder.pathOf("report.%p.json"));
  // Any process of the application adds a line for each difference.
  std::string Log;
  if (IsVerified) {
    Log = Folder.pathOf("differences");
    if (Error E = writeFileAtomically(Log, ""))
      return std::move(E);
    setVariable(MNEME_ENV_TUNED_VERIFY_LOG, Log);
  }
  Options.ReportError = printError;
  Options.Warn = printWarning;
  Expected<int> Code =
      UseGPU ? runApplication(Options.Command) : launchApplication(Options);
  if (Code && !IsReported) {
    Expected<PackageUse> Use = readPackageUse(Folder.path());
    if (Use)
      printNote(Use->summarize());
    else
      printWarning(toString(Use.takeError()));
  }
  uint64_t Size = 0;
  if (Code && !*Code && IsVerified && !sys::fs::file_size(Log, Size) && Size)
    return Differs;
  return Code;
}
