//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Preloaded into compilers: see WarmStart.h.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/WarmStart.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
/// Descriptors of runs, after their streams.
constexpr int LookupsFd = 3, TailFd = LookupsFd + 1, RestFd = TailFd + 1,
              EndFd = RestFd + 1;

struct Run {
  int Answer, End; ///< End is closed when the process ends.
  pid_t Pid;
};

/// Where the program stops once more; empty: it does not.
std::string StopAt;
bool LeavesCopy = false;
bool IsRun = false;
std::string Lookups; ///< Before a copy was left behind.
pid_t Parent = 0;
std::string CommandLine; ///< As in /proc.
int NumLibraries = 0;    ///< As the program starts.
} // namespace

template <typename Fn> static Fn *next(const char *Name) {
  return reinterpret_cast<Fn *>(dlsym(RTLD_NEXT, Name));
}

using OpenFn = int(const char *, int, ...);

static int openReally(const char *Path, int Flags, mode_t Mode) {
  static OpenFn *Real = next<OpenFn>("open");
  return Real(Path, Flags, Mode);
}

/// Notes that a path was looked up. Keeps errno.
static void note(MnemeWarmLookup What, const char *Path,
                 const std::string &Identity = "") {
  const char *File = IsRun ? nullptr : getenv(MNEME_WARM_LOOKUPS_VARIABLE);
  if (!Path || (!IsRun && !File))
    return;
  int Error = errno;
  std::string Text = std::string(1, What) + Identity + ':';
  Text.append(Path, strlen(Path) + 1);
  if (LeavesCopy)
    Lookups += Text;
  // Programs may close all descriptors, and have several processes.
  int Fd =
      File ? openReally(File, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)
           : LookupsFd;
  (void)!write(Fd, Text.data(), Text.size());
  if (File)
    close(Fd);
  errno = Error;
}

static void noteResult(bool Found, const char *Path,
                       const std::string &Identity = "") {
  note(Found ? MnemeWarmFound : MnemeWarmMissing, Path, Identity);
}

/// Returns the identity of a file that was opened or found: another one may
/// have its path by the end of the build. Empty if it is not of this type.
static std::string identify(const struct stat &S, mode_t Type = S_IFREG) {
  return (S.st_mode & S_IFMT) == Type ? mnemeFileIdentity(S) : "";
}

static std::string identify(int Fd, mode_t Type = S_IFREG) {
  struct stat S;
  return Fd >= 0 && !fstat(Fd, &S) ? identify(S, Type) : "";
}

