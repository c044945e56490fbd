//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Reduce/Reducer.h"
#include "Parts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Pipeline/PipelineParts.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Reduce/Promises.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/MinimizeSet.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

/// Time limit as a multiple of the first comparison's time, and its minimum in
/// seconds. A smaller kernel takes no longer, unless it hangs.
static constexpr double SlowerThan = 10, MinTimeout = 5;
/// Likewise for a launch, as a multiple of the good side's known time.
static constexpr double LaunchSlowerThan = 20, MinLaunchTimeout = 0.5;

/// Passes of llvm-reduce to skip: those that change the kernel's signature, and
/// those that make results depend on undefined values.
static constexpr StringLiteral SkippedPasses =
    "arguments,arguments-to-return,instructions-to-return,operands-to-args,"
    "operands-poison";

/// More rounds of llvm-reduce rarely help after the first. They are worth the
/// time only for more than this number of instructions.
static constexpr unsigned FewInstructions = 20, MoreRounds = 4;

/// Interval of progress messages while llvm-reduce runs.
static constexpr std::chrono::seconds ProgressInterval(5);

/// llvm-reduce is stopped after this number of consecutive tests without a
/// smaller kernel, plus twice the number of instructions.
static constexpr unsigned MaxIdleTests = 200;

/// Minimum of the remaining time, as 0 would mean no limit.
static constexpr double MinSeconds = 0.1;

/// Prefix of the working folder in the report's folder, which exists until the
/// reduction has ended.
static constexpr StringLiteral WorkPrefix = ".work-";

/// Seconds to wait for a killed reduction, whose processes hold its lock until
/// they have ended.
static constexpr double EndSeconds = 2;

Expected<std::string> mneme::findLLVMReduce(StringRef Wanted) {
  if (!Wanted.empty()) {
    // findProgramByName() does not check the file if it gets a path.
    ErrorOr<std::string> Path = sys::findProgramByName(Wanted);
    if (Path && sys::fs::can_execute(*Path))
      return *Path;
    return createStringError("cannot find --llvm-reduce=" + Wanted);
  }
  std::string Short = "llvm-reduce-" + std::to_string(LLVM_VERSION_MAJOR);
  StringRef Tools(MNEME_LLVM_TOOLS_DIR);
  ArrayRef<StringRef> Beside(Tools);
  for (StringRef Name : {StringRef(Short), StringRef("llvm-reduce")})
    for (ArrayRef<StringRef> Folders : {ArrayRef<StringRef>(), Beside})
      if (ErrorOr<std::string> Path = sys::findProgramByName(Name, Folders))
        return *Path;
  return createStringError("cannot find " + Short +
                           ", which reduces the IR: say where with "
                           "--llvm-reduce");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
class Reduction {
public:
  Reduction(const ReplayPlan &Plan, ReduceOptions Options)
      : Start(Plan), O(std::move(Options)), Side(Plan.options()) {}

  Expected<ReduceOutcome> run();

private:
  const ReplayPlan &Start;
  ReduceOptions O;
  /// The bad side as reduced so far; \p Plan likewise.
  ReplayOptions Side;
  std::unique_ptr<ReplayPlan> Plan;
  std::string Reducer;
  bool IsNew = false; ///< The folder of the report.
  PrivateFolder Work;
  ReduceOutcome Outcome;

  std::chrono::steady_clock::time_point Begin =
      std::chrono::steady_clock::now();
  bool IsLate = false; ///< The time limit has ended or prevented a step.

  double seconds() const { return secondsSince(Begin); }
  bool isOver();
  Error prepareFolder();
  Expected<bool> isBusy() const;
  void limitTime(double Seconds);
  Error dropHostFinish();
  Error confirm();
  Error shrinkLaunch();
  Error simplify();
  Error dropAllPromises();
  Error dropLeftovers();
  Error shrinkPipelineText(StringRef Text);
  Error shrinkPipeline();
  Expected<bool> tryPipeline(const Twine &Passes);
  Expected<bool> tryIR(StringRef Name, const Module &M);
  Error shrinkMemory(StringRef Dir);
  Error reduceIR();
  void addReproducer(StringRef Folder);
  Error runLLVMReduce(StringRef Name, StringRef Passes, unsigned NumPasses,
                      unsigned Rounds);

  Expected<bool> tryPlan(std::unique_ptr<ReplayPlan> Candidate);
  Expected<bool> tryOptions(ReplayOptions Candidate);
  Expected<bool> tryDimension(std::optional<uint32_t> (ReplayOptions::*Dims)[3],
                              unsigned I, uint32_t Value);
  Error shrinkDimension(std::optional<uint32_t> (ReplayOptions::*Dims)[3],
                        unsigned I, uint32_t Now);
  Expected<std::optional<std::vector<uint64_t>>> findTouched();
  Expected<bool> tryMemory(StringRef Dir,
                           std::optional<ArrayRef<uint64_t>> Touched);
  void useLaunch(const ReplayOptions &Of);
  Error writeScript(StringRef Path, StringRef Recording);
  Expected<unsigned> countTests() const;
  unsigned countDeltaPasses() const;
  struct RunningReducer;
  void watch(RunningReducer &R);
  std::string workFile(StringRef Name) const { return Work.pathOf(Name); }
  void say(const Twine &Text) {
    if (O.Say)
      O.Say(Text.str());
  }
  void note(const Twine &Text) { Outcome.Notes.push_back(Text.str()); }
};
} // namespace

