//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"
#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/ChildProcess.h"
#include "llvm/Mneme/Support/ChildTask.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

extern char **environ;

/// What is kept of what a process says.
static constexpr size_t MessageBytes = 8192;

/// Reads of a process's messages in one turn.
static constexpr unsigned MaxChunks = 16;

/// A line of a program that is longer is several.
static constexpr size_t MaxLineBytes = 4096;

/// How long a process that was killed may take to be gone: a driver may wait
/// for a kernel that never ends.
static constexpr double ExitSeconds = 2;

/// Where the channel lies in the child.
static constexpr int ChannelFD = 3;

static Error systemError(const Twine &What) {
  return recognizeShortage(createStringError(errnoAsErrorCode(), What));
}

//===----------------------------------------------------------------------===//
// Child
//===----------------------------------------------------------------------===//

static void applyLimits(const ProcessLimits &Limits) {
  if (Limits.Nice)
    (void)!::nice(Limits.Nice);
  rlimit NoCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &NoCore);
  if (Limits.Bytes)
    limitMemory(Limits.Bytes);
  if (!Limits.Cores.empty()) {
    cpu_set_t Set;
    CPU_ZERO(&Set);
    for (unsigned Core : Limits.Cores)
      if (Core < CPU_SETSIZE)
        CPU_SET(Core, &Set);
    ::sched_setaffinity(0, sizeof(Set), &Set);
  }
}

/// What the parent handles is not ours to handle.
static void resetSignals() {
  sys::unregisterHandlers();
  for (int S : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD, SIGUSR1,
                SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT})
    ::signal(S, SIG_DFL);
  sigset_t None;
  sigemptyset(&None);
  ::sigprocmask(SIG_SETMASK, &None, nullptr);
}

/// Leaves standard error and the channel. All else is the parent's: files with
/// locks, connections whose end somebody waits for.
static bool takeDescriptors(int Link, int Messages) {
  int Null = ::open("/dev/null", O_RDWR);
  if (Null < 0)
    return false;
  // None of them may lie where another one goes.
  int FDs[] = {::fcntl(Null, F_DUPFD, 16), ::fcntl(Messages, F_DUPFD, 16),
               ::fcntl(Link, F_DUPFD, 16)};
  if (FDs[0] < 0 || FDs[1] < 0 || FDs[2] < 0)
    return false;
  // What a kernel prints is nobody's.
  if (::dup2(FDs[0], STDIN_FILENO) < 0 || ::dup2(FDs[0], STDOUT_FILENO) < 0 ||
      ::dup2(FDs[1], STDERR_FILENO) < 0 || ::dup2(FDs[2], ChannelFD) < 0)
    return false;
  ::fcntl(ChannelFD, F_SETFD, FD_CLOEXEC);
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, ChannelFD + 1, ~0u, 0) == 0)
    return true;
#endif
  long Most = ::sysconf(_SC_OPEN_MAX);
  for (int FD = ChannelFD + 1; FD < Most; ++FD)
    ::close(FD);
  return true;
}

static void reportFatalError(void *Link, const char *Reason, bool) {
  consumeError(send(*static_cast<Channel *>(Link), message::Fatal{Reason}));
  ::_exit(1);
}

/// Not what a candidate may take (Limits.Bytes) but what the machine has, or a
/// limit of the user's.
static bool isShortOfMemory() {
  rlimit Data;
  if (::getrlimit(RLIMIT_DATA, &Data) != 0 || Data.rlim_cur == RLIM_INFINITY)
    return true;
  uint64_t Used = getDataBytes();
  uint64_t Left = Data.rlim_cur - std::min<uint64_t>(Data.rlim_cur, Used);
  return getAvailableMemory() < Left;
}

static void reportBadAlloc(void *Link, const char *Reason, bool) {
  static bool IsAgain = false;
  if (!std::exchange(IsAgain, true) && isShortOfMemory())
    consumeError(send(*static_cast<Channel *>(Link),
                      message::Shortage{toString(makeOutOfMemoryError())}));
  // As LLVM says it; the parent knows the words.
  errs() << "LLVM ERROR: out of memory\n";
  ::_exit(1);
}

