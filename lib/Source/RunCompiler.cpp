//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/Clock.h"
#include <chrono>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

bool CompilerRun::succeeded() const {
  return WIFEXITED(Status) && WEXITSTATUS(Status) == 0;
}

std::string CompilerRun::describeFailure() const {
  for (StringRef Line : split(Messages, '\n'))
    if (size_t At = Line.find("error: "); At != StringRef::npos)
      return Line.trim().str();
  LastWords Last = findLastWords(Messages);
  std::string How = describeExit(Status);
  return Last.Text.empty() ? How : How + ": " + Last.Text;
}

/// Reads at most MaxMessages and drops the rest, so that the compiler does not
/// wait.
static std::string readMessages(int FD) {
  std::string Text;
  char Buffer[1 << 14];
  while (true) {
    ssize_t Size = ::read(FD, Buffer, sizeof(Buffer));
    if (Size < 0 && errno == EINTR)
      continue;
    if (Size <= 0)
      return Text;
    Text.append(Buffer, std::min<size_t>(Size, MaxMessages - Text.size()));
  }
}

Expected<CompilerRun> mneme::runCompiler(const std::string &Program,
                                         ArrayRef<std::string> Words,
                                         const CompilerSetup &Setup) {
  Expected<Pipe> Ends = Pipe::create();
  if (!Ends)
    return Ends.takeError();
  ChildOptions O;
  O.In = Setup.In;
  O.Out = NullStream;
  O.Err = Ends->Write.get();
  O.Directory = Setup.Directory;
  O.Limits = Setup.Limits;
  if (Setup.Confined) {
    O.Confined = Setup.Confined;
    O.OnlyEnvironment = true;
  }
  auto Start = std::chrono::steady_clock::now();
  Expected<Child> C = Child::spawn(Program, Words, O);
  if (!C)
    return C.takeError();
  Ends->Write.reset();
  CompilerRun Run;
  Run.Messages = readMessages(Ends->Read.get());
  Run.Status = C->wait();
  Run.IsLate = WIFSIGNALED(Run.Status) && (WTERMSIG(Run.Status) == SIGALRM ||
                                           WTERMSIG(Run.Status) == SIGXCPU);
  Run.Seconds = secondsSince(Start);
  return std::move(Run);
}
