//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Launch/Launcher.h"
#include "ApplicationCheck.h"
#include "LaunchEnvironment.h"
#include "RecordKeeper.h"
#include "Server.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Runtime/Ranks.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Processes that outlive the application are served until all have been silent
/// for this long. A daemon must not keep the launcher running.
static constexpr std::chrono::seconds Grace(5);
/// Interval at which serveApplication() checks timeouts.
static constexpr int TickMilliseconds = 100;

static constexpr int ForwardedSignals[] = {SIGINT,  SIGTERM, SIGHUP,
                                           SIGQUIT, SIGUSR1, SIGUSR2};

//===----------------------------------------------------------------------===//
// The application's process
//===----------------------------------------------------------------------===//

static std::vector<char *> makeArguments(ArrayRef<std::string> Command) {
  std::vector<char *> Argv;
  for (const std::string &Arg : Command)
    Argv.push_back(const_cast<char *>(Arg.c_str()));
  Argv.push_back(nullptr);
  return Argv;
}

static Expected<Child> startApplication(const std::string &Path,
                                        ArrayRef<std::string> Command,
                                        Environment Env, const sigset_t &Mask) {
  ChildOptions O;
  O.IsUsers = true;
  O.Mask = Mask;
  O.Environment = std::move(Env);
  Expected<Child> App = Child::spawn(Path, Command, O);
  if (!App)
    return createFileError(Path, errorToErrorCode(App.takeError()));
  return App;
}

/// Reads the signals that the launcher received and forwards them to the
/// application while it runs. Signals from the terminal reach the application
/// directly, because it is in the same process group. \returns whether the
/// launcher must end: once the application has ended, signals are meant for the
/// launcher alone.
static bool takeSignals(int SignalFD, std::optional<pid_t> App) {
  bool IsToEnd = false;
  signalfd_siginfo Info;
  while (::read(SignalFD, &Info, sizeof(Info)) == sizeof(Info)) {
    if (Info.ssi_signo == SIGCHLD)
      continue;
    if (!App)
      IsToEnd |= Info.ssi_signo != SIGUSR1 && Info.ssi_signo != SIGUSR2;
    else if (Info.ssi_code <= 0)
      ::kill(*App, Info.ssi_signo);
  }
  return IsToEnd;
}

namespace {
/// Reports the recording's progress from time to time, because an application
/// can be silent for long.
class ProgressTeller {
public:
  explicit ProgressTeller(const LaunchOptions &Options) : Options(Options) {}
  bool isOn() const { return Options.ShowProgress && !Options.Quiet; }
  void tell(const RecordKeeper &Records) {
    double Now = steadySeconds();
    if (!isOn() || Now < Last + Interval)
      return;
    std::string Text = Records.describe();
    if (Text == LastText && Now < Last + LongInterval)
      return;
    Last = Now;
    LastText = Text;
    Options.ShowProgress(formatv("{0:f0} s: {1}", Now - Start, Text));
  }

private:
  static constexpr double Interval = 5, LongInterval = 30;
  const LaunchOptions &Options;
  double Start = steadySeconds(), Last = Start;
  std::string LastText;
};

/// Ends the application when all requested launches are recorded.
class Stopper {
public:
  Stopper(const LaunchOptions &Options, ArrayRef<std::string> Kernels)
      : Each(Options.StopAfter) {
    if (Each)
      copy_if(Kernels, std::back_inserter(Missing), [&](StringRef Kernel) {
        return Options.Selection.selects(Kernel);
      });
  }
  bool hasStopped() const { return HasStopped; }
  void check(const RecordKeeper &Records, const Child &App) {
    if (HasStopped && !WasKilled && secondsSince(StopTime) > KillSeconds) {
      WasKilled = true;
      ::kill(App.pid(), SIGKILL);
    }
    if (Missing.empty())
      return;
    erase_if(Missing,
             [&](StringRef K) { return Records.hasRecorded(K, Each); });
    if (!Missing.empty())
      return;
    HasStopped = true;
    StopTime = std::chrono::steady_clock::now();
    ::kill(App.pid(), SIGTERM);
  }

private:
  static constexpr double KillSeconds = 10;
  std::vector<std::string> Missing; ///< Selected kernels that lack recordings.
  uint64_t Each;
  bool HasStopped = false, WasKilled = false;
  std::chrono::steady_clock::time_point StopTime;
};
} // namespace