/// Returns true if no time is left for another step.
bool Reduction::isOver() {
  IsLate |= O.Limit > 0 && seconds() >= O.Limit;
  return IsLate;
}

/// Returns true if another reduction is using the folder. Fails if the folder
/// has other contents.
Expected<bool> Reduction::isBusy() const {
  bool IsBusy = false;
  std::error_code EC;
  for (sys::fs::directory_iterator It(O.Output, EC), End; !EC && It != End;
       It.increment(EC)) {
    IsBusy =
        PrivateFolder::isName(sys::path::filename(It->path()), WorkPrefix) &&
        isRealFolder(It->path());
    if (!IsBusy)
      return createFileError(O.Output,
                             createStringError("the folder is not empty"));
  }
  if (EC)
    return createFileError(O.Output, EC);
  return IsBusy;
}

Error Reduction::prepareFolder() {
  IsNew = !sys::fs::exists(O.Output);
  if (std::error_code EC = sys::fs::create_directories(O.Output))
    return createFileError(O.Output, EC);
  std::optional<Expected<bool>> Busy;
  waitUntil(
      [&] {
        removeAbandoned(O.Output, [](StringRef Name) {
          return PrivateFolder::isName(Name, WorkPrefix);
        });
        Busy.emplace(isBusy());
        return !*Busy || !**Busy;
      },
      EndSeconds);
  if (!*Busy)
    return Busy->takeError();
  if (**Busy)
    return createFileError(
        O.Output, createStringError("another reduction is running there"));
  SmallString<128> Absolute(O.Output);
  if (std::error_code EC = sys::fs::make_absolute(Absolute))
    return createFileError(O.Output, EC);
  return PrivateFolder::create(Absolute, WorkPrefix).moveInto(Work);
}

/// Copies the settings that the good side and the cured side share with the bad
/// side.
void Reduction::useLaunch(const ReplayOptions &Of) {
  auto Use = [&](ReplayOptions &To) {
    llvm::copy(Of.Grid, To.Grid);
    llvm::copy(Of.Block, To.Block);
    To.SharedMem = Of.SharedMem;
    To.Timeout = Of.Timeout;
    To.LaunchTimeout = Of.LaunchTimeout;
    To.Device = Of.Device;
    To.Host = Of.Host;
    To.Tolerances = Of.Tolerances;
    To.ElementTypes = Of.ElementTypes;
    To.Unordered = Of.Unordered;
  };
  Use(O.Difference.Good);
  if (O.Difference.Cured)
    Use(*O.Difference.Cured);
}

/// Reduced kernels often hang, also on the good side: a loop that no longer
/// counts.
void Reduction::limitTime(double Seconds) {
  double Limit = std::ceil(std::max(MinTimeout, SlowerThan * Seconds));
  if (Side.Timeout <= 0 || Side.Timeout > Limit)
    Side.Timeout = Limit;
  // Multiples of 0.5 are short in command lines.
  double Launch = std::max(
      MinLaunchTimeout,
      std::ceil(2 * LaunchSlowerThan * Outcome.Difference.Good.Times.Run) / 2);
  if (Side.launchTimeout() <= 0 || Side.launchTimeout() > Launch)
    Side.LaunchTimeout = Launch;
}

