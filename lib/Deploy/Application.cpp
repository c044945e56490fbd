//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Runtime/DeployEnvironment.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

using Variables = std::vector<std::pair<std::string, std::string>>;

//===----------------------------------------------------------------------===//
// Results of a run
//===----------------------------------------------------------------------===//

/// Returns the last words of a run's standard error.
static std::string readLastWords(const ApplicationRun &R) {
  constexpr size_t TailBytes = 4096;
  Expected<std::unique_ptr<MemoryBuffer>> File =
      readFile(R.Folder.pathOf("stderr"));
  if (File)
    return findLastWords((*File)->getBuffer().take_back(TailBytes)).Text;
  consumeError(File.takeError());
  return "";
}

std::string ApplicationRun::describeFailure() const {
  std::string Text;
  if (TimedOut)
    Text = formatv("did not end within {0:f1} s", Limit);
  else if (ExitCode > 128 && ExitCode - 128 < NSIG)
    Text = formatv("died of signal {0} ({1})", ExitCode - 128,
                   ::strsignal(ExitCode - 128));
  else
    Text = formatv("ended with exit code {0}", ExitCode);
  std::string Words = readLastWords(*this);
  return Words.empty() ? Text : Text + ": " + printable(Words);
}

/// Returns where two texts differ: "line 3: 'b' instead of 'a'".
static std::string describeDifference(StringRef Plain, StringRef Other,
                                      StringRef Noun) {
  constexpr size_t MaxShown = 60;
  auto Show = [](StringRef Rest) {
    StringRef Line = Rest.split('\n').first.take_front(MaxShown);
    return Rest.empty() ? "the end" : "'" + printable(Line) + "'";
  };
  for (unsigned Number = 1;; ++Number) {
    auto [A, PlainRest] = Plain.split('\n');
    auto [B, OtherRest] = Other.split('\n');
    if (A != B || Plain.empty() || Other.empty())
      return formatv("{0} {1}: {2} instead of {3}", Noun, Number, Show(Other),
                     Show(Plain))
          .str();
    if (PlainRest.empty() && OtherRest.empty())
      return formatv("the newline of {0} {1}", Noun, Number).str();
    Plain = PlainRest;
    Other = OtherRest;
  }
}

/// Returns \p Text without the lines that \p Ignored matches.
static std::string dropLines(StringRef Text, const Regex &Ignored) {
  std::string Kept;
  while (!Text.empty()) {
    size_t End = std::min(Text.find('\n'), Text.size() - 1) + 1;
    StringRef Line = Text.take_front(End);
    if (!Ignored.match(Line.rtrim('\n')))
      Kept += Line;
    Text = Text.drop_front(End);
  }
  return Kept;
}

/// Returns how two texts differ without the lines that \p Ignored matches;
/// empty if they do not. \p Ignored may be null.
static std::string compareTexts(StringRef Plain, StringRef Other,
                                const Regex *Ignored) {
  std::string A = Ignored ? dropLines(Plain, *Ignored) : Plain.str(),
              B = Ignored ? dropLines(Other, *Ignored) : Other.str();
  return A == B ? ""
                : describeDifference(A, B, Ignored ? "compared line" : "line");
}

/// Compares the file \p Name of two runs. \p Ignored may be null.
static Expected<std::string> compareFiles(const ApplicationRun &Plain,
                                          const ApplicationRun &Other,
                                          StringRef Name, StringRef Shown,
                                          const Regex *Ignored) {
  std::string Paths[] = {Plain.Folder.pathOf(Name), Other.Folder.pathOf(Name)};
  if (!sys::fs::exists(Paths[1]))
    return (Shown + " was not written").str();
  std::unique_ptr<MemoryBuffer> Texts[2];
  for (auto [Path, Text] : zip_equal(Paths, Texts))
    if (Error E = readFile(Path).moveInto(Text))
      return std::move(E);
  std::string How =
      compareTexts(Texts[0]->getBuffer(), Texts[1]->getBuffer(), Ignored);
  return How.empty() ? How : (Shown + " differs: " + How).str();
}

namespace {
/// The lines of two outputs that have as many.
struct OutputLines {
  std::vector<StringRef> Same;
  std::vector<StringRef> Different; ///< Of one output, of the other, and so on.

  static std::optional<OutputLines> split(StringRef A, StringRef B);
};
} // namespace