/// Serves the application until it and its descendants have ended, or until the
/// descendants were silent for Grace. Calls \p Check once \p Probe, if not
/// null, has its answer. \returns the application's wait status.
static int serveApplication(Server &S, RecordKeeper &Records, Child &App,
                            int SignalFD, GpuProbe *Probe,
                            function_ref<void()> Check, Stopper &Stop,
                            ProgressTeller Progress) {
  using Clock = std::chrono::steady_clock;
  bool HasEnded = false;
  Clock::time_point LastEvent = Clock::now();
  while (true) {
    std::vector<pollfd> Waits = {{SignalFD, POLLIN, 0}};
    if (Probe)
      Waits.push_back({Probe->fd(), POLLIN, 0});
    if (Records.syncFD() >= 0)
      Waits.push_back({Records.syncFD(), POLLIN, 0});
    S.addTo(Waits);
    bool MustLook =
        S.hasStrangers() || HasEnded || Progress.isOn() || Stop.hasStopped();
    int Ready =
        ::poll(Waits.data(), Waits.size(), MustLook ? TickMilliseconds : -1);
    if (takeSignals(SignalFD,
                    HasEnded ? std::nullopt : std::optional(App.pid())))
      return App.status();
    if (Probe && Probe->poll()) {
      Check();
      Probe = nullptr;
    }
    bool IsBusy = S.serve();
    Records.syncInBackground();
    if (!HasEnded) {
      Progress.tell(Records);
      Stop.check(Records, App);
    }
    if (Ready > 0 || IsBusy)
      LastEvent = Clock::now();
    if (!HasEnded && App.reap()) {
      HasEnded = true;
      LastEvent = Clock::now();
      continue;
    }
    bool IsOver = !S.hasConnections() || Clock::now() - LastEvent > Grace;
    if (HasEnded && !Probe && !IsBusy && IsOver)
      return App.status();
  }
}

//===----------------------------------------------------------------------===//
// Out of memory
//===----------------------------------------------------------------------===//

namespace {
/// The launcher's duties when it runs out of memory: to remain the
/// application's parent until the application ends, and to remove the socket.
class LastDuties {
public:
  LastDuties() { install_bad_alloc_error_handler(fulfil, this); }
  LastDuties(const LastDuties &) = delete;
  LastDuties &operator=(const LastDuties &) = delete;
  ~LastDuties() { remove_bad_alloc_error_handler(); }

  /// \param Libraries The folder may contain links to them.
  void setFolder(const PrivateFolder &TheFolder,
                 ArrayRef<std::string> Libraries) {
    Folder = TheFolder.path();
    Files = {TheFolder.pathOf("socket"), TheFolder.pathOf(ShapesFile)};
    for (const std::string &Library : Libraries)
      Files.push_back(TheFolder.pathOf(sys::path::filename(Library)));
  }
  void setApplication(Child *TheApp, int TheSignalFD) {
    App = TheApp;
    SignalFD = TheSignalFD;
  }

private:
  [[noreturn]] static void fulfil(void *Duties, const char *, bool);

  std::string Folder;
  std::vector<std::string> Files; ///< Contents of Folder.
  Child *App = nullptr;           ///< While it runs.
  int SignalFD = -1;
};
} // namespace

/// Must not allocate memory.
void LastDuties::fulfil(void *Duties, const char *, bool) {
  const auto &D = *static_cast<const LastDuties *>(Duties);
  static constexpr StringLiteral Message =
      "llvm-mneme-record: error: the launcher is out of memory: nothing more "
      "is recorded\n";
  [[maybe_unused]] ssize_t N =
      ::write(STDERR_FILENO, Message.data(), Message.size());
  for (const std::string &File : D.Files)
    ::unlink(File.c_str());
  ::rmdir(D.Folder.c_str());
  int Code = 1;
  if (D.App) {
    // Processes that wait for an answer must continue.
    ::close_range(STDERR_FILENO + 1, D.SignalFD - 1, 0);
    ::close_range(D.SignalFD + 1, ~0u, 0);
    while (!D.App->reap()) {
      pollfd Signals = {D.SignalFD, POLLIN, 0};
      ::poll(&Signals, 1, -1);
      takeSignals(D.SignalFD, D.App->pid());
    }
    int Status = D.App->status();
    Code = WIFSIGNALED(Status)   ? 128 + WTERMSIG(Status)
           : WEXITSTATUS(Status) ? WEXITSTATUS(Status)
                                 : 1;
  }
  ::_exit(Code);
}

