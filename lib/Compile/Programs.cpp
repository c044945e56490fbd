//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Support/ChildProcess.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Those of this thread that are there.
static thread_local std::vector<ScratchFile *> LiveFiles;

ScratchFile::~ScratchFile() { llvm::erase(LiveFiles, this); }

Error ScratchFile::create(StringRef Suffix, ScratchFile &F,
                          StringRef Contents) {
  if (Error E = PrivateFolder::createTemporary().moveInto(F.Folder))
    return E;
  F.Path = F.Folder.pathOf(("file." + Suffix).str());
  LiveFiles.push_back(&F);
  Expected<int> FD = openToWrite(F.Path, O_EXCL);
  if (!FD)
    return FD.takeError();
  raw_fd_ostream OS(*FD, /*shouldClose=*/true);
  OS << Contents;
  OS.close();
  std::error_code EC = OS.error();
  OS.clear_error();
  return EC ? createFileError(F.Path, EC) : Error::success();
}

Expected<SmallVector<char, 0>> ScratchFile::read() const {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  return SmallVector<char, 0>((*Buffer)->getBufferStart(),
                              (*Buffer)->getBufferEnd());
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// The exit code of a child that could not become the program.
static constexpr int CannotExecute = 127;

static thread_local const std::function<void()> *Observer;

ProgramObserver::ProgramObserver(std::function<void()> Begins)
    : Begins(std::move(Begins)), Outer(Observer) {
  Observer = &this->Begins;
}

ProgramObserver::~ProgramObserver() { Observer = Outer; }

/// Leaves \p FD alone, as standard input.
static void keepOnly(int FD) {
  ::dup2(FD, STDIN_FILENO);
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0) == 0)
    return;
#endif
  long Most = ::sysconf(_SC_OPEN_MAX);
  for (int Other = STDIN_FILENO + 1; Other < Most; ++Other)
    ::close(Other);
}

namespace {
/// A process that sees the end of this one, be it by a signal that nobody can
/// handle. It ends the program then, and what that has started: a script's
/// compiler does not hear of it otherwise.
class Guard {
public:
  Guard() = default;
  Guard(const Guard &) = delete;
  Guard &operator=(const Guard &) = delete;
  ~Guard();

  Error start();
  void watch(pid_t Program) {
    ::send(FD, &Program, sizeof(Program), MSG_NOSIGNAL);
  }

private:
  pid_t Pid = -1;
  int FD = -1;

  [[noreturn]] static void run(int FD);
};
} // namespace

/// As little as can be done in the copy of one of several threads.
void Guard::run(int FD) {
  ::setpgid(0, 0); // what ends us is not meant for it
  keepOnly(FD);
  pid_t Program = 0, Told;
  while (sys::RetryAfterSignal(-1, ::read, STDIN_FILENO,
                               static_cast<void *>(&Told),
                               sizeof(Told)) == sizeof(Told))
    Program = Told;
  if (Program > 0)
    ::kill(-Program, SIGKILL);
  for (ScratchFile *F : LiveFiles) {
    ::unlink(F->Path.data());
    ::rmdir(F->Folder.path().c_str());
  }
  ::_exit(0);
}

Error Guard::start() {
  int Ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Ends) != 0)
    return createStringError(errnoAsErrorCode(), "cannot make a connection");
  FD = Ends[0];
  for (ScratchFile *F : LiveFiles)
    (void)F->Path.c_str(); // puts its end there
  Pid = ::fork();
  if (Pid == 0) {
    ::close(FD);
    run(Ends[1]);
  }
  std::error_code EC = errnoAsErrorCode();
  ::close(Ends[1]);
  if (Pid < 0)
    return createStringError(EC, "cannot create a process");
  return Error::success();
}

Guard::~Guard() {
  // Before it sees the connection's end.
  if (Pid > 0) {
    ::kill(Pid, SIGKILL);
    waitForChild(Pid);
  }
  if (FD >= 0)
    ::close(FD);
}

/// Starts \p Argv with these as standard input, output and error.
static Expected<pid_t> start(char *const *Argv, int In, int Out, int Err) {
  pid_t Parent = ::getpid();
  // Written by the child, which has our memory until it is the program.
  volatile int Failure = 0;
  // Unlike fork(), it does not get slower with the size of the process.
  pid_t Child = ::vfork();
  if (Child == 0) {
    ::setpgid(0, 0);
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (::getppid() != Parent || ::dup2(In, STDIN_FILENO) < 0 ||
        ::dup2(Out, STDOUT_FILENO) < 0 || ::dup2(Err, STDERR_FILENO) < 0)
      ::_exit(CannotExecute);
    ::execv(Argv[0], Argv);
    Failure = errno;
    ::_exit(CannotExecute);
  }
  if (Child < 0)
    return createStringError(errnoAsErrorCode(), "cannot create a process");
  if (Failure == 0)
    return Child;
  waitForChild(Child);
  return createStringError(std::error_code(Failure, std::generic_category()),
                           "cannot run '" + Twine(Argv[0]) + "'");
}