std::optional<OutputLines> OutputLines::split(StringRef A, StringRef B) {
  SmallVector<StringRef, 0> Lines[2];
  A.split(Lines[0], '\n');
  B.split(Lines[1], '\n');
  if (Lines[0].size() != Lines[1].size())
    return std::nullopt;
  OutputLines L;
  for (auto [Line, Other] : zip_equal(Lines[0], Lines[1])) {
    if (Line == Other)
      L.Same.push_back(Line);
    else
      L.Different.insert(L.Different.end(), {Line, Other});
  }
  return L;
}

/// Returns an expression for the texts of lines before the first digit; "" if
/// they differ between the outputs, or there are more than \p MaxCount.
static std::string describeBeginnings(ArrayRef<StringRef> Lines,
                                      size_t MaxCount) {
  auto BeginningOf = [](StringRef Line) {
    return Line.take_until(isDigit).rtrim();
  };
  SmallVector<StringRef, 4> Beginnings;
  for (; !Lines.empty(); Lines = Lines.drop_front(2)) {
    StringRef Beginning = BeginningOf(Lines[0]);
    if (count_if(Beginning, isAlpha) < 2 || Beginning != BeginningOf(Lines[1]))
      return "";
    if (!is_contained(Beginnings, Beginning))
      Beginnings.push_back(Beginning);
  }
  if (Beginnings.size() > MaxCount)
    return "";
  std::vector<std::string> Escaped;
  for (StringRef B : Beginnings)
    Escaped.push_back(Regex::escape(B));
  std::string Any = join(Escaped, "|");
  return Escaped.size() == 1 ? "^" + Any : "^(" + Any + ")";
}

/// Returns an expression for the text behind the last digit that all lines have
/// in common, such as a unit; "" if there is none.
static std::string describeEnds(ArrayRef<StringRef> Lines) {
  std::set<StringRef> Ends;
  for (StringRef Line : Lines)
    Ends.insert(Line.substr(Line.find_last_of("0123456789") + 1));
  return Ends.size() == 1 && any_of(*Ends.begin(), isAlpha)
             ? "[0-9]" + Regex::escape(*Ends.begin()) + "$"
             : "";
}

/// Returns an expression for the rows of a table: a name, the same in both
/// outputs, and columns of numbers. "" if some line is none.
static std::string describeRows(ArrayRef<StringRef> Lines) {
  constexpr StringLiteral InNumbers = "0123456789.eE+-";
  auto IsNumber = [&](StringRef Word) {
    return any_of(Word, isDigit) &&
           Word.find_first_not_of(InNumbers) == StringRef::npos;
  };
  std::set<size_t> Columns;
  for (; !Lines.empty(); Lines = Lines.drop_front(2)) {
    SmallVector<StringRef, 8> Words, Other;
    SplitString(Lines[0], Words);
    SplitString(Lines[1], Other);
    if (Words.size() < 2 || Other.size() != Words.size() ||
        Words[0] != Other[0] || !isAlpha(Words[0].front()) ||
        !all_of(drop_begin(Words), IsNumber) ||
        !all_of(drop_begin(Other), IsNumber))
      return "";
    Columns.insert(Words.size() - 1);
  }
  if (Columns.size() != 1)
    return "";
  return "^[[:space:]]*[[:alpha:]][^[:space:]]*([[:space:]]+[0-9.eE+-]+){" +
         std::to_string(*Columns.begin()) + "}[[:space:]]*$";
}

/// Returns a regular expression for the lines that differ between the standard
/// outputs of two runs, and for no others; "REGEX" if there is none, or if
/// nothing else would be left to compare.
static std::string suggestIgnored(StringRef A, StringRef B) {
  constexpr size_t FewBeginnings = 4, ManyBeginnings = 8;
  std::optional<OutputLines> Lines = OutputLines::split(A, B);
  auto IsBlank = [](StringRef Line) { return Line.trim().empty(); };
  if (!Lines || all_of(Lines->Same, IsBlank))
    return "REGEX";
  for (const std::string &Text :
       {describeBeginnings(Lines->Different, FewBeginnings),
        describeEnds(Lines->Different),
        describeBeginnings(Lines->Different, ManyBeginnings),
        describeRows(Lines->Different)}) {
    Regex Ignored(Text);
    auto IsIgnored = [&](StringRef Line) { return Ignored.match(Line); };
    if (!Text.empty() && all_of(Lines->Different, IsIgnored) &&
        none_of(Lines->Same, IsIgnored))
      return quoteWord(Text);
  }
  return "REGEX";
}