//===----------------------------------------------------------------------===//
// launchApplication
//===----------------------------------------------------------------------===//

static LaunchDevice deviceFor(StringRef Arch) {
  return isForHip(Arch) ? LaunchDevice::Hip : LaunchDevice::Cuda;
}

/// The kind of GPUs to ask for, or both.
static StringRef kindOf(LaunchDevice Device) {
  return Device == LaunchDevice::Cuda  ? "cuda"
         : Device == LaunchDevice::Hip ? "hip"
                                       : "";
}

/// \returns the device that the application can be recorded on, judging by its
/// payloads; Auto for any GPU.
static Expected<LaunchDevice> chooseDevice(const LaunchOptions &Options,
                                           const std::string &Path,
                                           const ApplicationFacts &App) {
  LaunchDevice Wanted = Options.Device;
  if (Wanted == LaunchDevice::Host || App.Archs.empty())
    return Wanted;
  auto Suits = [&](LaunchDevice Device) {
    return any_of(App.Archs,
                  [&](StringRef Arch) { return deviceFor(Arch) == Device; });
  };
  if (Wanted == LaunchDevice::Auto)
    return Suits(LaunchDevice::Cuda) ? LaunchDevice::Cuda : LaunchDevice::Hip;
  if (Suits(Wanted))
    return Wanted;
  return createFileError(
      Path, createStringError(Twine("holds no kernels for ") +
                              (Wanted == LaunchDevice::Hip ? "AMD" : "NVIDIA") +
                              " GPUs, only for " + join(App.Archs, ", ")));
}

/// Waits for the driver's answer. \p Suited is the device that the application
/// suits. \returns the one to record on.
static Expected<LaunchDevice> checkDevices(const LaunchOptions &Options,
                                           const std::string &Path,
                                           const ApplicationFacts &App,
                                           LaunchDevice Suited,
                                           GpuProbe &Probe) {
  bool Auto = Options.Device == LaunchDevice::Auto;
  Expected<std::vector<GpuFacts>> Devices = Probe.finish();
  if (!Devices && !Auto)
    return createStringError(toString(Devices.takeError()) +
                             " (--device=host needs none)");
  if (!Devices) {
    std::string Problem = toString(Devices.takeError());
    // A machine without a GPU needs no warning.
    if (!StringRef(Problem).starts_with("no CUDA driver") &&
        !StringRef(Problem).ends_with("finds no device"))
      Options.Warn("recording on the host device: " + Problem);
    return LaunchDevice::Host;
  }
  if (Suited == LaunchDevice::Auto)
    Suited = deviceFor(Devices->front().Arch);
  erase_if(*Devices,
           [&](const GpuFacts &G) { return deviceFor(G.Arch) != Suited; });
  if (Devices->empty())
    return LaunchDevice::Host;
  if (App.Archs.empty())
    return Suited;
  Expected<std::string> Warning = checkArchitectures(App.Archs, *Devices);
  if (!Warning)
    return createFileError(
        Path, createStringError(toString(Warning.takeError()) +
                                " (--device=host runs it all the same)"));
  if (!Warning->empty())
    Options.Warn("'" + Path + "': " + *Warning);
  return Suited;
}

/// Replaces the launcher by the application, for a rank on a GPU that is not
/// recorded.
static Error becomeApplication(const std::string &Path,
                               ArrayRef<std::string> Command) {
  restoreChildSignals();
  ::execv(Path.c_str(), makeArguments(Command).data());
  return createFileError(Path, errnoAsErrorCode());
}

static bool includesThisRank(const LaunchSelection &Selection) {
  ::mneme::RankChoice Choice;
  Choice.parse(Selection.Ranks);
  return Choice.includesThisProcess();
}

/// \returns the libraries to load: the runtime and, on the host device, a
/// CUDA driver if the application at \p Path does not start without one, or may
/// open it.
static Expected<std::vector<std::string>>
findLibraries(const LaunchOptions &Options, LaunchDevice Device,
              const std::string &Path) {
  std::vector<std::string> Libraries = {
      Options.TakeProfile && Device == LaunchDevice::Cuda ? Options.ProfilerPath
      : Device == LaunchDevice::Cuda ? Options.CudaRuntimePath
      : Device == LaunchDevice::Hip  ? Options.HipRuntimePath
                                     : Options.RuntimePath};
  if (Device == LaunchDevice::Host &&
      (Options.AnyExecutable || needsCudaDriver(Path)))
    Libraries.push_back(Options.DriverPath);
  for (const std::string &Library : Libraries)
    if (!sys::fs::exists(Library))
      return createFileError(
          Library, std::make_error_code(std::errc::no_such_file_or_directory));
  return Libraries;
}

