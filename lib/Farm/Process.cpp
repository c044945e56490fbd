//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"
#include "Messages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Size of the stored end of a process's standard error.
static constexpr size_t MessageBytes = 8192;

/// Maximum number of reads of a process's standard error in one turn.
static constexpr unsigned MaxChunks = 16;

/// Longer lines of a program are split.
static constexpr size_t MaxLineBytes = 4096;

/// Time limit for a launcher to exit after the end of the study, and again
/// after SIGTERM. It may have to end workers on other machines.
static constexpr double LauncherSeconds = 2;

//===----------------------------------------------------------------------===//
// Child
//===----------------------------------------------------------------------===//

static void reportFatalError(void *Link, const char *Reason, bool) {
  consumeError(send(*static_cast<Channel *>(Link), message::Fatal{Reason}));
  ::_exit(1);
}

/// \returns whether memory is exhausted by the limits of the machine or the
/// user, and not by the candidate's limit (Limits.Bytes).
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
  // The same text as LLVM's, which the parent recognizes.
  errs() << "LLVM ERROR: out of memory\n";
  ::_exit(1);
}

//===----------------------------------------------------------------------===//
// Parent
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Process>>
Process::start(function_ref<void(Channel &)> Main, const ChildLimits &Limits,
               ArrayRef<MessageKind> FromChild, ArrayRef<MessageKind> ToChild) {
  Expected<Pipe> Ends = Pipe::createSocket();
  if (!Ends)
    return Ends.takeError();
  Expected<Pipe> Messages = Pipe::create();
  if (!Messages)
    return Messages.takeError();
  int FD = Ends->Write.get();
  ChildOptions O;
  O.Out = NullStream; // discards what kernels print
  O.Err = Messages->Write.get();
  O.Kept = {FD};
  O.Limits = Limits;
  Expected<Child> C = Child::fork(
      [&] {
        // Never destroyed: the child runs no destructors, because the objects
        // are the parent's.
        auto *Link = new Channel(FD, ToChild);
        install_fatal_error_handler(reportFatalError, Link);
        install_bad_alloc_error_handler(reportBadAlloc, Link);
        Main(*Link);
      },
      O);
  if (!C)
    return C.takeError();
  if (Error E = makeNonBlocking(Messages->Read.get()))
    return std::move(E);
  std::unique_ptr<Process> P(new Process(
      std::move(*C), std::make_unique<Channel>(Ends->Read.release(), FromChild),
      std::move(Messages->Read)));
  P->LimitBytes = Limits.Bytes;
  if (Error E = P->Link->makeNonBlocking())
    return std::move(E);
  return std::move(P);
}

Expected<std::unique_ptr<Process>>
Process::launch(ArrayRef<std::string> Words, ArrayRef<MessageKind> FromChild) {
  // Pipes, because a shell whose input is a socket assumes that rsh started it.
  Pipe In, Out, Err;
  for (Pipe *P : {&In, &Out, &Err})
    if (Error E = Pipe::create().moveInto(*P))
      return std::move(E);
  ErrorOr<std::string> Program = sys::findProgramByName(Words.front());
  if (!Program)
    return systemError("cannot run '" + Words.front() + "'",
                       Program.getError().value());
  ChildOptions O;
  O.In = In.Read.get();
  O.Out = Out.Write.get();
  O.Err = Err.Write.get();
  // Without a terminal, nothing can prompt for a password, and Ctrl-C reaches
  // only the study.
  O.OwnSession = true;
  O.Grace = LauncherSeconds;
  Expected<Child> C = Child::spawn(*Program, Words, O);
  if (!C)
    return C.takeError();
  if (Error E = makeNonBlocking(Err.Read.get()))
    return std::move(E);
  std::unique_ptr<Process> P(
      new Process(std::move(*C),
                  std::make_unique<Channel>(Out.Read.release(),
                                            In.Write.release(), FromChild),
                  std::move(Err.Read)));
  P->IsProgram = true;
  if (Error E = P->Link->makeNonBlocking())
    return std::move(E);
  return std::move(P);
}

std::unique_ptr<Process> Process::play(int Socket,
                                       ArrayRef<MessageKind> FromChild) {
  std::unique_ptr<Process> P(
      new Process(std::nullopt, std::make_unique<Channel>(Socket, FromChild),
                  Descriptor()));
  P->Silent = true;
  cantFail(P->Link->makeNonBlocking());
  return P;
}

void Process::readMessages() {
  if (Silent)
    return;
  char Chunk[4096];
  ssize_t N = -1;
  // A process that writes endlessly must not block this one.
  for (unsigned I = 0;
       I != MaxChunks && (N = ::read(Messages.get(), Chunk, sizeof(Chunk))) > 0;
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
  if (Running)
    Running->signal(SIGTERM);
}

void Process::kill() {
  if (Gone)
    return;
  KilledIt = true;
  if (Running)
    Running->kill();
  else
    Gone = true;
}

void Process::pause(bool Stop) {
  if (Running)
    Running->signal(Stop ? SIGSTOP : SIGCONT);
}

bool Process::reap() {
  if (Gone)
    return true;
  Gone = !Running || Running->reap();
  if (Gone)
    readMessages();
  return Gone;
}

bool Process::wasKilled() const {
  int Status = Running ? Running->status() : 0;
  return !KilledIt && WIFSIGNALED(Status) &&
         (WTERMSIG(Status) == SIGKILL || WTERMSIG(Status) == SIGTERM);
}

std::string Process::describeEnd() const {
  std::string Text = describeExit(Running ? Running->status() : 0);
  LastWords Words = findLastWords(Written);
  if (Words.IsOutOfMemory && LimitBytes)
    Words.Text =
        formatv("out of memory: it may have {0} MiB", LimitBytes >> 20).str();
  return Words.Text.empty() ? Text : Text + ": " + Words.Text;
}