static std::string adviseOn(StringRef A, StringRef B) {
  return "leave lines out with --ignore-lines=" + suggestIgnored(A, B) +
         ", if they are no results, or judge the results with --check=COMMAND";
}

std::string mneme::explainOutputs(StringRef A, StringRef B,
                                  const std::string &IgnoreLines) {
  Regex Ignored(IgnoreLines);
  std::string How =
      compareTexts(A, B, IgnoreLines.empty() ? nullptr : &Ignored);
  // The advice covers the lines of IgnoreLines, too.
  return How.empty() ? How : How + "; " + adviseOn(A, B);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Returns a file in memory: an application may not notice that a disk is full,
/// and end without the rest of its output.
static Expected<Descriptor> createBuffer(const char *Name) {
  Descriptor File(::memfd_create(Name, MFD_CLOEXEC));
  if (!File)
    return systemError("cannot create a buffer for the application's output");
  return File;
}

static Error describeLost(StringRef Folder, std::error_code EC) {
  return createStringError("cannot keep the application's output in '" +
                           sys::path::parent_path(Folder) + "': " +
                           EC.message() + "; TMPDIR can name another folder");
}

/// Moves the contents of a buffer to the file \p Name of a run.
static Error keepOutput(const Descriptor &Buffer, const ApplicationRun &R,
                        StringRef Name) {
  std::string Path = R.Folder.pathOf(Name);
  Descriptor File(
      ::open(Path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!File)
    return describeLost(R.Folder.path(), errnoAsErrorCode());
  // The application may have moved the file's position.
  off_t At = 0, Size = ::lseek(Buffer.get(), 0, SEEK_END);
  while (At < Size) {
    ssize_t Count = sys::RetryAfterSignal(-1, ::sendfile, File.get(),
                                          Buffer.get(), &At, Size - At);
    if (Count < 0)
      return describeLost(R.Folder.path(), errnoAsErrorCode());
    if (Count == 0)
      break;
  }
  return Error::success();
}

/// Fails if the runtime in the application could not write its report.
static Error findLostReport(const ApplicationRun &R) {
  Expected<std::unique_ptr<MemoryBuffer>> Text =
      readFile(R.Folder.pathOf("stderr"));
  if (!Text)
    return Text.takeError();
  std::string Start = "mneme: warning: cannot write '" + R.Folder.path();
  StringRef Found = (*Text)->getBuffer();
  size_t At = Found.find(Start);
  if (At == StringRef::npos)
    return Error::success();
  StringRef Line = Found.drop_front(At).split('\n').first;
  return createStringError(
      "cannot keep the report in '" + sys::path::parent_path(R.Folder.path()) +
      "': " + Line.rsplit("': ").second + "; TMPDIR can name another folder");
}

/// Waits for the end of a run, exactly.
static Error waitForEnd(Child &Process, ApplicationRun &R) {
  Descriptor FD(::syscall(SYS_pidfd_open, Process.pid(), 0));
  if (!FD)
    return systemError("cannot wait for the application");
  Error Late = waitFor(FD.get(), POLLIN, Deadline::ofLimit(R.Limit));
  if (Late) {
    consumeError(std::move(Late));
    R.TimedOut = true;
    Process.kill();
  }
  int Status = Process.wait();
  R.ExitCode = WIFEXITED(Status) ? WEXITSTATUS(Status) : 128 + WTERMSIG(Status);
  return Error::success();
}

Error mneme::checkSeconds(StringRef Option, double Seconds) {
  if (Seconds >= 0 && Seconds <= 1e9)
    return Error::success();
  return createStringError(inconvertibleErrorCode(),
                           "invalid --%s=%g: expected seconds",
                           Option.str().c_str(), Seconds);
}

LaunchDevice mneme::findServedDevice(LaunchDevice Device) {
  if (Device != LaunchDevice::Auto)
    return Device;
  if (sys::fs::exists(LaunchOptions().CudaNode))
    return LaunchDevice::Cuda;
  return sys::fs::exists("/dev/kfd") ? LaunchDevice::Hip : LaunchDevice::Host;
}

Expected<std::vector<std::string>>
mneme::resolvePackages(ArrayRef<std::string> Paths) {
  std::vector<std::string> Packages;
  for (const std::string &Given : Paths) {
    SmallString<128> Path(Given);
    sys::fs::make_absolute(Path);
    if (StringRef(Path).contains(':'))
      return createFileError(
          Given, createStringError("a package's path cannot contain ':'"));
    Expected<int> FD = openToRead(Given);
    if (!FD)
      return FD.takeError();
    ::close(*FD);
    Packages.push_back(std::string(Path));
  }
  return Packages;
}

Expected<std::string> mneme::getPreloadValue(StringRef LibraryPath,
                                             LaunchDevice Device) {
  std::string Library =
      pathIn(LibraryPath, Device == LaunchDevice::Hip ? "libmneme_deploy_hip.so"
                                                      : "libmneme_deploy.so");
  if (!sys::fs::exists(Library))
    return createFileError(
        Library, std::make_error_code(std::errc::no_such_file_or_directory));
  // The loader splits LD_PRELOAD at spaces and colons.
  if (StringRef(Library).find_first_of(" :") != StringRef::npos)
    return createFileError(
        Library,
        createStringError("a path with a space or colon cannot be preloaded"));
  const char *Others = ::getenv("LD_PRELOAD");
  return Others && *Others ? Library + ":" + Others : Library;
}

LaunchOptions mneme::makeHostLaunch(std::vector<std::string> Command,
                                    StringRef LibraryPath) {
  LaunchOptions L;
  L.Command = std::move(Command);
  L.RuntimePath = pathIn(LibraryPath, "libmneme_rt.so");
  L.DriverPath = pathIn(LibraryPath, "mneme/MnemeHostDriver.so");
  L.Device = LaunchDevice::Host;
  L.Record = false;
  L.Quiet = true;
  L.AnyExecutable = true;
  return L;
}

static Expected<Variables> makeVariables(const ApplicationOptions &O,
                                         const RunSettings &S,
                                         const ApplicationRun &R,
                                         LaunchDevice Device) {
  // An empty value hides that of the tool's environment.
  std::map<std::string, std::string> V;
  for (const char *Name : MNEME_ENV_TUNED_ALL)
    V[Name] = "";
  V[MNEME_ENV_TUNED] = join(S.Packages, ":");
  V[MNEME_ENV_TUNED_SCOPE] = S.Serve.Scope;
  V[MNEME_ENV_TUNED_LAUNCH_SHAPE] = S.Serve.LaunchShape;
  V[MNEME_ENV_TUNED_CODE] = S.Serve.Code;
  V[MNEME_ENV_TUNED_DEVICE_MATCH] = S.Serve.DeviceMatch;
  V[MNEME_ENV_TUNED_STRICT] = "1";
  V[MNEME_ENV_TUNED_TIMES] = S.Times;
  if (!S.Packages.empty())
    V[MNEME_ENV_TUNED_REPORT] = R.Folder.pathOf("report.%p.json");
  if (Device != LaunchDevice::Host && !S.Packages.empty())
    if (Error E =
            getPreloadValue(O.LibraryPath, Device).moveInto(V["LD_PRELOAD"]))
      return std::move(E);
  return Variables(V.begin(), V.end());
}

std::string mneme::getLibraryFolder(const char *Argv0) {
  std::string Tool = sys::fs::getMainExecutable(
      Argv0, reinterpret_cast<void *>(getLibraryFolder));
  return pathIn(sys::path::parent_path(sys::path::parent_path(Tool)), "lib");
}

/// Runs the application on the host device. Called in a child process, which
/// becomes its launcher.
static void launchOnHost(const ApplicationOptions &O, const Variables &V,
                         int Errors) {
  for (const auto &[Name, Value] : V)
    ::setenv(Name.c_str(), Value.c_str(), /*overwrite=*/1);
  LaunchOptions L = makeHostLaunch(O.Command, O.LibraryPath);
  L.Host.Finish = O.Finish;
  L.RunsPipeline = O.RunsPipeline;
  L.ReportError = [&](Error E) {
    consumeError(writeAll(Errors, toString(std::move(E))));
  };
  Expected<int> Code = launchApplication(L);
  if (!Code)
    L.ReportError(Code.takeError());
  ::_exit(Code ? *Code : 1);
}

Error Application::execute(const RunSettings &S, ApplicationRun &R) {
  LaunchDevice Device = findServedDevice(O.Device);
  Expected<Variables> V = makeVariables(O, S, R, Device);
  if (!V)
    return V.takeError();
  Descriptor Out, Err;
  if (Error E = createBuffer("stdout").moveInto(Out))
    return E;
  if (Error E = createBuffer("stderr").moveInto(Err))
    return E;
  Expected<Pipe> Problem = Pipe::create();
  if (!Problem)
    return Problem.takeError();
  ChildOptions C;
  C.Out = Out.get();
  C.Err = Err.get();
  double Start = steadySeconds();
  Expected<Child> Process = [&]() -> Expected<Child> {
    if (Device != LaunchDevice::Host) {
      Expected<std::string> Path = findProgram(O.Command.front());
      if (!Path)
        return Path.takeError();
      C.Environment = std::move(*V);
      return Child::spawn(*Path, O.Command, C);
    }
    int FD = Problem->Write.get();
    C.Kept = {FD};
    // The launcher passes it on to the application.
    C.DeathSignal = SIGTERM;
    return Child::fork([&] { launchOnHost(O, *V, FD); }, C);
  }();
  if (!Process)
    return Process.takeError();
  if (Error E = waitForEnd(*Process, R))
    return E;
  R.Seconds = steadySeconds() - Start;
  for (auto [Buffer, Name] :
       {std::pair(&Out, "stdout"), std::pair(&Err, "stderr")})
    if (Error E = keepOutput(*Buffer, R, Name))
      return E;
  if (Error E = findLostReport(R))
    return E;
  Problem->Write.reset();
  if (std::string Text = readToEnd(Problem->Read.get()); !Text.empty())
    return createStringError(Text);
  return Error::success();
}

/// Moves the output files to the folder of the run, so that the next run begins
/// without them.
Error Application::collectFiles(ApplicationRun &R) {
  if (O.OutputFiles.empty())
    return Error::success();
  std::string Files = R.Folder.pathOf("files");
  if (std::error_code EC = sys::fs::create_directory(Files))
    return createFileError(Files, EC);
  for (const std::string &Path : O.OutputFiles) {
    if (!sys::fs::exists(Path))
      continue;
    std::string To = pathIn(Files, sys::path::filename(Path));
    std::error_code EC = sys::fs::rename(Path, To);
    if (EC == std::errc::cross_device_link) {
      EC = sys::fs::copy_file(Path, To);
      if (!EC)
        EC = sys::fs::remove(Path);
    }
    if (EC)
      return createFileError(Path, EC);
  }
  return Error::success();
}

Expected<ApplicationRun> Application::run(const RunSettings &S) {
  ApplicationRun R;
  if (Error E = PrivateFolder::create(Folder.path(), "run-").moveInto(R.Folder))
    return std::move(E);
  R.Limit = O.Timeout;
  if (double Limit = 10 * Longest + 10; Longest > 0)
    R.Limit = O.Timeout > 0 ? std::min(O.Timeout, Limit) : Limit;
  Error E = execute(S, R);
  // Also after an error, so that the next run can begin.
  E = joinErrors(std::move(E), collectFiles(R));
  if (E)
    return std::move(E);
  if (!S.isTuned())
    Longest = std::max(Longest, R.Seconds);
  if (!S.Packages.empty())
    if (Error E = readPackageUse(R.Folder.path()).moveInto(R.Use))
      return std::move(E);
  return R;
}

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

Expected<std::string> Application::check(const ApplicationRun &R) const {
  ChildOptions C;
  for (const auto &[Name, Run] :
       {std::pair(StringRef("PLAIN"), &Reference), {"TUNED", &R}}) {
    std::string Prefix = ("MNEME_" + Name + "_").str();
    C.Environment.push_back({Prefix + "STDOUT", Run->Folder.pathOf("stdout")});
    C.Environment.push_back({Prefix + "STDERR", Run->Folder.pathOf("stderr")});
    C.Environment.push_back({Prefix + "FILES", Run->Folder.pathOf("files")});
  }
  Expected<Child> Shell = Child::spawn("/bin/sh", {"sh", "-c", O.Check}, C);
  if (!Shell)
    return Shell.takeError();
  if (O.Timeout > 0 && !Shell->wait(O.Timeout))
    return createStringError(
        formatv("--check: '{0}' did not end within {1} s", O.Check, O.Timeout));
  int Status = Shell->wait();
  // 126 and 127: the shell found no program.
  if (!WIFEXITED(Status) || WEXITSTATUS(Status) >= 126)
    return createStringError(
        formatv("--check: '{0}' {1}", O.Check, describeExit(Status)));
  if (int Code = WEXITSTATUS(Status))
    return formatv("--check ended with exit code {0}", Code).str();
  return "";
}

Expected<std::string> Application::compare(const ApplicationRun &R) {
  // The reference ended with exit code 0.
  if (R.hasFailed())
    return "the application " + R.describeFailure();
  if (!O.Check.empty())
    return check(R);
  const Regex *I = Ignored ? &*Ignored : nullptr;
  Expected<std::string> Text =
      compareFiles(Reference, R, "stdout", "standard output", I);
  for (const std::string &Path : O.OutputFiles)
    if (Text && Text->empty())
      Text = compareFiles(Reference, R,
                          ("files/" + sys::path::filename(Path)).str(),
                          "'" + Path + "'", I);
  return Text;
}

Error Application::comparePlain(const ApplicationRun &R) {
  if (R.hasFailed())
    return createStringError("the application fails without packages: it " +
                             R.describeFailure());
  Expected<std::string> Difference = compare(R);
  if (!Difference)
    return Difference.takeError();
  if (Difference->empty())
    return Error::success();
  if (!O.Check.empty())
    return createStringError(
        "two runs without packages are not the same: " + *Difference +
        "; --check must accept two plain runs");
  std::unique_ptr<MemoryBuffer> Texts[2];
  for (auto [Run, Text] :
       zip_equal(ArrayRef<const ApplicationRun *>{&Reference, &R}, Texts))
    if (Error E = readFile(Run->Folder.pathOf("stdout")).moveInto(Text))
      return E;
  return createStringError(
      "two runs without packages are not the same: " + *Difference + "; " +
      adviseOn(Texts[0]->getBuffer(), Texts[1]->getBuffer()));
}

Error Application::prepare() {
  if (!O.IgnoreLines.empty()) {
    std::string Why;
    Ignored.emplace(O.IgnoreLines);
    if (!Ignored->isValid(Why))
      return createStringError("--ignore-lines: invalid regular expression '" +
                               O.IgnoreLines + "': " + Why);
    if (!O.Check.empty())
      return createStringError("--ignore-lines and --check are mutually "
                               "exclusive: the command judges");
  }
  StringSet<> Names;
  for (const std::string &Path : O.OutputFiles) {
    if (Path.empty())
      return createStringError("empty --output-file");
    StringRef Name = sys::path::filename(Path);
    if (sys::fs::exists(Path))
      return createStringError("--output-file: '" + Path +
                               "' exists: each run has to write it anew, so "
                               "move or remove it first");
    if (!Names.insert(Name).second)
      return createStringError("--output-file: two files are called '" + Name +
                               "'");
  }
  return PrivateFolder::createTemporary().moveInto(Folder);
}

Error Application::runReference() {
  if (Error E = run({}).moveInto(Reference))
    return E;
  if (Reference.hasFailed())
    return comparePlain(Reference);
  for (const std::string &Path : O.OutputFiles)
    if (!sys::fs::exists(Reference.Folder.pathOf(
            ("files/" + sys::path::filename(Path)).str())))
      return createStringError("--output-file: the application did not write "
                               "'" +
                               Path + "'");
  Expected<ApplicationRun> Again = run({});
  if (!Again)
    return Again.takeError();
  if (Error E = comparePlain(*Again))
    return E;
  return checkResults();
}

/// Fails if there is nothing to compare: any kernel would be right.
Error Application::checkResults() const {
  if (!O.Check.empty())
    return Error::success();
  std::vector<std::string> Names = {"stdout"};
  for (const std::string &Path : O.OutputFiles)
    Names.push_back(("files/" + sys::path::filename(Path)).str());
  for (const std::string &Name : Names) {
    Expected<std::unique_ptr<MemoryBuffer>> File =
        readFile(Reference.Folder.pathOf(Name));
    if (!File)
      return File.takeError();
    StringRef Text = (*File)->getBuffer();
    if (Ignored ? !dropLines(Text, *Ignored).empty() : !Text.empty())
      return Error::success();
  }
  return createStringError(
      "nothing to compare: " +
      (Ignored ? "--ignore-lines='" + O.IgnoreLines +
                     "' matches all lines of the results"
               : "the application prints nothing" +
                     std::string(O.OutputFiles.empty()
                                     ? ""
                                     : ", and its output files are empty")) +
      "; name its result files with --output-file, or judge the results with "
      "--check=COMMAND (--check=true if its exit code is the result)");
}

Expected<std::unique_ptr<Application>>
Application::create(ApplicationOptions O) {
  std::unique_ptr<Application> A(new Application(std::move(O)));
  if (Error E = A->prepare())
    return std::move(E);
  if (Error E = A->runReference())
    return std::move(E);
  return A;
}