/// Profiles measure what one library alone does.
static Error checkProfiling(const LaunchOptions &Options, LaunchDevice Device) {
  if (!Options.TakeProfile || Device == LaunchDevice::Host)
    return Error::success();
  if (Device == LaunchDevice::Hip)
    return createStringError("--profile times launches on the host device and "
                             "on NVIDIA GPUs only, not on AMD GPUs");
  const char *Other = ::getenv(CudaInjection);
  if (!Other || !*Other)
    return Error::success();
  return createStringError(Twine(CudaInjection) + "='" + Other +
                           "' in the environment: --profile needs the variable "
                           "for its own profiler");
}

/// Runs the application without recording, because only other ranks are
/// recorded.
static void leaveAlone(LaunchOptions &Options) {
  Options.Record = false;
  Options.Quiet = true;
}

/// \returns an empty string if nothing is recorded.
static std::string getOutputDir(const LaunchOptions &Options) {
  if (!Options.Record || Options.TakeProfile)
    return "";
  SmallString<128> Dir(Options.OutputDir);
  sys::fs::make_absolute(Dir);
  return std::string(Dir);
}

/// Opens a descriptor to read signals from, and blocks these signals. \p
/// Original receives the previous signal mask.
static int openSignals(sigset_t &Original) {
  sigset_t Blocked;
  sigemptyset(&Blocked);
  sigaddset(&Blocked, SIGCHLD);
  for (int Signal : ForwardedSignals)
    sigaddset(&Blocked, Signal);
  ::sigprocmask(SIG_BLOCK, &Blocked, &Original);
  return ::signalfd(-1, &Blocked, SFD_NONBLOCK | SFD_CLOEXEC);
}

/// Writes the summary in one piece, because launchers of other ranks may write
/// to the same terminal or file.
static void printSummary(const LaunchOptions &Options,
                         const RecordKeeper &Records, bool HasStopped,
                         StringRef RankVariable) {
  std::string Text;
  raw_string_ostream Summary(Text);
  Records.print(Summary);
  if (HasStopped)
    Summary << "mneme: ended the application: a launch of each selected kernel "
               "is recorded\n";
  if (Options.Selection.Ranks.empty() && !RankVariable.empty())
    Summary << "mneme: of the ranks of this distributed run (" << RankVariable
            << "), only the first is recorded: --ranks=all records all\n";
  Options.PrintSummary(Text);
}

