//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// This thread's existing files.
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

static thread_local const std::function<void()> *Observer;

ProgramObserver::ProgramObserver(std::function<void()> Begins)
    : Begins(std::move(Begins)), Outer(Observer) {
  Observer = &this->Begins;
}

ProgramObserver::~ProgramObserver() { Observer = Outer; }

void mneme::observeProgram() {
  if (Observer)
    (*Observer)();
}

/// Returns the output of a failed program without LLVM's stack trace.
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

/// Runs in the guard of a program, which has the memory contents that this
/// process had when it started the program.
static void removeLiveFiles() {
  for (ScratchFile *F : LiveFiles) {
    ::unlink(F->Path.data());
    ::rmdir(F->Folder.path().c_str());
  }
}

/// Runs a program to its end. Standard error goes to \p Err, or to \p Out if
/// \p Err is null.
static Expected<int> runToEnd(ArrayRef<StringRef> Args, ScratchFile &Out,
                              const char *Err, double Seconds,
                              StringRef In = "") {
  Descriptor OutFD(::open(Out.Path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  Descriptor ErrFD(
      ::open(Err ? Err : Out.Path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!OutFD || !ErrFD)
    return createFileError(Out.Path, errnoAsErrorCode());
  Descriptor InFD;
  if (!In.empty()) {
    InFD = Descriptor(::open(In.str().c_str(), O_RDONLY | O_CLOEXEC));
    if (!InFD)
      return createFileError(In, errnoAsErrorCode());
  }
  observeProgram();
  for (ScratchFile *F : LiveFiles)
    (void)F->Path.c_str(); // Adds the null terminator.
  ChildOptions O;
  O.Out = OutFD.get();
  O.Err = ErrFD.get();
  if (InFD)
    O.In = InFD.get();
  O.CleanUp = removeLiveFiles;
  std::vector<std::string> Words(Args.begin(), Args.end());
  Expected<Child> C = Child::spawn(Words.front(), Words, O);
  if (!C)
    return C.takeError();
  if (Seconds <= 0)
    return C->wait();
  StarvationClock Starved(C->pid(), Seconds);
  for (double More = Seconds; More > 0; More = Starved.take())
    if (C->wait(More))
      return C->status();
  return make_error<ToolTimeout>(Args[0], Seconds); // The destructor kills it.
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
                        double Seconds, StringRef In) {
  ScratchFile Out;
  if (Error E = ScratchFile::create("log", Out))
    return E;
  return runProgram(Args, Out, Log, Seconds, In);
}

Error mneme::runProgram(ArrayRef<StringRef> Args, ScratchFile &Out,
                        std::string &Log, double Seconds, StringRef In) {
  Expected<int> Status = runToEnd(Args, Out, /*Err=*/nullptr, Seconds, In);
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Out.Path);
  if (!Text)
    return joinErrors(Status.takeError(), Text.takeError());
  Log = (*Text)->getBuffer().str();
  if (!Status)
    return Status.takeError();
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