[[noreturn]] static void runChild(function_ref<void(Channel &)> Main,
                                  pid_t Parent, int Link, int Messages,
                                  const ProcessLimits &Limits,
                                  ArrayRef<MessageKind> Kinds) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != Parent)
    ::_exit(1); // it died before that
  resetSignals();
  if (!takeDescriptors(Link, Messages)) {
    // The limit is below where they go, or the table is full.
    Error E = recognizeShortage(createStringError(
        std::make_error_code(std::errc::too_many_files_open), "the process"));
    Channel Connection(Link, Kinds);
    consumeError(send(Connection, message::Shortage{toString(std::move(E))}));
    ::_exit(1);
  }
  applyLimits(Limits);
  // Never destroyed: the parent's objects are not ours to destroy.
  auto *Connection = new Channel(ChannelFD, Kinds);
  remove_fatal_error_handler();
  install_fatal_error_handler(reportFatalError, Connection);
  remove_bad_alloc_error_handler();
  install_bad_alloc_error_handler(reportBadAlloc, Connection);
  Main(*Connection);
  ::_exit(0);
}

//===----------------------------------------------------------------------===//
// Parent
//===----------------------------------------------------------------------===//

/// Processes that were killed but hung in the kernel.
static std::vector<pid_t> &getUndead() {
  static std::vector<pid_t> Pids;
  return Pids;
}

/// Those that have died since.
static void bury() {
  erase_if(getUndead(),
           [](pid_t Pid) { return ::waitpid(Pid, nullptr, WNOHANG) != 0; });
}

Expected<std::unique_ptr<Process>>
Process::start(function_ref<void(Channel &)> Main, const ProcessLimits &Limits,
               ArrayRef<MessageKind> FromChild, ArrayRef<MessageKind> ToChild) {
  int Ends[2], Pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Ends) != 0)
    return systemError("cannot make a connection");
  if (::pipe2(Pipe, O_CLOEXEC) != 0) {
    Error E = systemError("cannot make a pipe");
    ::close(Ends[0]);
    ::close(Ends[1]);
    return std::move(E);
  }
  bury();
  // What is buffered must not be written twice.
  outs().flush();
  errs().flush();
  ::fflush(nullptr);
  pid_t Parent = ::getpid();
  pid_t Child = ::fork();
  if (Child == 0)
    runChild(Main, Parent, Ends[1], Pipe[1], Limits, ToChild);
  Error E = Child < 0 ? systemError("cannot create a process")
                      : Error::success();
  ::close(Ends[1]);
  ::close(Pipe[1]);
  if (E) {
    ::close(Ends[0]);
    ::close(Pipe[0]);
    return std::move(E);
  }
  ::setpgid(Child, Child); // whoever is first
  ::fcntl(Pipe[0], F_SETFL, O_NONBLOCK);
  std::unique_ptr<Process> P(new Process(
      Child, std::make_unique<Channel>(Ends[0], FromChild), Pipe[0]));
  P->LimitBytes = Limits.Bytes;
  if (Error E = P->Link->makeNonBlocking())
    return std::move(E);
  return std::move(P);
}

/// posix_spawnp() with these standard streams.
static int spawn(pid_t &Child, ArrayRef<std::string> Words,
                 ArrayRef<int> Streams) {
  posix_spawn_file_actions_t Actions;
  posix_spawnattr_t Attributes;
  posix_spawn_file_actions_init(&Actions);
  posix_spawnattr_init(&Attributes);
  scope_exit Destroy([&] {
    posix_spawn_file_actions_destroy(&Actions);
    posix_spawnattr_destroy(&Attributes);
  });
  for (auto [I, FD] : enumerate(Streams))
    posix_spawn_file_actions_adddup2(&Actions, FD, I);
  // With no terminal, nothing can ask there for a password, and Ctrl-C is for
  // the study alone.
  sigset_t All, None;
  sigfillset(&All);
  sigemptyset(&None);
  posix_spawnattr_setsigdefault(&Attributes, &All);
  posix_spawnattr_setsigmask(&Attributes, &None);
  posix_spawnattr_setflags(&Attributes, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETSIGMASK);
  std::vector<char *> Arguments;
  for (const std::string &Word : Words)
    Arguments.push_back(const_cast<char *>(Word.c_str()));
  Arguments.push_back(nullptr);
  return ::posix_spawnp(&Child, Arguments.front(), &Actions, &Attributes,
                        Arguments.data(), environ);
}

