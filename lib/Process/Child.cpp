//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Child.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Process/Jail.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

extern char **environ;

/// Exit code of a child that could not start.
static constexpr int CannotExecute = 127;

/// Time limit for a killed process to exit. A GPU driver may delay the exit
/// while it waits for a kernel that never ends.
static constexpr double ExitSeconds = 2;

//===----------------------------------------------------------------------===//
// Signals and ends
//===----------------------------------------------------------------------===//

static bool IgnoresChildren = false;

void mneme::prepareSignals() {
  IgnoresChildren = ::signal(SIGCHLD, SIG_DFL) == SIG_IGN;
  PrivateFolder::removeOnSignals();
}

static std::atomic<int> Interrupts{0};

static void handleInterrupt(int Signal) {
  if (++Interrupts < 3)
    return;
  PrivateFolder::removeAll();
  std::signal(Signal, SIG_DFL);
  std::raise(Signal);
}

const std::atomic<int> &mneme::countInterrupts() {
  // LLVM installs its own handlers with the first temporary file; make it do so
  // before ours are installed.
  sys::SetInterruptFunction([] {});
  for (int Signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(Signal, handleInterrupt) == SIG_IGN && Signal == SIGHUP)
      std::signal(Signal, SIG_IGN); // nohup
  return Interrupts;
}

void mneme::restoreChildSignals() {
  if (IgnoresChildren)
    ::signal(SIGCHLD, SIG_IGN);
}

std::string mneme::describeExit(int Status) {
  if (Status == UnknownStatus)
    return "ended in an unknown way";
  if (WIFSIGNALED(Status))
    return formatv("died of signal {0} ({1})", WTERMSIG(Status),
                   ::strsignal(WTERMSIG(Status)))
        .str();
  return formatv("ended the process with exit code {0}",
                 WIFEXITED(Status) ? WEXITSTATUS(Status) : -1)
      .str();
}

LastWords mneme::findLastWords(StringRef Written) {
  SmallVector<StringRef> Lines;
  Written.split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines) {
    if (Line.contains("bad_alloc") || Line.contains("out of memory"))
      return {"out of memory", /*IsOutOfMemory=*/true};
    if (Line.consume_front("LLVM ERROR: ") || Line.contains("Assertion `") ||
        Line.contains("ERROR: "))
      return {Line.str()};
  }
  return {Lines.empty() ? "" : Lines.back().str()};
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