/// Checks that the sides differ, and which cross-checks the recorded kernel
/// passes.
Error Reduction::confirm() {
  auto Begin = std::chrono::steady_clock::now();
  O.Difference.AnyFailure = true;
  if (!O.Culprit.empty()) {
    O.Difference.Cured = Start.options();
    O.Difference.Cured->SkipPasses = O.Culprit;
  }
  while (true) {
    if (Error E =
            compareSides(Start, O.Difference).moveInto(Outcome.Difference))
      return E;
    const DifferentialResult &R = Outcome.Difference;
    if (R.D == Difference::Present)
      break;
    if (!R.Failed)
      return createStringError("nothing to reduce: " + R.Reason);
    note("not checked: " + R.Reason +
         ". So does the recorded kernel, which may read what it has not "
         "written or depend on rounding (--tolerance)");
    llvm::erase(O.Difference.Checks, *R.Failed);
  }
  say("the sides differ: " + Outcome.Difference.Reason);
  if (O.Difference.By == "verify")
    O.Difference.Expected = Outcome.Difference.Bad.V;
  Side.Device = Outcome.Difference.Good.Device;
  limitTime(secondsSince(Begin));
  useLaunch(Side);
  if (Error E = Start.vary(Side).moveInto(Plan))
    return E;
  Outcome.Before = measureSize(*Plan);
  return dropHostFinish();
}

/// The CPU's own pipeline is not under test, and takes most of the time of a
/// small kernel.
Error Reduction::dropHostFinish() {
  if (Side.Device != "host" || Side.Host.Finish == HostFinish::None ||
      O.Difference.By != "verify")
    return Error::success();
  ReplayOptions Candidate = Side;
  Candidate.Host.Finish = HostFinish::None;
  return tryOptions(std::move(Candidate)).takeError();
}

/// Accepts \p Candidate if it still shows the difference.
Expected<bool> Reduction::tryPlan(std::unique_ptr<ReplayPlan> Candidate) {
  Expected<DifferentialResult> R = compareSides(*Candidate, O.Difference);
  if (!R)
    return R.takeError();
  if (R->D != Difference::Present)
    return false;
  Outcome.Difference = std::move(*R);
  Side = Candidate->options();
  Plan = std::move(Candidate);
  return true;
}