/// \returns the status, or nothing when \p Child, killed now, did not end.
static std::optional<int> waitFor(pid_t Child, double Seconds) {
  if (Seconds <= 0)
    return waitForChild(Child);
  std::optional<int> Status = waitForChild(Child, Seconds);
  if (Status)
    return Status;
  ::kill(-Child, SIGKILL);
  ::kill(Child, SIGKILL); // it may have left its group
  waitForChild(Child);
  return std::nullopt;
}

/// What a program that failed said, without the frames of LLVM's stack trace
/// and what stands around them.
static std::string getMessage(StringRef Log) {
  std::string Text;
  for (StringRef Line : split(Log.trim(), '\n')) {
    bool IsFrame = Line.ltrim().starts_with("#") ||
                   Line.starts_with("PLEASE submit a bug report") ||
                   Line.starts_with("Stack dump without symbol names");
    if (!IsFrame)
      Text += (Line + "\n").str();
  }
  return StringRef(Text).trim().str();
}

/// With \p Err as standard error; empty: \p Out.
static Expected<int> runToEnd(ArrayRef<StringRef> Args, ScratchFile &Out,
                              const char *Err, double Seconds) {
  int In = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  int OutFD = ::open(Out.Path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  int ErrFD =
      ::open(Err ? Err : Out.Path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  std::error_code EC = errnoAsErrorCode();
  scope_exit Close([&] {
    ::close(In);
    ::close(OutFD);
    ::close(ErrFD);
  });
  if (In < 0 || OutFD < 0 || ErrFD < 0)
    return createFileError(Out.Path, EC);

  std::vector<std::string> Texts(Args.begin(), Args.end());
  std::vector<char *> Argv;
  for (std::string &Text : Texts)
    Argv.push_back(Text.data());
  Argv.push_back(nullptr);
  if (Observer)
    (*Observer)();
  Guard Watching;
  if (Error E = Watching.start())
    return E;
  Expected<pid_t> Child = start(Argv.data(), In, OutFD, ErrFD);
  if (!Child)
    return Child.takeError();
  Watching.watch(*Child);
  std::optional<int> Status = waitFor(*Child, Seconds);
  if (!Status)
    return make_error<ToolTimeout>(Args[0], Seconds);
  return *Status;
}

Expected<std::optional<int>> mneme::askProgram(ArrayRef<StringRef> Args,
                                               std::string &Output,
                                               double Seconds) {
  ScratchFile Out;
  if (Error E = ScratchFile::create("out", Out))
    return std::move(E);
  Expected<int> Status = runToEnd(Args, Out, "/dev/null", Seconds);
  if (!Status)
    return Status.takeError();
  Expected<SmallVector<char, 0>> Text = Out.read();
  if (!Text)
    return Text.takeError();
  Output.assign(Text->begin(), Text->end());
  if (!WIFEXITED(*Status))
    return std::nullopt;
  return WEXITSTATUS(*Status);
}

Error mneme::runProgram(ArrayRef<StringRef> Args, std::string &Log,
                        double Seconds) {
  ScratchFile Out;
  if (Error E = ScratchFile::create("log", Out))
    return E;
  Expected<int> Status = runToEnd(Args, Out, /*Err=*/nullptr, Seconds);
  if (!Status)
    return Status.takeError();
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Out.Path);
  if (!Text)
    return Text.takeError();
  Log = (*Text)->getBuffer().str();
  if (WIFEXITED(*Status) && WEXITSTATUS(*Status) == 0)
    return Error::success();
  std::string Said = getMessage(Log);
  StringRef Name = sys::path::filename(Args[0]);
  if (!WIFEXITED(*Status))
    return createStringError(formatv("{0} {1}{2}{3}", Name,
                                     describeExit(*Status),
                                     Said.empty() ? "" : ": ", Said)
                                 .str());
  if (Said.empty())
    Said = formatv("exit code {0}", WEXITSTATUS(*Status)).str();
  return createStringError(formatv("{0} failed: {1}", Name, Said).str());
}