Expected<std::unique_ptr<Process>>
Process::launch(ArrayRef<std::string> Words, ArrayRef<MessageKind> FromChild) {
  // Of each stream, the child's end and ours. Pipes: to a shell, a socket as
  // its input is a sign of rsh.
  int Child[3] = {-1, -1, -1}, Own[3] = {-1, -1, -1};
  scope_exit Close([&] {
    for (int FD : {Child[0], Child[1], Child[2], Own[0], Own[1], Own[2]})
      if (FD >= 0)
        ::close(FD);
  });
  for (unsigned I = 0; I != 3; ++I) {
    int Ends[2];
    if (::pipe2(Ends, O_CLOEXEC) != 0)
      return systemError("cannot make a pipe");
    Child[I] = Ends[I == STDIN_FILENO ? 0 : 1];
    Own[I] = Ends[I == STDIN_FILENO ? 1 : 0];
  }
  bury();
  pid_t Pid = 0;
  if (int Code = spawn(Pid, Words, Child))
    return createStringError(std::error_code(Code, std::generic_category()),
                             "cannot run '" + Words.front() + "'");
  ::fcntl(Own[2], F_SETFL, O_NONBLOCK);
  std::unique_ptr<Process> P(new Process(
      Pid, std::make_unique<Channel>(Own[1], Own[0], FromChild), Own[2]));
  P->IsProgram = true;
  std::fill(std::begin(Own), std::end(Own), -1);
  if (Error E = P->Link->makeNonBlocking())
    return std::move(E);
  return std::move(P);
}

std::unique_ptr<Process> Process::play(int Socket,
                                       ArrayRef<MessageKind> FromChild) {
  std::unique_ptr<Process> P(
      new Process(0, std::make_unique<Channel>(Socket, FromChild), -1));
  P->Silent = true;
  cantFail(P->Link->makeNonBlocking());
  return P;
}

Process::~Process() {
  if (!Gone) {
    kill();
    // What does not die of that hangs in the kernel, and is not waited for.
    if (!waitUntil([this] { return reap(); }, ExitSeconds))
      getUndead().push_back(Pid);
  }
  if (Messages >= 0)
    ::close(Messages);
}

void Process::readMessages() {
  if (Silent)
    return;
  char Chunk[4096];
  ssize_t N = -1;
  // What writes without end must not keep this process from all else.
  for (unsigned I = 0;
       I != MaxChunks && (N = ::read(Messages, Chunk, sizeof(Chunk))) > 0;
       ++I) {
    Written.append(Chunk, N);
    if (IsProgram)
      Untaken.append(Chunk, N);
    if (Written.size() > 2 * MessageBytes)
      Written.erase(0, Written.size() - MessageBytes);
  }
  Silent |= N == 0;
}

std::vector<std::string> Process::takeLines() {
  std::vector<std::string> Lines;
  StringRef Rest = Untaken;
  while (!Rest.empty()) {
    size_t End = Rest.find('\n');
    if (End == StringRef::npos && Rest.size() <= MaxLineBytes && !Silent)
      break;
    Lines.push_back(Rest.substr(0, std::min(End, MaxLineBytes)).str());
    Rest = Rest.drop_front(Lines.back().size());
    Rest.consume_front("\n");
  }
  Untaken = Rest.str();
  return Lines;
}

void Process::terminate() {
  if (!Gone && Pid)
    ::kill(-Pid, SIGTERM);
}

void Process::kill() {
  if (Gone)
    return;
  KilledIt = true;
  Gone = Pid == 0;
  if (Gone)
    return;
  // Before it had its group, the group is not there.
  ::kill(-Pid, SIGKILL);
  ::kill(Pid, SIGKILL);
}

void Process::pause(bool Stop) {
  if (!Gone && Pid)
    ::kill(-Pid, Stop ? SIGSTOP : SIGCONT);
}

bool Process::reap() {
  Gone |= Pid == 0;
  if (Gone)
    return true;
  siginfo_t Info = {};
  bool IsChild =
      ::waitid(P_PID, Pid, &Info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (IsChild && Info.si_pid == 0)
    return false;
  // What it started dies with it. The number of its group is still its own.
  if (IsChild)
    ::kill(-Pid, SIGKILL);
  Status = waitForChild(Pid);
  Gone = true;
  readMessages();
  return true;
}

bool Process::wasKilled() const {
  return !KilledIt && WIFSIGNALED(Status) &&
         (WTERMSIG(Status) == SIGKILL || WTERMSIG(Status) == SIGTERM);
}

/// What a dying compiler said: the line of an assertion, of report_fatal_error,
/// of a sanitizer; else the last one.
static std::string findLastWords(StringRef Text, uint64_t LimitBytes) {
  SmallVector<StringRef> Lines;
  Text.split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines) {
    if (Line.contains("std::bad_alloc") || Line.contains("out of memory"))
      return LimitBytes ? formatv("out of memory: it may have {0} MiB",
                                  LimitBytes >> 20)
                              .str()
                        : "out of memory";
    if (Line.contains("Assertion `") || Line.contains("ERROR: "))
      return Line.str();
  }
  return Lines.empty() ? "" : Lines.back().str();
}

std::string Process::describeEnd() const {
  std::string Text = describeExit(Status);
  std::string Words = findLastWords(Written, LimitBytes);
  return Words.empty() ? Text : Text + ": " + Words;
}