/// Notes the libraries that the program has loaded since it started: plugins,
/// and what these are linked to.
static void noteLibraries() {
  int Count = 0;
  auto Note = [](dl_phdr_info *Info, size_t, void *Count) {
    if (++*static_cast<int *>(Count) > NumLibraries && *Info->dlpi_name)
      note(MnemeWarmFound, Info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(Note, &Count);
}

static void closeFrom(int First) {
  if (syscall(SYS_close_range, unsigned(First), ~0u, 0))
    for (int Fd = First, End = int(sysconf(_SC_OPEN_MAX)); Fd < End; ++Fd)
      close(Fd);
}

/// Moves descriptors to their places. \p Fds may be in each other's. \returns
/// false if there are too few.
static bool place(const int *Fds, int Count, int End) {
  std::vector<int> High;
  for (int I = 0; I != Count; ++I)
    High.push_back(fcntl(Fds[I], F_DUPFD, EndFd + 1));
  High.push_back(fcntl(End, F_DUPFD, EndFd + 1));
  for (int I = 0; I != Count; ++I)
    if (dup2(High[I], I) < 0)
      return false;
  if (dup2(High.back(), EndFd) < 0)
    return false;
  if (Count <= RestFd)
    close(RestFd);
  closeFrom(EndFd + 1);
  for (int Fd : {TailFd, LookupsFd, RestFd, EndFd})
    fcntl(Fd, F_SETFD, FD_CLOEXEC);
  return true;
}

namespace {
/// Forks for requests. serve() returns in the processes that run.
class Server {
public:
  explicit Server(int Socket) : Socket(Socket) {}
  /// \returns the words of a run of a program that has not started.
  std::vector<char *> serve();

private:
  bool accept(std::vector<char *> &Words);
  void finish(const Run &R, bool Kill);

  int Socket;
  /// Never freed: the words of a run stay there.
  char *Bytes = new char[MNEME_WARM_MAX_REQUEST];
  std::vector<Run> Runs;
};
} // namespace

/// Takes a request. \returns true in the process that runs.
bool Server::accept(std::vector<char *> &Words) {
  iovec Part = {Bytes, MNEME_WARM_MAX_REQUEST};
  alignas(cmsghdr) char Control[CMSG_SPACE(MnemeWarmDescriptors * sizeof(int))];
  msghdr Message = {};
  Message.msg_iov = &Part;
  Message.msg_iovlen = 1;
  Message.msg_control = Control;
  Message.msg_controllen = sizeof(Control);
  ssize_t Size = recvmsg(Socket, &Message, MSG_CMSG_CLOEXEC);
  if (Size < 0 && (errno == EINTR || errno == EAGAIN))
    return false;
  // All that could ask have gone.
  if (Size <= 0) {
    for (const Run &R : Runs)
      finish(R, /*Kill=*/true);
    _exit(0);
  }
  int Fds[MnemeWarmDescriptors], Count = 0;
  cmsghdr *C = CMSG_FIRSTHDR(&Message);
  if (C && C->cmsg_type == SCM_RIGHTS) {
    Count = int((C->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(Fds, CMSG_DATA(C), Count * sizeof(int));
  }
  auto CloseAll = [&](int First) {
    for (int I = First; I < Count; ++I)
      close(Fds[I]);
  };
  MnemeWarmRequest Request;
  int Ends[2];
  if (Count < MnemeWarmCopy || Size < ssize_t(sizeof(Request)) ||
      Bytes[Size - 1] != '\0' || pipe2(Ends, O_CLOEXEC)) {
    CloseAll(0);
    return false;
  }
  memcpy(&Request, Bytes, sizeof(Request));
  pid_t Server = getpid(), Pid = fork();
  if (Pid != 0) {
    if (Pid > 0)
      setpgid(Pid, Pid);
    close(Ends[1]);
    CloseAll(MnemeWarmIn);
    if (Pid > 0) {
      Runs.push_back({Fds[MnemeWarmAnswer], Ends[0], Pid});
    } else {
      close(Ends[0]);
      close(Fds[MnemeWarmAnswer]);
    }
    return false;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (syscall(SYS_getppid) != Server)
    _exit(MNEME_WARM_NOT_RUN);
  if (!place(Fds + MnemeWarmIn, Count - MnemeWarmIn, Ends[1]))
    _exit(MNEME_WARM_NOT_RUN);
  std::vector<char *> Strings;
  for (char *S = Bytes + sizeof(Request); S < Bytes + Size; S += strlen(S) + 1)
    Strings.push_back(S);
  if (Strings.size() < 3 + size_t(Request.NumWords))
    _exit(MNEME_WARM_NOT_RUN);
  Parent = pid_t(Request.Parent);
  if (*Strings[0])
    setenv("TMPDIR", Strings[0], 1);
  if (*Strings[1] && chdir(Strings[1]))
    _exit(MNEME_WARM_NOT_RUN);
  StopAt = Strings[2];
  LeavesCopy = Count > MnemeWarmCopy;
  IsRun = true;
  (void)!write(LookupsFd, Lookups.data(), Lookups.size());
  Words.assign(Strings.begin() + 3, Strings.end());
  for (const char *Word : Words)
    CommandLine.append(Word, strlen(Word) + 1);
  return true;
}

/// Answers for a process that has ended or is to end.
void Server::finish(const Run &R, bool Kill) {
  if (Kill)
    kill(-R.Pid, SIGKILL);
  int Status = 0;
  while (waitpid(R.Pid, &Status, 0) < 0 && errno == EINTR)
    ;
  (void)!send(R.Answer, &Status, sizeof(Status), MSG_NOSIGNAL);
  close(R.Answer);
  close(R.End);
}

std::vector<char *> Server::serve() {
  while (true) {
    std::vector<pollfd> Waits = {{Socket, POLLIN, 0}};
    for (const Run &R : Runs) {
      Waits.push_back({R.End, POLLIN, 0});
      Waits.push_back({R.Answer, POLLRDHUP, 0});
    }
    if (poll(Waits.data(), Waits.size(), -1) < 0)
      continue;
    std::vector<Run> Left;
    for (size_t I = 0; I != Runs.size(); ++I) {
      bool HasEnded = Waits[1 + 2 * I].revents, Kill = Waits[2 + 2 * I].revents;
      if (HasEnded || Kill)
        finish(Runs[I], Kill);
      else
        Left.push_back(Runs[I]);
    }
    Runs = std::move(Left);
    std::vector<char *> Words;
    if (Waits[0].revents && accept(Words))
      return Words;
  }
}

//===----------------------------------------------------------------------===//
// Where programs stop
//===----------------------------------------------------------------------===//

using MainFn = int(int, char **, char **);
static MainFn *Main = nullptr;

static int serveMain(int, char **, char **) {
  std::vector<char *> Words = Server(MNEME_WARM_SOCKET).serve();
  int Count = int(Words.size());
  Words.push_back(nullptr);
  return Main(Count, Words.data(), environ);
}

/// Called by the program's first function, after all libraries have started.
EXPORT int __libc_start_main(MainFn *ProgramsMain, int Count, char **Words,
                             void (*Init)(), void (*Fini)(), void (*Loader)(),
                             void *Stack) {
  using Fn =
      int(MainFn *, int, char **, void (*)(), void (*)(), void (*)(), void *);
  auto *Real = reinterpret_cast<Fn *>(dlsym(RTLD_NEXT, "__libc_start_main"));
  Main = ProgramsMain;
  auto CountOne = [](dl_phdr_info *, size_t, void *) {
    ++NumLibraries;
    return 0;
  };
  dl_iterate_phdr(CountOne, nullptr);
  atexit(noteLibraries);
  if (getenv(MNEME_WARM_LOOKUPS_VARIABLE)) {
    char Program[PATH_MAX] = {};
    if (readlink("/proc/self/exe", Program, sizeof(Program) - 1) > 0)
      note(MnemeWarmFound, Program);
    return Real(ProgramsMain, Count, Words, Init, Fini, Loader, Stack);
  }
  // Programs that it starts are others.
  unsetenv("LD_PRELOAD");
  return Real(serveMain, Count, Words, Init, Fini, Loader, Stack);
}

/// Leaves a copy behind, which serves. \returns the contents of the file, in
/// each process that runs.
static int stop() {
  std::string Path = std::exchange(StopAt, "") + MNEME_WARM_STOPPED;
  if (!LeavesCopy)
    return dup(TailFd);
  noteLibraries();
  LeavesCopy = false;
  pid_t Pid = fork();
  if (Pid != 0) {
    close(RestFd);
    return dup(TailFd);
  }
  // Nothing of the run is left in the copy, in particular not its end.
  setsid();
  int Null = openReally("/dev/null", O_RDWR | O_CLOEXEC, 0);
  int Socket = fcntl(RestFd, F_DUPFD_CLOEXEC, EndFd + 1);
  if (Null < 0 || Socket < 0)
    _exit(0);
  for (int Fd = 0; Fd <= EndFd; ++Fd)
    dup2(Null, Fd);
  dup2(Socket, EndFd);
  closeFrom(EndFd + 1);
  int Fd =
      openReally(Path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  (void)!write(Fd, Lookups.data(), Lookups.size());
  close(Fd);
  (void)!send(EndFd, "", 1, MSG_NOSIGNAL);
  Server(EndFd).serve();
  StopAt.clear();
  return dup(TailFd);
}

/// Returns a file with the words of the run: plugins read those of the process.
static int openCommandLine() {
  int Fd = memfd_create("mneme-words", MFD_CLOEXEC);
  if (Fd >= 0 && (write(Fd, CommandLine.data(), CommandLine.size()) !=
                      ssize_t(CommandLine.size()) ||
                  lseek(Fd, 0, SEEK_SET))) {
    close(Fd);
    return -1;
  }
  return Fd;
}

static int openFile(const char *Path, int Flags, mode_t Mode) {
  if (!StopAt.empty() && StopAt == Path)
    return stop();
  if (!CommandLine.empty() && !strcmp(Path, "/proc/self/cmdline"))
    return openCommandLine();
  int Fd = openReally(Path, Flags, Mode);
  if ((Flags & O_ACCMODE) == O_RDONLY)
    noteResult(Fd >= 0, Path, identify(Fd));
  else
    note(MnemeWarmWritten, Path);
  return Fd;
}

static bool hasMode(int Flags) {
  return Flags & O_CREAT || (Flags & O_TMPFILE) == O_TMPFILE;
}

EXPORT int open(const char *Path, int Flags, ...) {
  va_list L;
  va_start(L, Flags);
  mode_t Mode = hasMode(Flags) ? va_arg(L, mode_t) : 0;
  va_end(L);
  return openFile(Path, Flags, Mode);
}

// Files have 64 bits on x86-64.
EXPORT int open64(const char *Path, int Flags, ...)
    __attribute__((alias("open")));

static FILE *openStream(const char *Function, const char *Path,
                        const char *Mode) {
  FILE *File = next<FILE *(const char *, const char *)>(Function)(Path, Mode);
  if (Mode[0] == 'r' && !strchr(Mode, '+'))
    noteResult(File, Path, File ? identify(fileno(File)) : "");
  else
    note(MnemeWarmWritten, Path);
  return File;
}

EXPORT FILE *fopen(const char *Path, const char *Mode) {
  return openStream("fopen", Path, Mode);
}

EXPORT FILE *fopen64(const char *Path, const char *Mode) {
  return openStream("fopen64", Path, Mode);
}

EXPORT DIR *opendir(const char *Path) {
  DIR *Folder = next<DIR *(const char *)>("opendir")(Path);
  note(Folder ? MnemeWarmListed : MnemeWarmMissing, Path,
       Folder ? identify(dirfd(Folder), S_IFDIR) : "");
  return Folder;
}

/// \param Status  what the function sets.
template <typename... Ts>
static int lookUp(const char *Function, const char *Path,
                  const struct stat *Status, Ts... Arguments) {
  int Result = next<int(Ts...)>(Function)(Arguments...);
  noteResult(!Result, Path, Result ? "" : identify(*Status));
  return Result;
}

EXPORT int stat(const char *Path, struct stat *Status) {
  return lookUp("stat", Path, Status, Path, Status);
}

// Files have 64 bits on x86-64.
EXPORT int stat64(const char *Path, struct stat64 *Status)
    __attribute__((alias("stat")));

// Of programs that were linked with a glibc before 2.33.
EXPORT int __xstat(int Version, const char *Path, struct stat *Status) {
  return lookUp("__xstat", Path, Status, Version, Path, Status);
}

EXPORT int __xstat64(int Version, const char *Path, struct stat64 *Status)
    __attribute__((alias("__xstat")));

EXPORT int access(const char *Path, int Mode) {
  int Result = next<int(const char *, int)>("access")(Path, Mode);
  // A file that may not be written or executed is there.
  noteResult(!Result || errno == EACCES, Path);
  return Result;
}

EXPORT int rename(const char *From, const char *To) {
  note(MnemeWarmWritten, To);
  return next<int(const char *, const char *)>("rename")(From, To);
}

/// Linkers end so.
EXPORT void _exit(int Status) {
  noteLibraries();
  syscall(SYS_exit_group, Status);
  __builtin_unreachable();
}

EXPORT void _Exit(int Status) __attribute__((alias("_exit")));

EXPORT pid_t getppid() { return Parent ? Parent : pid_t(syscall(SYS_getppid)); }