uint64_t mneme::getDataBytes() {
  std::FILE *File = std::fopen("/proc/self/statm", "re");
  if (!File)
    return 0;
  unsigned long Pages = 0;
  bool Read = std::fscanf(File, "%*u %*u %*u %*u %*u %lu", &Pages) == 1;
  std::fclose(File);
  return Read ? Pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

static void limit(decltype(RLIMIT_CORE) Resource, rlim_t Most) {
  rlimit Limit = {Most, Most};
  ::setrlimit(Resource, &Limit);
}

/// RLIMIT_AS would also count reserved address space, which costs nothing.
static void limitData(rlim_t Most) {
  if (!LLVM_ADDRESS_SANITIZER_BUILD)
    limit(RLIMIT_DATA, Most);
}

void mneme::limitMemory(uint64_t Bytes) { limitData(getDataBytes() + Bytes); }

static void setTimer(double Seconds) {
  constexpr double Longest = 1e9;
  double Whole, Rest = std::modf(std::min(Seconds, Longest), &Whole);
  itimerval Timer = {};
  Timer.it_value.tv_sec = static_cast<time_t>(Whole);
  Timer.it_value.tv_usec =
      std::max<suseconds_t>(static_cast<suseconds_t>(Rest * 1e6), 1);
  ::setitimer(ITIMER_REAL, &Timer, nullptr);
}

static ThreadExtension Extension;

static void handleTimer(int Signal) {
  int SavedErrno = errno;
  if (double More = Extension.take()) {
    setTimer(More);
  } else {
    ::signal(Signal, SIG_DFL);
    ::raise(Signal);
  }
  errno = SavedErrno;
}

/// Starts a timer whose signal ends the process, whatever it is doing and even
/// if the parent is busy. A function, unlike a program, is given the time
/// during which it had no processor.
static void startTimer(double Seconds, bool IsProgram) {
  if (!IsProgram) {
    Extension = ThreadExtension(Seconds);
    ::signal(SIGALRM, handleTimer);
  }
  setTimer(Seconds);
}

//===----------------------------------------------------------------------===//
// In the child
//===----------------------------------------------------------------------===//

namespace {
/// Prepares a child in the parent. Only enter() runs in the child, and it makes
/// nothing but system calls: after vfork(), the child shares the parent's
/// memory.
class Start {
public:
  Start(const ChildOptions &Options, bool IsProgram)
      : Options(Options), IsProgram(IsProgram) {}
  Error prepare();
  /// Blocks all signals. No handler of the parent may run in the child.
  void blockSignals();
  void restoreSignals() {
    ::pthread_sigmask(SIG_SETMASK, &ParentMask, nullptr);
  }
  /// \returns 0, or the reason why the child cannot start.
  int enter() const;

  bool Outlives = false; ///< The child is a guard.
  int GuardFD = -1;

private:
  const ChildOptions &Options;
  bool IsProgram;
  int Streams[3] = {-1, -1, -1}; ///< -1: inherited.
  SmallVector<Descriptor, 3> Opened;
  SmallVector<int, 2> Kept;
  rlim_t DataBytes = 0;
  cpu_set_t Cores;
  pid_t Parent = ::getpid();
  sigset_t ParentMask;

  void resetSignals() const;
  void applyLimits() const;
  void closeOthers() const;
};
} // namespace

Error Start::prepare() {
  const int Wanted[] = {Options.In, Options.Out, Options.Err};
  for (int Number = STDIN_FILENO; Number <= STDERR_FILENO; ++Number) {
    int FD = Wanted[Number], Source = FD;
    if (Options.IsUsers || FD == InheritStream || FD == Number)
      continue;
    if (FD == NullStream)
      Source = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    else if (FD <= STDERR_FILENO) // dup2() may overwrite it
      Source = ::fcntl(FD, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (Source < 0)
      return systemError("cannot prepare the streams of a process",
                         errno == EINVAL ? EMFILE : errno);
    if (Source != FD)
      Opened.emplace_back(Source);
    Streams[Number] = Source;
  }
  Kept = Options.Kept;
  if (Options.Confined && Options.Confined->fd() >= 0)
    Kept.push_back(Options.Confined->fd());
  llvm::sort(Kept);
  const ChildLimits &Limits = Options.Limits;
  if (Limits.Bytes)
    DataBytes = Limits.Bytes + (IsProgram ? 0 : getDataBytes());
  CPU_ZERO(&Cores);
  for (unsigned Core : Limits.Cores)
    if (Core < CPU_SETSIZE)
      CPU_SET(Core, &Cores);
  return Error::success();
}

void Start::blockSignals() {
  sigset_t All;
  sigfillset(&All);
  ::pthread_sigmask(SIG_SETMASK, &All, &ParentMask);
}

/// Crash signals are not reset: sanitizers handle them, and exec resets them.
/// SIGXFSZ is reset only for a program. In a child that runs a function, as in
/// its parent, writing beyond the file size limit returns an error instead.
void Start::resetSignals() const {
  for (int S : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD, SIGUSR1,
                SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGTTIN, SIGCONT, SIGXCPU})
    ::signal(S, SIG_DFL);
  if (IsProgram)
    ::signal(SIGXFSZ, SIG_DFL);
  else
    PrivateFolder::removeOnSignals();
  // The child's process group is in the background of the terminal. It may
  // write there even if the terminal has TOSTOP set.
  ::signal(SIGTTOU, SIG_IGN);
}

void Start::applyLimits() const {
  const ChildLimits &Limits = Options.Limits;
  if (!IsProgram && !Options.ShowsCrash)
    limit(RLIMIT_CORE, 0);
  if (DataBytes)
    limitData(DataBytes);
  if (Limits.ProcessorSeconds) {
    // SIGXCPU is sent at the soft limit, SIGKILL at the hard limit.
    rlimit Processor = {Limits.ProcessorSeconds, Limits.ProcessorSeconds + 1};
    ::setrlimit(RLIMIT_CPU, &Processor);
  }
  if (Limits.FileBytes)
    limit(RLIMIT_FSIZE, Limits.FileBytes);
  if (Limits.Nice)
    (void)!::nice(Limits.Nice);
  if (!Limits.Cores.empty())
    ::sched_setaffinity(0, sizeof(Cores), &Cores);
  if (Limits.Seconds > 0)
    startTimer(Limits.Seconds, IsProgram);
}

static void closeRange(unsigned First, unsigned Last) {
#ifdef SYS_close_range
  if (First > Last || ::syscall(SYS_close_range, First, Last, 0) == 0)
    return;
#endif
  Last = std::min<unsigned long>(Last, ::sysconf(_SC_OPEN_MAX));
  for (unsigned FD = First; FD <= Last; ++FD)
    ::close(FD);
}

/// Closes the parent's other descriptors, among them locked files and
/// connections whose closing another process waits for.
void Start::closeOthers() const {
  unsigned First = STDERR_FILENO + 1;
  for (int FD : Kept) {
    closeRange(First, FD - 1);
    First = FD + 1;
  }
  closeRange(First, ~0u);
}

int Start::enter() const {
  if (Options.IsUsers) {
    // Signals that the user ignores stay ignored; handlers belong to this
    // process.
    for (int S = 1; S < NSIG; ++S) {
      struct sigaction Action;
      if (::sigaction(S, nullptr, &Action) == 0 && Action.sa_handler != SIG_IGN)
        ::signal(S, SIG_DFL);
    }
    restoreChildSignals();
    ::sigprocmask(SIG_SETMASK, &Options.Mask, nullptr);
    return 0;
  }
  if (Options.OwnSession)
    ::setsid();
  else
    ::setpgid(0, 0);
  if (!Outlives && Options.Grace <= 0)
    ::prctl(PR_SET_PDEATHSIG, IsProgram ? SIGKILL : Options.DeathSignal);
  // The parent died before prctl(). A guard continues: it exists for this case.
  if (!Outlives && ::getppid() != Parent)
    ::_exit(CannotExecute);
  pid_t Self = ::getpid();
  if (GuardFD >= 0 &&
      ::send(GuardFD, &Self, sizeof(Self), MSG_NOSIGNAL) != sizeof(Self))
    return errno;
  resetSignals();
  for (auto [Number, FD] : enumerate(Streams))
    if (FD >= 0 && ::dup2(FD, Number) < 0)
      return errno;
  closeOthers();
  if (!Options.Directory.empty() && ::chdir(Options.Directory.c_str()) != 0)
    return errno;
  applyLimits();
  sigset_t None;
  sigemptyset(&None);
  ::sigprocmask(SIG_SETMASK, &None, nullptr);
  return Options.Confined ? Options.Confined->enter() : 0;
}

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

/// A process that detects the end of this one, even by SIGKILL. It then ends
/// the program's process group, because PR_SET_PDEATHSIG does not reach the
/// children of a script.
class Child::Guard {
public:
  static Expected<std::unique_ptr<Guard>> start(const ChildOptions &Options);
  int fd() const { return Connection.get(); }

private:
  Guard(Descriptor Connection) : Connection(std::move(Connection)) {}
  Descriptor Connection;
  Child Process; ///< Destroyed first, before the connection is closed.

  static void watch(int FD, const ChildOptions &Options);
};

/// Runs in the guard. The guard is a fork of a process that may have several
/// threads, so it does as little as possible.
void Child::Guard::watch(int FD, const ChildOptions &Options) {
  // Killing the tool by its name should not kill its guards.
  ::prctl(PR_SET_NAME, "mneme-guard");
  pid_t Group = 0, Received;
  while (sys::RetryAfterSignal(-1, ::read, FD, static_cast<void *>(&Received),
                               sizeof(Received)) == sizeof(Received))
    Group = Received;
  if (Group > 0) {
    auto HasEnded = [&] { return ::kill(-Group, 0) != 0; };
    if (Options.Grace > 0 && !waitUntil(HasEnded, Options.Grace)) {
      ::kill(-Group, SIGTERM);
      waitUntil(HasEnded, Options.Grace);
    }
    ::kill(-Group, SIGKILL);
  }
  if (Options.CleanUp)
    Options.CleanUp();
}

//===----------------------------------------------------------------------===//
// Child
//===----------------------------------------------------------------------===//

/// Children of this thread that did not exit in time after SIGKILL.
static thread_local std::vector<pid_t> Zombies;

static void reapZombies() {
  erase_if(Zombies,
           [](pid_t Pid) { return ::waitpid(Pid, nullptr, WNOHANG) != 0; });
}

Child::Child() = default;
Child::Child(Child &&Other) { *this = std::move(Other); }

static Expected<pid_t> forkFunction(function_ref<void()> Main,
                                    const ChildOptions &Options,
                                    bool Outlives) {
  Start S(Options, /*IsProgram=*/false);
  S.Outlives = Outlives;
  if (Error E = S.prepare())
    return std::move(E);
  reapZombies();
  if (Options.Out == InheritStream || Options.Err == InheritStream ||
      Options.Out == STDERR_FILENO) {
    // Otherwise the child would write the buffered text a second time.
    outs().flush();
    errs().flush();
    ::fflush(nullptr);
  }
  S.blockSignals();
  pid_t Pid = ::fork();
  if (Pid == 0) {
    if (!Options.ShowsCrash)
      sys::unregisterHandlers();
    // The parent's handlers act on the parent's objects.
    remove_fatal_error_handler();
    remove_bad_alloc_error_handler();
    if (S.enter() != 0)
      ::_exit(CannotExecute);
    Main();
    // Run no destructors: the objects are the parent's.
    ::_exit(0);
  }
  int Code = errno;
  S.restoreSignals();
  if (Pid < 0)
    return systemError("cannot create a process", Code);
  ::setpgid(Pid, Pid); // here or in the child, whichever comes first
  return Pid;
}

Expected<Child> Child::fork(function_ref<void()> Main,
                            const ChildOptions &Options) {
  Expected<pid_t> Pid = forkFunction(Main, Options, /*Outlives=*/false);
  if (!Pid)
    return Pid.takeError();
  Child C;
  C.Pid = *Pid;
  C.HasEnded = false;
  return std::move(C);
}

Expected<std::unique_ptr<Child::Guard>>
Child::Guard::start(const ChildOptions &Options) {
  Expected<Pipe> Ends = Pipe::createSocket();
  if (!Ends)
    return Ends.takeError();
  int FD = Ends->Read.get();
  ChildOptions O;
  O.Err = NullStream;
  O.Kept = {FD};
  Expected<pid_t> Pid =
      forkFunction([&] { watch(FD, Options); }, O, /*Outlives=*/true);
  if (!Pid)
    return Pid.takeError();
  std::unique_ptr<Guard> G(new Guard(std::move(Ends->Write)));
  G->Process.Pid = *Pid;
  G->Process.HasEnded = false;
  return std::move(G);
}

/// Builds the environment of a program. The result points into \p Texts.
static std::vector<char *> makeEnvironment(const ChildOptions &Options,
                                           std::vector<std::string> &Texts) {
  for (const auto &[Name, Value] : Options.Environment)
    Texts.push_back(Name + "=" + Value);
  std::vector<char *> Variables;
  for (std::string &Text : Texts)
    Variables.push_back(Text.data());
  for (char **V = environ; *V && !Options.OnlyEnvironment; ++V)
    if (none_of(Options.Environment, [&](const auto &New) {
          return StringRef(*V).split('=').first == New.first;
        }))
      Variables.push_back(*V);
  Variables.push_back(nullptr);
  return Variables;
}

Expected<Child> Child::spawn(const std::string &Program,
                             ArrayRef<std::string> Words,
                             const ChildOptions &Options) {
  std::vector<char *> Arguments;
  for (const std::string &Word : Words)
    Arguments.push_back(const_cast<char *>(Word.c_str()));
  Arguments.push_back(nullptr);
  std::vector<std::string> Texts;
  std::vector<char *> Environment = makeEnvironment(Options, Texts);
  Start S(Options, /*IsProgram=*/true);
  if (Error E = S.prepare())
    return std::move(E);
  reapZombies();
  Child C;
  C.IsUsers = Options.IsUsers;
  if (!Options.IsUsers) {
    if (Error E = Guard::start(Options).moveInto(C.Watch))
      return std::move(E);
    S.GuardFD = C.Watch->fd();
  }
  // Written by the child, which shares this process's memory until execve().
  volatile int Failure = 0;
  S.blockSignals();
  // Unlike fork(), vfork() does not take longer in a large process.
  C.Pid = ::vfork();
  if (C.Pid == 0) {
    Failure = S.enter();
    if (Failure == 0) {
      ::execve(Program.c_str(), Arguments.data(), Environment.data());
      Failure = errno;
    }
    ::_exit(CannotExecute);
  }
  int Code = errno;
  S.restoreSignals();
  if (C.Pid < 0)
    return systemError("cannot create a process", Code);
  C.HasEnded = false;
  if (Failure == 0)
    return std::move(C);
  C.wait();
  return systemError("cannot run '" + Program + "'", Failure);
}

Child &Child::operator=(Child &&Other) {
  std::swap(Pid, Other.Pid);
  std::swap(Status, Other.Status);
  std::swap(HasEnded, Other.HasEnded);
  std::swap(IsUsers, Other.IsUsers);
  std::swap(IsKilled, Other.IsKilled);
  std::swap(Watch, Other.Watch);
  return *this;
}

Child::~Child() {
  if (HasEnded || IsUsers)
    return;
  bool HasWaited = IsKilled;
  kill();
  if (!waitUntil([this] { return reap(); }, HasWaited ? 0 : ExitSeconds))
    Zombies.push_back(Pid);
}

void Child::signal(int Number) const {
  if (!HasEnded)
    ::kill(IsUsers ? Pid : -Pid, Number);
}

void Child::kill() {
  if (HasEnded)
    return;
  IsKilled = true;
  signal(SIGKILL);
  ::kill(Pid, SIGKILL); // the child may have left its group
}

/// Calls waitid() without reaping the process. \returns true if \p Pid has
/// ended or is not a child.
static bool peek(pid_t Pid, bool &IsChild) {
  siginfo_t Info = {};
  IsChild = ::waitid(P_PID, Pid, &Info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return !IsChild || Info.si_pid != 0;
}

bool Child::hasEnded() const {
  bool IsChild;
  return HasEnded || peek(Pid, IsChild);
}

bool Child::reap() {
  if (HasEnded)
    return true;
  bool IsChild;
  if (!peek(Pid, IsChild))
    return false;
  // The id of the group cannot be reused before waitpid().
  if (IsChild && !IsUsers)
    ::kill(-Pid, SIGKILL);
  if (sys::RetryAfterSignal(-1, ::waitpid, Pid, &Status, 0) != Pid)
    Status = UnknownStatus;
  HasEnded = true;
  Watch.reset();
  return true;
}

int Child::wait() {
  if (!HasEnded) {
    siginfo_t Info;
    sys::RetryAfterSignal(-1, ::waitid, P_PID, static_cast<id_t>(Pid), &Info,
                          WEXITED | WNOWAIT);
    reap();
  }
  return Status;
}

bool Child::wait(double Seconds) {
  return waitUntil([this] { return reap(); }, Seconds);
}