Expected<int> llvm::mneme::launchApplication(const LaunchOptions &Given) {
  if (Error E = Given.Selection.check())
    return std::move(E);
  LastDuties Duties;
  LaunchOptions Options = Given;
  // In a distributed run, each rank has its own launcher.
  bool IsLeftAlone = !includesThisRank(Options.Selection);
  if (IsLeftAlone)
    leaveAlone(Options);
  std::optional<GpuProbe> Probe;
  if (Options.Device != LaunchDevice::Host) {
    Expected<GpuProbe> Started = GpuProbe::start(kindOf(Options.Device));
    if (!Started)
      return Started.takeError();
    Probe.emplace(std::move(*Started));
  }
  Expected<std::string> Path = findProgram(Options.Command.front());
  if (!Path)
    return Path.takeError();
  Expected<ApplicationFacts> Facts =
      checkApplication(*Path, Options.AnyExecutable);
  if (!Facts)
    return Facts.takeError();
  if (!Facts->Warning.empty())
    Options.Warn(Facts->Warning);
  if (Options.StopAfter && none_of(Facts->Kernels, [&](StringRef Kernel) {
        return Options.Selection.selects(Kernel);
      }))
    return refuseSelection("no kernel of the application",
                           Options.Selection.KernelRegex, Facts->Kernels);
  Expected<LaunchDevice> Suited = chooseDevice(Options, *Path, *Facts);
  if (!Suited)
    return Suited.takeError();
  Expected<LaunchDevice> Device = *Suited;
  // If the driver's answer is hardly in doubt, the application starts while the
  // launcher waits for it.
  bool GoesAhead = Options.Device == LaunchDevice::Cuda &&
                   (IsLeftAlone || sys::fs::exists(Options.CudaNode));
  if (*Suited != LaunchDevice::Host && !GoesAhead)
    Device = checkDevices(Options, *Path, *Facts, *Suited, *Probe);
  if (!Device)
    return Device.takeError();
  if (!GoesAhead || IsLeftAlone)
    Probe.reset();
  if (*Device != LaunchDevice::Host && IsLeftAlone)
    return becomeApplication(*Path, Options.Command);
  if (*Device == LaunchDevice::Host)
    if (Error E = refuseSlim(*Path))
      return std::move(E);
  if (Error E = checkProfiling(Options, *Device))
    return std::move(E);
  auto Libraries = findLibraries(Options, *Device, *Path);
  if (!Libraries)
    return Libraries.takeError();
  RecordKeeper Records(getOutputDir(Options), Options.Selection.hashInput());
  Records.limit(Options.Selection.MaxBytes);
  if (Error E = Records.prepare(Options.OwnOutputDir))
    return std::move(E);
  Expected<PrivateFolder> Folder =
      PrivateFolder::createTemporary(/*ForSockets=*/true);
  if (!Folder)
    return Folder.takeError();
  Duties.setFolder(*Folder, *Libraries);
  Expected<Environment> Env = makeEnvironment(Options, *Libraries, *Folder);
  if (!Env)
    return Env.takeError();
  Server S(Records, Options.Host, Options.RunsPipeline, Options.Compiled);
  S.setIR(Options.IR);
  S.setWanted([&](StringRef Symbol) {
    return Options.Selection.selects(Symbol) &&
           (Options.Selection.Shapes.empty() ||
            StringRef(Options.Selection.Shapes)
                .contains((" " + Symbol + "\n").str()));
  });
  if (Error E = S.listen(Folder->pathOf("socket")))
    return std::move(E);

  if (Probe && Probe->poll()) {
    Device = checkDevices(Options, *Path, *Facts, *Suited, *Probe);
    if (!Device)
      return Device.takeError();
    Probe.reset();
  }
  // Nothing is recorded before the driver's answer.
  bool HasDevice = true;
  auto Check = [&] {
    Expected<LaunchDevice> Ok =
        checkDevices(Options, *Path, *Facts, *Suited, *Probe);
    if (!Ok) {
      HasDevice = false;
      Options.ReportError(Ok.takeError());
      S.refuseRecordings();
    }
    S.release();
  };
  if (Probe)
    S.hold();

  sigset_t Original;
  int SignalFD = openSignals(Original);
  Expected<Child> App =
      startApplication(*Path, Options.Command, std::move(*Env), Original);
  if (!App)
    return App.takeError();
  Duties.setApplication(&*App, SignalFD);
  Stopper Stop(Options, Facts->Kernels);
  int Status =
      serveApplication(S, Records, *App, SignalFD, Probe ? &*Probe : nullptr,
                       Check, Stop, ProgressTeller(Options));
  Duties.setApplication(nullptr, -1);
  ::close(SignalFD);
  S.storeRest();
  if (Error E = Records.sync())
    Options.ReportError(std::move(E));

  if (HasDevice && Options.TakeProfile) {
    S.profile().finish();
    Options.TakeProfile(std::move(S.profile()));
  } else if (HasDevice && !Options.Quiet)
    printSummary(Options, Records, Stop.hasStopped(), S.rankVariable());
  // From here on, a signal loses nothing.
  ::sigprocmask(SIG_SETMASK, &Original, nullptr);
  if (!HasDevice)
    return 1;
  if (*Device == LaunchDevice::Host && Options.CheckRecorded)
    Options.CheckRecorded(Records.firstLaunches());
  if (Stop.hasStopped())
    return 0;
  int ExitCode =
      WIFSIGNALED(Status) ? 128 + WTERMSIG(Status) : WEXITSTATUS(Status);
  Error Failed = Records.checkSelection(Options.Selection.KernelRegex);
  if (*Device == LaunchDevice::Host && !S.missingCode().empty())
    Failed = joinErrors(
        std::move(Failed),
        createStringError("the application ran without some of its kernels: " +
                          S.missingCode()));
  if (!Failed)
    return ExitCode;
  Options.ReportError(std::move(Failed));
  return ExitCode ? ExitCode : 1;
}