Expected<bool> Reduction::tryOptions(ReplayOptions Candidate) {
  Expected<std::unique_ptr<ReplayPlan>> New = Plan->vary(Candidate);
  if (!New) {
    // For example, an impossible launch.
    consumeError(New.takeError());
    return false;
  }
  ReplayOptions Old = Side;
  useLaunch(Candidate);
  Expected<bool> Taken = tryPlan(std::move(*New));
  if (!Taken || !*Taken)
    useLaunch(Old);
  return Taken;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

Expected<bool>
Reduction::tryDimension(std::optional<uint32_t> (ReplayOptions::*Dims)[3],
                        unsigned I, uint32_t Value) {
  ReplayOptions Candidate = Side;
  (Candidate.*Dims)[I] = Value;
  return tryOptions(std::move(Candidate));
}

/// Sets a dimension to 1, or halves it while the difference remains.
Error Reduction::shrinkDimension(
    std::optional<uint32_t> (ReplayOptions::*Dims)[3], unsigned I,
    uint32_t Now) {
  bool One = false;
  if (Now == 1 || isOver())
    return Error::success();
  if (Error E = tryDimension(Dims, I, 1).moveInto(One))
    return E;
  for (bool Half = !One; Half && Now > 2 && !isOver(); Now = (Now + 1) / 2)
    if (Error E = tryDimension(Dims, I, (Now + 1) / 2).moveInto(Half))
      return E;
  return Error::success();
}

Error Reduction::shrinkLaunch() {
  // Each step may replace the plan.
  for (unsigned I = 0; I != 3; ++I)
    if (Error E = shrinkDimension(&ReplayOptions::Grid, I, Plan->grid()[I]))
      return E;
  for (unsigned I = 0; I != 3; ++I)
    if (Error E = shrinkDimension(&ReplayOptions::Block, I, Plan->block()[I]))
      return E;
  const Dim3 &G = Plan->grid(), &B = Plan->block();
  say(formatv("launch: {0}x{1}x{2} blocks of {3}x{4}x{5} threads", G.X, G.Y,
              G.Z, B.X, B.Y, B.Z)
          .str());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The IR
//===----------------------------------------------------------------------===//

/// Tries the plan's IR with fewer parts. \p Name names the dropped parts.
Expected<bool> Reduction::tryIR(StringRef Name, const Module &M) {
  ReplayOptions Candidate = Side;
  Candidate.IRFile = workFile(("without-" + Name + ".bc").str());
  Error E = writeFileAtomically(
      Candidate.IRFile,
      [&](raw_ostream &OS) {
        WriteBitcodeToFile(M, OS);
        return Error::success();
      },
      /*Sync=*/false);
  if (E)
    return std::move(E);
  return tryOptions(std::move(Candidate));
}

/// Drops parts that distract readers of the report. This takes at most three
/// tests, and thus runs after the time limit, too.
Error Reduction::dropLeftovers() {
  auto DropPromises = [](Module &M) {
    return dropPromises(M, Promises::Attributes);
  };
  std::pair<StringRef, function_ref<bool(Module &)>> Kinds[] = {
      {"unused", dropUnused},
      {"strings", dropStringAttributes},
      {"attributes-again", DropPromises}};
  for (auto &[Name, Drop] : Kinds) {
    LLVMContext Context;
    std::unique_ptr<Module> M = Plan->cloneModule(Context);
    if (Drop(*M))
      if (Error E = tryIR(Name, *M).takeError())
        return E;
  }
  return Error::success();
}

/// Tries one kind after the other; a kind is either dropped or needed.
Error Reduction::dropAllPromises() {
  unsigned Kept = 0, Count = 0;
  for (auto [Kind, Name] :
       {std::pair(Promises::Attributes, StringRef("attributes")),
        std::pair(Promises::Flags, StringRef("flags"))}) {
    LLVMContext Context;
    std::unique_ptr<Module> M = Plan->cloneModule(Context);
    if (isOver() || !dropPromises(*M, Kind))
      continue;
    Expected<bool> Taken = tryIR(Name, *M);
    if (!Taken)
      return Taken.takeError();
    ++Count;
    if (*Taken)
      continue;
    ++Kept;
    note(Name + (Kind == Promises::Flags
                     ? " of instructions (nsw, inbounds, ...) are needed: "
                       "without any the sides do not differ. Make sure that "
                       "the kernel keeps these promises"
                     : " and metadata that promise something (noalias, !tbaa, "
                       "...) are needed: without any the sides do not differ. "
                       "Make sure that the kernel keeps these promises"));
  }
  if (Count)
    say(formatv("promises: {0} of {1} kinds are needed", Kept, Count).str());
  return Error::success();
}

/// Tries LLVM's own passes, which leave only a fraction of the IR. The fault
/// often survives them.
Error Reduction::simplify() {
  for (StringRef Passes :
       {"default<O1>", "function(sroa,instcombine,simplifycfg)",
        "function(sroa)"}) {
    if (isOver())
      break;
    ReplayOptions Simplifier = getBaselineOptions(Side);
    Simplifier.IRFile = Side.IRFile;
    Simplifier.LaunchTimeout = Side.LaunchTimeout;
    llvm::copy(Side.Grid, Simplifier.Grid);
    llvm::copy(Side.Block, Simplifier.Block);
    Simplifier.SharedMem = Side.SharedMem;
    Simplifier.Passes = Passes.str();
    Simplifier.OutputIR = workFile("simplified.ll");
    Simplifier.Verify = Simplifier.Resources = false;
    Simplifier.Iterations = 1;
    Simplifier.Warmup = 0;
    Expected<std::unique_ptr<ReplayPlan>> Simple =
        Plan->vary(std::move(Simplifier));
    if (!Simple)
      return Simple.takeError();
    Expected<ReplayResult> R = runIsolatedReplay(**Simple);
    if (!R)
      return R.takeError();
    if (R->failed())
      continue;
    ReplayOptions Candidate = Side;
    Candidate.IRFile = workFile("simplified.ll");
    Expected<bool> Taken = tryOptions(std::move(Candidate));
    if (!Taken)
      return Taken.takeError();
    if (!*Taken)
      continue;
    say("IR: " + Twine(measureSize(*Plan).Instructions) +
        " instructions after '" + Passes + "'");
    return Error::success();
  }
  return Error::success();
}

/// Writes a script that is called with an IR file and succeeds if the IR still
/// shows the difference.
Error Reduction::writeScript(StringRef Path, StringRef Recording) {
  Expected<std::vector<std::string>> Command =
      makeTestCommand(*Plan, O, O.Tool, Recording);
  if (!Command)
    return Command.takeError();
  std::string Text =
      formatv("#!/bin/sh\n"
              "[ ! -e {0} ] || exit 1\n"
              "echo >> {1}\n"
              "exec {2} --ir=\"$1\" > /dev/null 2>&1\n",
              quoteWord(workFile("stop")), quoteWord(workFile("tests")),
              quoteCommand(*Command))
          .str();
  return mneme::writeScript(Path, Text);
}

Expected<unsigned> Reduction::countTests() const {
  Expected<std::unique_ptr<MemoryBuffer>> Lines = readFile(workFile("tests"));
  if (!Lines)
    return Lines.takeError();
  return (*Lines)->getBufferSize();
}

namespace {
/// Sets an environment variable within a scope.
class ScopedVariable {
public:
  ScopedVariable(const char *Name, const std::string &Value)
      : Name(Name), Old(sys::Process::GetEnv(Name)) {
    ::setenv(Name, Value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (Old)
      ::setenv(Name, Old->c_str(), 1);
    else
      ::unsetenv(Name);
  }

private:
  const char *Name;
  std::optional<std::string> Old;
};
} // namespace

/// Returns ", N instructions" for llvm-reduce's current result; empty while
/// llvm-reduce writes it.
static std::string describeSize(StringRef File) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Bitcode =
      MemoryBuffer::getFile(File, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false,
                            /*IsVolatile=*/true);
  if (!Bitcode)
    return "";
  Expected<std::string> Count =
      inspectIR(**Bitcode, DefaultIRSeconds,
                [](const Module &M) -> Expected<std::string> {
                  return std::to_string(M.getInstructionCount());
                });
  if (Count)
    return ", " + *Count + " instructions";
  consumeError(Count.takeError());
  return "";
}

namespace {
/// Calls a function repeatedly during its lifetime, in its own thread.
class Repeater {
public:
  Repeater(std::chrono::seconds Interval, std::function<void()> Do)
      : Thread([this, Interval, Do = std::move(Do)] {
          std::unique_lock<std::mutex> Hold(Mutex);
          while (!Changed.wait_for(Hold, Interval, [&] { return IsOver; }))
            Do();
        }) {}
  ~Repeater() {
    {
      std::lock_guard<std::mutex> Hold(Mutex);
      IsOver = true;
    }
    Changed.notify_one();
    Thread.join();
  }

private:
  std::mutex Mutex;
  std::condition_variable Changed;
  bool IsOver = false;
  std::thread Thread;
};
} // namespace

/// Returns an error with the way llvm-reduce ended and its last message.
static Error explainEnd(Error E, StringRef Log) {
  std::string How = toString(std::move(E));
  StringRef Last = Log.rtrim().rsplit('\n').second;
  if (!Log.rtrim().contains('\n'))
    return createStringError(How);
  return createStringError(StringRef(How).split(": ").first + ": " + Last);
}

/// A run of llvm-reduce, as another thread sees it.
struct Reduction::RunningReducer {
  StringRef IR;           ///< The file.
  const ScratchFile &Out; ///< Its output.
  unsigned NumPasses;     ///< Of one round; 0: unknown.
  unsigned FewestTests;   ///< Without success, before it ends.
  std::chrono::steady_clock::time_point Begin =
      std::chrono::steady_clock::now();
  unsigned Successes = 0;
  unsigned TestsBefore = 0; ///< Before the last success.
  bool IsStopped = false;
};

/// Returns the number of delta passes of a round for IR; 0 if it is unknown.
unsigned Reduction::countDeltaPasses() const {
  StringRef Args[] = {Reducer, "--print-delta-passes"};
  std::string Log;
  if (Error E = runProgram(Args, Log, MinTimeout)) {
    consumeError(std::move(E));
    return 0;
  }
  auto [Head, OfIR] = StringRef(Log).split(" IR:\n");
  unsigned Count = OfIR.split(" MIR:").first.count('\n');
  unsigned NumSkipped = 1 + StringRef(SkippedPasses).count(',');
  return Count > NumSkipped ? Count - NumSkipped : 0;
}

/// Says how far llvm-reduce is. Ends it if nothing has become smaller for a
/// while: all further tests fail at once.
void Reduction::watch(RunningReducer &R) {
  Expected<unsigned> Tests = countTests();
  Expected<SmallVector<char, 0>> Text = R.Out.read();
  if (!Tests || !Text) {
    consumeError(Tests.takeError());
    consumeError(Text.takeError());
    return;
  }
  StringRef Log = toStringRef(*Text);
  unsigned Passes = Log.count("\n*** ") + Log.starts_with("*** ");
  unsigned Successes = Log.count("**** SUCCESS");
  if (Successes != R.Successes)
    R.TestsBefore = *Tests;
  R.Successes = Successes;
  std::string Left;
  if (Passes && R.NumPasses) {
    unsigned Pass = (Passes - 1) % R.NumPasses + 1;
    Left = formatv("; delta pass {0} of {1}, about {2:f0} s left", Pass,
                   R.NumPasses,
                   secondsSince(R.Begin) / Passes * (R.NumPasses - Pass))
               .str();
  }
  say(formatv("llvm-reduce: {0} tests{1} after {2:f0} s{3}", *Tests,
              describeSize(R.IR), seconds(), Left)
          .str());
  if (R.IsStopped || *Tests - R.TestsBefore < R.FewestTests)
    return;
  R.IsStopped = true;
  say(formatv("llvm-reduce: ending, as {0} tests found nothing smaller",
              *Tests - R.TestsBefore)
          .str());
  if (Error E = writeFileAtomically(workFile("stop"), ""))
    consumeError(std::move(E)); // it ends later by itself
}

/// Reduces the plan's IR in up to \p Rounds rounds of the passes in option
/// \p Passes. Plans identify IR by its file name, so \p Name must be unique.
/// \param NumPasses  number of passes in a round; 0: unknown.
Error Reduction::runLLVMReduce(StringRef Name, StringRef Passes,
                               unsigned NumPasses, unsigned Rounds) {
  if (isOver())
    return Error::success();
  std::string IR = workFile(Name), Script = workFile("interesting.sh");
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan->cloneModule(Context);
  Error E = writeFileAtomically(
      IR,
      [&](raw_ostream &OS) {
        WriteBitcodeToFile(*M, OS);
        return Error::success();
      },
      /*Sync=*/false);
  if (E)
    return E;
  if (Error E = writeScript(Script, workFile("recording")))
    return E;

  std::string Test = "--test=" + Script, Jobs = "-j=" + std::to_string(O.Jobs),
              Iterations = "--max-pass-iterations=" + std::to_string(Rounds);
  StringRef Args[] = {Reducer,
                      Test,
                      Passes,
                      Jobs,
                      Iterations,
                      "--in-place",
                      IR,
                      "--write-tmp-files-as-bitcode",
                      "--skip-verify-interesting-after-counting-chunks"};
  // Its temporary files are in the working folder. It is killed with this
  // process.
  ScopedVariable TempDir("TMPDIR", Work.path());
  ScratchFile Out;
  if (Error E = ScratchFile::create("log", Out))
    return E;
  RunningReducer Running{IR, Out, NumPasses,
                         MaxIdleTests +
                             2 * unsigned(measureSize(*Plan).Instructions)};
  if (Error E = countTests().moveInto(Running.TestsBefore))
    return E;
  sys::fs::remove(workFile("stop"));
  std::string Log;
  Error Failed = [&] {
    Repeater Progress(ProgressInterval, [&] { watch(Running); });
    double Left = O.Limit > 0 ? std::max(O.Limit - seconds(), MinSeconds) : 0;
    return runProgram(Args, Out, Log, Left);
  }();
  // llvm-reduce keeps its best result in the file.
  IsLate |= Failed.isA<ToolTimeout>();
  if (IsLate)
    consumeError(std::move(Failed));
  else if (Failed)
    return explainEnd(std::move(Failed), Log);
  if (Error E = countTests().moveInto(Outcome.Tests))
    return E;
  ReplayOptions Candidate = Side;
  Candidate.IRFile = IR;
  Expected<bool> Taken = tryOptions(std::move(Candidate));
  if (!Taken)
    return Taken.takeError();
  // llvm-reduce may have been killed while it wrote the file.
  if (*Taken || IsLate)
    return Error::success();
  return createStringError("the kernel that llvm-reduce left no longer shows "
                           "the difference, which is nondeterministic");
}

Error Reduction::reduceIR() {
  say("llvm-reduce: " + Twine(Plan->kernel().KernelName));
  if (Error E = writeFileAtomically(workFile("tests"), ""))
    return E;
  std::string All = ("--skip-delta-passes=" + SkippedPasses).str();
  unsigned NumPasses = countDeltaPasses();
  uint64_t Before = measureSize(*Plan).Instructions;
  if (Error E = runLLVMReduce("reduced.bc", All, NumPasses, 1))
    return E;
  uint64_t Now = measureSize(*Plan).Instructions;
  if (Now > FewInstructions && Now < Before)
    if (Error E = runLLVMReduce("reduced-again.bc", All, NumPasses, MoreRounds))
      return E;
  // Remove what later passes have left unused.
  if (Error E = runLLVMReduce(
          "cleaned.bc",
          "--delta-passes=functions,global-variables,basic-blocks,instructions",
          /*NumPasses=*/4, MoreRounds))
    return E;
  ReducedSize Size = measureSize(*Plan);
  say(formatv("IR: {0} in {1} after {2}",
              formatCount(Size.Instructions, "instruction"),
              formatCount(Size.Functions, "function"),
              formatCount(Outcome.Tests, "test"))
          .str());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// A good side that is the bad side without passes gets the pipeline, too.
Expected<bool> Reduction::tryPipeline(const Twine &Passes) {
  ReplayOptions Candidate = Side;
  Candidate.Passes = Passes.str();
  ReplayOptions OldGood = O.Difference.Good;
  if (OldGood.RunPasses == "none" && OldGood.Passes == Side.Passes)
    O.Difference.Good.Passes = Candidate.Passes;
  Expected<bool> Taken = tryOptions(std::move(Candidate));
  if (!Taken || !*Taken)
    O.Difference.Good.Passes = OldGood.Passes;
  return Taken;
}

/// Reduces one level of adaptors after the other, from the outside.
Error Reduction::shrinkPipelineText(StringRef Text) {
  std::optional<PipelineParts> Parts = PipelineParts::parse(Text);
  if (!Parts)
    return Error::success();
  // Texts of plugins' passes may lack parameters.
  Expected<bool> Same = tryPipeline(Text);
  if (!Same || !*Same)
    return Same.takeError();
  for (unsigned Level = 0; Level != Parts->numLevels(); ++Level) {
    std::vector<unsigned> Numbers = Parts->partsOfLevel(Level);
    auto Test =
        [&](ArrayRef<BitVector> Sets) -> Expected<std::optional<size_t>> {
      for (auto [I, Kept] : enumerate(Sets)) {
        if (isOver())
          break;
        std::string Less = Parts->keep(Numbers, Kept).print();
        if (Less.empty())
          continue;
        Expected<bool> Taken = tryPipeline(Less);
        if (!Taken)
          return Taken.takeError();
        if (*Taken)
          return I;
      }
      return std::nullopt;
    };
    Expected<BitVector> Kept = minimizeSet(Numbers.size(), Test);
    if (!Kept)
      return Kept.takeError();
    Parts = Parts->keep(Numbers, *Kept);
  }
  return Error::success();
}

/// Reduces the user's elements, then the passes that they stand for. A
/// culprit's name depends on the whole pipeline, which is then kept.
Error Reduction::shrinkPipeline() {
  if (isOver() || !O.Culprit.empty() || !Side.OptTool.empty() ||
      Side.RunPasses || Side.SkipPasses)
    return Error::success();
  if (Error E = shrinkPipelineText(Plan->compiler().pipeline().str()))
    return E;
  Expected<std::string> Whole = Plan->compiler().expandedPipeline();
  if (!Whole)
    return Whole.takeError();
  std::optional<std::string> Before = Side.Passes;
  if (Before == *Whole || isOver())
    return Error::success();
  if (Error E = shrinkPipelineText(*Whole))
    return E;
  // The limit may have come first.
  if (Before && Side.Passes && Before->size() < Side.Passes->size())
    if (Error E = tryPipeline(*Before).takeError())
      return E;
  say("pipeline: " + Plan->compiler().pipeline());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The memory
//===----------------------------------------------------------------------===//

/// Returns the pages that either side accesses; unset if they are unknown.
Expected<std::optional<std::vector<uint64_t>>> Reduction::findTouched() {
  std::vector<uint64_t> Touched;
  auto Trace = [&](ReplayOptions One) -> Expected<bool> {
    One.Device = "host";
    One.IRFile = Side.IRFile;
    One.Iterations = 1;
    One.Warmup = 0;
    // The search for poison and envelopes accesses memory, too.
    One.Poison = false;
    One.Envelope.Replays = 0;
    Expected<std::unique_ptr<ReplayPlan>> Traced = Plan->vary(std::move(One));
    if (!Traced)
      return Traced.takeError();
    Expected<CapturedReplay> R = captureReplay(**Traced, /*Trace=*/true);
    if (!R)
      return R.takeError();
    llvm::append_range(Touched, R->Touched);
    return !R->Result.failed();
  };
  Expected<bool> Ran = Trace(O.Difference.Good);
  if (!Ran)
    return Ran.takeError();
  if (!*Ran)
    return std::nullopt;
  // A crash or hang of the bad side is tested later.
  if (Error E = Trace(Side).moveInto(*Ran))
    return std::move(E);
  llvm::sort(Touched);
  Touched.erase(llvm::unique(Touched), Touched.end());
  return Touched;
}

/// Writes the recording to \p Dir and accepts it if it shows the difference.
Expected<bool> Reduction::tryMemory(StringRef Dir,
                                    std::optional<ArrayRef<uint64_t>> Touched) {
  if (Error E = removeTree(Dir))
    return std::move(E);
  Expected<RecordedKernel> Written =
      writeReduced(*Plan, Dir, Outcome.Difference.Expectation, Touched);
  if (!Written)
    return Written.takeError();
  // The recording has this launch and this IR.
  ReplayOptions Candidate = Side;
  Candidate.IRFile.clear();
  Candidate.RecordId = Written->Instances.front().DynamicHash;
  for (unsigned I = 0; I != 3; ++I)
    Candidate.Grid[I] = Candidate.Block[I] = std::nullopt;
  Candidate.SharedMem.reset();
  ReplayOptions ForReading = Candidate;
  ForReading.Tolerances.clear();
  ForReading.ElementTypes.clear();
  ForReading.Unordered.clear();
  ForReading.Norm.reset();
  Expected<std::unique_ptr<ReplayPlan>> Read =
      ReplayPlan::create(Dir, std::move(ForReading));
  if (!Read)
    return Read.takeError();
  renumberBuffers(Candidate, *Plan, **Read);
  Expected<std::unique_ptr<ReplayPlan>> New = (*Read)->vary(Candidate);
  if (!New)
    return New.takeError();
  ReplayOptions Old = Side;
  useLaunch(Candidate);
  Expected<bool> Taken = tryPlan(std::move(*New));
  if (!Taken || !*Taken)
    useLaunch(Old);
  return Taken;
}

Error Reduction::shrinkMemory(StringRef Dir) {
  Expected<std::optional<std::vector<uint64_t>>> Touched = findTouched();
  if (!Touched)
    return Touched.takeError();
  bool Taken = false;
  if (*Touched)
    if (Error E = tryMemory(Dir, ArrayRef(**Touched)).moveInto(Taken))
      return E;
  if (!Taken) {
    note("all recorded memory is kept: the pages that the kernel accesses " +
         Twine(*Touched
                   ? "on the host device are not enough"
                   : "are unknown, since it does not run on the host device"));
    if (Error E = tryMemory(Dir, std::nullopt).moveInto(Taken))
      return E;
  }
  if (!Taken)
    return createStringError("a copy of the recording does not show the "
                             "difference, which is nondeterministic");
  ReducedSize Size = measureSize(*Plan);
  say(formatv("memory: {0} bytes in {1}, {2} in pages that are not zero",
              Size.RegionBytes, formatCount(Size.Regions, "buffer"),
              Size.StoredBytes)
          .str());
  return Error::success();
}

void Reduction::addReproducer(StringRef Folder) {
  if (!O.Reproducer)
    return;
  ReproducerOptions Options = *O.Reproducer;
  Options.Output = Folder.str();
  Expected<WrittenReproducer> R =
      writeReproducer(*Plan, O.Difference.Good, Outcome.Difference, Options);
  if (!R)
    return note("no reproducer: " + toString(R.takeError()));
  say("reproducer: " + join(R->Programs, ", "));
  for (const std::string &Note : R->Notes)
    note("reproducer: " + Note);
}

Expected<ReduceOutcome> Reduction::run() {
  if (Error E = checkCriterion(O.Difference.By))
    return std::move(E);
  if (Error E = findLLVMReduce(O.LLVMReduce).moveInto(Reducer))
    return std::move(E);
  if (Error E = prepareFolder())
    return std::move(E);
  std::string Recording = pathIn(O.Output, "recording"),
              Reproducer = pathIn(O.Output, ReproducerFolder);
  auto Steps = [&]() -> Error {
    using Step = Error (Reduction::*)();
    for (Step S : {&Reduction::confirm, &Reduction::shrinkLaunch,
                   &Reduction::simplify, &Reduction::dropAllPromises})
      if (Error E = (this->*S)())
        return E;
    if (Error E = shrinkMemory(workFile("recording")))
      return E;
    for (Step S : {&Reduction::reduceIR, &Reduction::shrinkPipeline,
                   &Reduction::dropLeftovers, &Reduction::shrinkLaunch})
      if (Error E = (this->*S)())
        return E;
    if (Error E = shrinkMemory(Recording))
      return E;
    Outcome.After = measureSize(*Plan);
    Outcome.Seconds = seconds();
    if (IsLate)
      note("the limit of " + printSeconds(O.Limit) +
           " s was reached: a smaller kernel may exist");
    addReproducer(Reproducer);
    return writeReport(*Plan, O, Outcome);
  };
  if (Error E = Steps()) {
    // A partial report would be mistaken for a complete one.
    consumeError(removeTree(Recording));
    consumeError(removeTree(Reproducer));
    Work = PrivateFolder();
    if (IsNew)
      (void)sys::fs::remove(O.Output); // Only if it is empty.
    return std::move(E);
  }
  return std::move(Outcome);
}

Expected<ReduceOutcome> mneme::reduce(const ReplayPlan &Plan,
                                      ReduceOptions Options) {
  return Reduction(Plan, std::move(Options)).run();
}
