//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LLVMCheckout.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>

using namespace llvm;
using namespace llvm::mneme;

char BuildError::ID;

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

static volatile std::sig_atomic_t CaughtSignal = 0;
static constexpr int WatchedSignals[] = {SIGINT, SIGTERM, SIGHUP};

struct SignalWatch::State {
  struct sigaction Actions[NumSignals];
};

SignalWatch::SignalWatch() : Old(std::make_unique<State>()) {
  static_assert(std::size(WatchedSignals) == NumSignals);
  CaughtSignal = 0;
  struct sigaction Action = {};
  Action.sa_handler = [](int Number) { CaughtSignal = Number; };
  for (auto [Number, Former] : zip_equal(WatchedSignals, Old->Actions)) {
    ::sigaction(Number, nullptr, &Former);
    // Keep ignoring signals that the parent ignores, as under nohup.
    if (Former.sa_handler != SIG_IGN)
      ::sigaction(Number, &Action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (auto [Number, Former] : zip_equal(WatchedSignals, Old->Actions))
    ::sigaction(Number, &Former, nullptr);
  if (CaughtSignal)
    ::raise(CaughtSignal);
}

Error SignalWatch::check() {
  if (!CaughtSignal)
    return Error::success();
  return createStringError(formatv("interrupted by signal {0} ({1})",
                                   int(CaughtSignal), ::strsignal(CaughtSignal))
                               .str());
}

//===----------------------------------------------------------------------===//
// git
//===----------------------------------------------------------------------===//

/// Runs git in the checkout and returns its output.
Expected<std::string> LLVMCheckout::git(ArrayRef<StringRef> Words) const {
  ErrorOr<std::string> Git = sys::findProgramByName("git");
  if (!Git)
    return createStringError("--llvm-checkout: no git in PATH");
  std::vector<StringRef> Args = {*Git, "-C", O.Folder};
  append_range(Args, Words);
  std::string Log;
  if (Error E = runProgram(Args, Log))
    return createStringError("--llvm-checkout=" + O.Folder + ": " +
                             toString(std::move(E)));
  return StringRef(Log).trim().str();
}

Expected<std::unique_ptr<LLVMCheckout>>
LLVMCheckout::open(LLVMCheckoutOptions Options) {
  std::unique_ptr<LLVMCheckout> C(new LLVMCheckout);
  C->O = std::move(Options);
  if (!sys::fs::is_directory(C->O.Folder))
    return createStringError("--llvm-checkout: no folder '" + C->O.Folder +
                             "'");
  Expected<std::string> Top = C->git({"rev-parse", "--show-toplevel"});
  if (!Top)
    return Top.takeError();
  C->O.Folder = *Top;
  Expected<std::string> Log = C->git({"rev-parse", "--git-path", "BISECT_LOG"});
  if (!Log)
    return Log.takeError();
  SmallString<128> LogPath(*Log);
  if (sys::path::is_relative(LogPath))
    LogPath = pathIn(C->O.Folder, *Log);
  if (sys::fs::exists(LogPath))
    return createStringError("--llvm-checkout=" + C->O.Folder +
                             ": a bisection is in progress: end it with "
                             "'git bisect reset'");
  Expected<std::string> Changes =
      C->git({"status", "--porcelain", "--untracked-files=no"});
  if (!Changes)
    return Changes.takeError();
  if (!Changes->empty())
    return createStringError("--llvm-checkout=" + C->O.Folder +
                             ": modified files: commit or stash them (" +
                             StringRef(*Changes).split('\n').first + ")");
  if (C->O.Copies.empty()) {
    if (Error E = PrivateFolder::createTemporary().moveInto(C->Temporary))
      return std::move(E);
  }
  return std::move(C);
}

LLVMCheckout::~LLVMCheckout() {
  if (!Temporary.path().empty())
    consumeError(removeTree(Temporary.path()));
  if (!HasStarted)
    return;
  if (Expected<std::string> Said = git({"bisect", "reset"}); !Said)
    O.Say(toString(Said.takeError()) +
          "; run 'git bisect reset' in the checkout");
}

Expected<CheckoutCommit> LLVMCheckout::resolve(StringRef Revision) const {
  std::string Name = (Revision + "^{commit}").str();
  // git log's error for an unknown name is less clear.
  if (Error E = git({"rev-parse", "--verify", "--quiet", Name}).takeError()) {
    consumeError(std::move(E));
    return createStringError("--llvm-checkout=" + O.Folder + ": no commit '" +
                             Revision + "'");
  }
  Expected<std::string> Text =
      git({"log", "-1", "--format=%H%n%s%n%an%n%cs", Name});
  if (!Text)
    return Text.takeError();
  SmallVector<StringRef, 4> Lines;
  StringRef(*Text).split(Lines, '\n');
  Lines.resize(4);
  return CheckoutCommit{Lines[0].str(), Lines[1].str(), Lines[2].str(),
                        Lines[3].str()};
}

Error LLVMCheckout::start() {
  if (Error E = git({"bisect", "start"}).takeError())
    return E;
  HasStarted = true;
  return Error::success();
}

Error LLVMCheckout::checkOut(const CheckoutCommit &C) const {
  return git({"checkout", "--quiet", "--detach", C.Hash}).takeError();
}

Expected<LLVMCheckout::Progress> LLVMCheckout::mark(const CheckoutCommit &C,
                                                    Answer A) {
  StringRef Word = A == Answer::Good  ? "good"
                   : A == Answer::Bad ? "bad"
                                      : "skip";
  Expected<std::string> Said = git({"bisect", Word, C.Hash});
  if (!Said) {
    std::string Text = toString(Said.takeError());
    if (StringRef(Text).contains("only 'skip'ped commits left"))
      return Progress::Skipped;
    return createStringError(Text);
  }
  return StringRef(*Said).contains("is the first bad commit") ? Progress::Found
                                                              : Progress::Next;
}

Expected<std::vector<CheckoutCommit>> LLVMCheckout::candidates() const {
  Expected<std::string> Text = git(
      {"rev-list", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*"});
  if (!Text)
    return Text.takeError();
  std::vector<CheckoutCommit> Commits;
  for (StringRef Hash : split(*Text, '\n')) {
    Expected<CheckoutCommit> C = resolve(Hash);
    if (!C)
      return C.takeError();
    Commits.push_back(std::move(*C));
  }
  return Commits;
}

//===----------------------------------------------------------------------===//
// Builds
//===----------------------------------------------------------------------===//

std::string LLVMCheckout::copiesOf(const CheckoutCommit &C) const {
  return pathIn(keepsCopies() ? StringRef(O.Copies) : Temporary.path(),
                C.shortHash());
}

void LLVMCheckout::discard(const CheckoutCommit &C) const {
  consumeError(removeTree(copiesOf(C)));
}

/// Runs the build command. A signal interrupts it, since a build may take
/// hours.
Error LLVMCheckout::runBuild(StringRef Log) const {
  Expected<int> File = openToWrite(Log, O_TRUNC);
  if (!File)
    return File.takeError();
  Descriptor Out(*File);
  ChildOptions CO;
  CO.Out = CO.Err = Out.get();
  std::string Words[] = {"sh", "-c",     "cd \"$1\" && eval \"$2\"",
                         "sh", O.Folder, O.BuildCommand};
  Expected<Child> C = Child::spawn("/bin/sh", Words, CO);
  if (!C)
    return C.takeError();
  while (!C->wait(0.2))
    if (Error E = SignalWatch::check())
      return E; // C's destructor kills the build
  if (C->status() == 0)
    return Error::success();
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Log);
  if (!Text)
    return Text.takeError();
  StringRef Last = (*Text)->getBuffer().rtrim().rsplit('\n').second;
  if (Last.empty())
    Last = (*Text)->getBuffer().trim();
  return make_error<BuildError>("the build failed" +
                                (Last.empty() ? "" : ": " + Last) +
                                (keepsCopies() ? " (" + Log + ")" : Twine()));
}

static Error copyFile(StringRef From, StringRef To) {
  if (std::error_code EC = sys::fs::copy_file(From, To))
    return createFileError(From, EC);
  if (std::error_code EC = sys::fs::setPermissions(
          To, sys::fs::owner_all | sys::fs::group_read | sys::fs::group_exe))
    return createFileError(To, EC);
  return Error::success();
}

/// Copies shared libraries to \p To, the lib folder next to the tools' bin,
/// where their rpath finds them.
static Error copySharedLibraries(StringRef From, StringRef To) {
  std::error_code EC;
  for (sys::fs::directory_iterator I(From, EC, /*follow_symlinks=*/false), E;
       I != E && !EC; I.increment(EC)) {
    StringRef Name = sys::path::filename(I->path());
    if (!Name.contains(".so"))
      continue;
    if (std::error_code Failed = sys::fs::create_directories(To))
      return createFileError(To, Failed);
    std::string Copy = pathIn(To, Name);
    if (I->type() != sys::fs::file_type::symlink_file) {
      if (Error Failed = copyFile(I->path(), Copy))
        return Failed;
      continue;
    }
    SmallString<128> Target; // "libLLVM.so.22.1", next to the link
    if (std::error_code Failed = sys::fs::real_path(I->path(), Target))
      return createFileError(I->path(), Failed);
    if (std::error_code Failed =
            sys::fs::create_link(sys::path::filename(Target), Copy))
      return createFileError(Copy, Failed);
  }
  return Error::success(); // a static build has none
}

Expected<std::string> LLVMCheckout::build(const CheckoutCommit &C) {
  O.Say(formatv("building {0} {1}", C.shortHash(), C.Subject).str());
  std::string Copies = copiesOf(C), Bin = pathIn(Copies, "bin");
  consumeError(removeTree(Copies));
  if (std::error_code EC = sys::fs::create_directories(Bin))
    return createFileError(Bin, EC);
  if (Error E = runBuild(pathIn(Copies, "build.log")))
    return std::move(E);
  std::string Built = pathIn(O.Folder, O.BuiltTools);
  bool HasTool = false;
  for (StringRef Tool : {"opt", "llc", "clang"}) {
    std::string From = pathIn(Built, Tool);
    if (!sys::fs::can_execute(From))
      continue;
    if (Error E = copyFile(From, pathIn(Bin, Tool)))
      return std::move(E);
    HasTool = true;
  }
  if (!HasTool)
    return make_error<BuildError>(
        "the build produced neither opt nor llc in '" + Twine(Built) +
        "': name their folder with --llvm-tools");
  std::string Libraries = pathIn(sys::path::parent_path(Built), "lib");
  if (sys::fs::is_directory(Libraries))
    if (Error E = copySharedLibraries(Libraries, pathIn(Copies, "lib")))
      return std::move(E);
  return Copies;
}
