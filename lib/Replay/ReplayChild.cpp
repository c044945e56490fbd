//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The process in which a replay compiles and runs. It reports to its parent in
// JSON lines over a pipe: the stage that begins ({"stage": n}) and finally the
// outcome ({"result": ...}, {"error": text}, or {"fatal": text} for LLVM's
// fatal errors).
//
//===----------------------------------------------------------------------===//

#include "TemporaryFile.h"
#include "Uninitialized.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Replay/Poison.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cstdlib>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Seconds that the parent waits after the device's own time limit, because the
/// device's error message is more precise.
static constexpr double GraceSeconds = 2;

/// Minimum time limit for opening the device, transferring the memory and
/// comparing it, since these times do not depend on the candidate.
static constexpr double SetupSeconds = 300;

/// Compile times of kernels with more bitcode may be proportionally longer.
static constexpr double UsualBytes = 256 << 10;

/// Seconds until a child must have exited after its last message or after it
/// was killed: a driver may wait for a kernel that never ends.
static constexpr double ExitSeconds = 2;

/// A compilation that runs out of memory with this much left asked for too much
/// itself: it is the least that a compile process of a study may have.
static constexpr uint64_t EnoughBytes = uint64_t(1) << 30;

/// Minimum time between two messages of the same stage. It must be less than
/// GraceSeconds; otherwise the parent would attribute the time of earlier
/// launches to a launch.
static constexpr std::chrono::milliseconds MessageInterval(100);

double mneme::getStageLimit(const ReplayPlan &Plan, ReplayStage S) {
  const ReplayOptions &O = Plan.options();
  switch (S) {
  case ReplayStage::Poison:
  case ReplayStage::Optimize:
  case ReplayStage::Codegen:
  case ReplayStage::HostCodegen:
  case ReplayStage::Baseline:
  case ReplayStage::Envelope:
    return O.Timeout * std::max(1.0, Plan.sizeOfIR() / UsualBytes);
  case ReplayStage::Launch:
    return O.launchTimeout();
  case ReplayStage::Open:
  case ReplayStage::Prepare:
  case ReplayStage::Compare:
    return O.Timeout > 0 ? std::max(O.Timeout, SetupSeconds) : 0;
  }
  llvm_unreachable("unknown stage");
}

StringRef mneme::describeStage(ReplayStage S) {
  switch (S) {
  case ReplayStage::Open:
    return "opening the device";
  case ReplayStage::Poison:
    return "tracing the recorded launch";
  case ReplayStage::Optimize:
    return "the pass pipeline";
  case ReplayStage::Codegen:
    return "code generation for the GPU";
  case ReplayStage::HostCodegen:
    return "code generation for the CPU";
  case ReplayStage::Prepare:
    return "loading";
  case ReplayStage::Launch:
    return "the launch";
  case ReplayStage::Compare:
    return "the comparison";
  case ReplayStage::Baseline:
    return "the compilation of the baseline";
  case ReplayStage::Envelope:
    return "a replay of the recorded code";
  }
  llvm_unreachable("unknown stage");
}

//===----------------------------------------------------------------------===//
// Child
//===----------------------------------------------------------------------===//

namespace {
struct ChildLink {
  int FD;
  std::optional<ReplayStage> Stage;
};
} // namespace

static bool isCompiling(ReplayStage S) {
  return S == ReplayStage::Optimize || S == ReplayStage::Codegen ||
         S == ReplayStage::HostCodegen;
}

static void reportFatalError(void *Link, const char *Reason, bool) {
  writeLineOrExit(static_cast<ChildLink *>(Link)->FD,
                  json::Object{{"fatal", json::fixUTF8(Reason)}});
  ::_exit(1);
}

/// Returns true if EnoughBytes cannot be allocated either.
static bool isShortOfMemory() {
  // The largest block first: getAvailableMemory() allocates small ones.
  void *Block = std::malloc(EnoughBytes);
  std::free(Block);
  return !Block || getAvailableMemory() < EnoughBytes;
}

static void reportBadAlloc(void *Opaque, const char *, bool) {
  auto *Link = static_cast<ChildLink *>(Opaque);
  // Must not allocate memory.
  StringRef Message =
      Link->Stage && isCompiling(*Link->Stage) && !isShortOfMemory()
          ? "{\"fatal\":\"out of memory\"}\n"
          : "{\"error\":\"out of memory: free memory, or raise the limit "
            "(ulimit -v, -d)\"}\n";
  (void)!::write(Link->FD, Message.data(), Message.size());
  ::_exit(1);
}

static void runBody(ReplayBody Body, int FD) {
  ChildLink Link{FD, std::nullopt};
  install_fatal_error_handler(reportFatalError, &Link);
  install_bad_alloc_error_handler(reportBadAlloc, &Link);
  std::chrono::steady_clock::time_point Sent;
  Expected<ReplayResult> R = Body([&](ReplayStage S) {
    // A message wakes the parent, which must not happen at each timed launch.
    auto Now = std::chrono::steady_clock::now();
    if (S == Link.Stage && Now - Sent < MessageInterval)
      return;
    Link.Stage = S;
    Sent = Now;
    writeLineOrExit(FD, json::Object{{"stage", static_cast<int>(S)}});
  });
  if (R)
    writeLineOrExit(FD, json::Object{{"result", toJSON(*R)}});
  else
    writeLineOrExit(
        FD, json::Object{{"error", json::fixUTF8(toString(
                                       recognizeShortage(R.takeError())))}});
  ::fflush(stdout); // Output of the kernel's printf.
}

//===----------------------------------------------------------------------===//
// Parent
//===----------------------------------------------------------------------===//

namespace {
/// Reads a child's lines. Each stage restarts the time limit.
class WorkerMonitor {
public:
  WorkerMonitor(int FD, pid_t Pid, const ReplayPlan &Plan)
      : Lines(FD), Pid(Pid), Plan(Plan) {
    restart();
  }

  enum class End { Finished, Closed, TimedOut };
  End wait();

  ReplayStage Stage = ReplayStage::Open;
  std::optional<json::Value> Result;
  std::string Error, Fatal;

private:
  LineReader Lines;
  pid_t Pid;
  const ReplayPlan &Plan;
  Deadline Until;
  StarvationClock Starved;

  void restart();
  /// \returns true for the last line.
  bool handle(StringRef Line);
};
} // namespace

void WorkerMonitor::restart() {
  double Limit = getStageLimit(Plan, Stage);
  Until = Deadline::ofLimit(Limit > 0 ? Limit + GraceSeconds : 0);
  Starved = StarvationClock(Pid, Limit);
}

bool WorkerMonitor::handle(StringRef Line) {
  Expected<json::Value> Parsed = json::parse(Line);
  if (!Parsed) {
    Error = toString(Parsed.takeError());
    return true;
  }
  json::Object *O = Parsed->getAsObject();
  if (!O)
    return false;
  if (std::optional<int64_t> S = O->getInteger("stage")) {
    Stage = static_cast<ReplayStage>(*S);
    restart();
    return false;
  }
  if (std::optional<StringRef> Text = O->getString("fatal"))
    Fatal = Text->str();
  else if (std::optional<StringRef> Text = O->getString("error"))
    Error = Text->str();
  else if (json::Value *V = O->get("result"))
    Result = std::move(*V);
  return true;
}

WorkerMonitor::End WorkerMonitor::wait() {
  while (true) {
    Expected<std::string> Line = Lines.next(Until);
    if (Line && handle(*Line))
      return End::Finished;
    if (Line)
      continue;
    End Result = End::Closed;
    handleAllErrors(
        Line.takeError(),
        [&](const StreamError &E) {
          if (E.kind() == StreamError::Late)
            Result = End::TimedOut;
        },
        [](const ErrorInfoBase &) {});
    double More = Result == End::TimedOut ? Starved.take() : 0;
    if (More == 0)
      return Result;
    Until = Deadline::after(More);
  }
}

/// Makes the result of a child that died without sending one.
static ReplayResult makeDeadResult(const ReplayPlan &Plan,
                                   const WorkerMonitor &Monitor, Verdict V,
                                   std::string Error) {
  ReplayResult R;
  R.V = V == Verdict::Crash && isCompiling(Monitor.Stage)
            ? Verdict::CompileError
            : V;
  R.Error = std::move(Error);
  R.Times.FrontEnd = Plan.frontEndTime();
  R.Times.Parse = Plan.parseTime();
  R.Times.Read = Plan.readTime();
  return R;
}

/// Sets \p Last to the stage in which the process ended.
static Expected<ReplayResult> runReplayInChild(const ReplayPlan &Plan,
                                               ReplayBody Body,
                                               ReplayStage &Last,
                                               ArrayRef<int> Kept = {}) {
  double Start = epochSeconds();
  Expected<Pipe> Messages = Pipe::create();
  if (!Messages)
    return Messages.takeError();
  int FD = Messages->Write.get();
  ChildOptions O;
  // Standard output is for the report; the kernel's output goes to standard
  // error.
  if (Plan.options().ShowsOutput)
    O.Out = STDERR_FILENO;
  O.Kept.append(Kept.begin(), Kept.end());
  O.Kept.push_back(FD);
  O.ShowsCrash = Plan.options().ShowsOutput;
  Expected<Child> C = Child::fork([&] { runBody(Body, FD); }, O);
  if (!C)
    return C.takeError();
  Messages->Write.reset();

  WorkerMonitor Monitor(Messages->Read.get(), C->pid(), Plan);
  WorkerMonitor::End End = Monitor.wait();
  if (End == WorkerMonitor::End::TimedOut)
    C->kill();
  Messages->Read.reset();
  if (!C->wait(ExitSeconds)) {
    C->kill();
    // A process that survives this hangs in the operating system's kernel. Do
    // not wait for it.
    C->wait(ExitSeconds);
  }

  ReplayResult R;
  Last = Monitor.Stage;
  if (Monitor.Result) {
    json::Path::Root Root("result");
    if (!fromJSON(*Monitor.Result, R, Root))
      return Root.getError();
    return std::move(R);
  }
  if (!Monitor.Error.empty())
    return createStringError(Monitor.Error);
  StringRef Where = describeStage(Monitor.Stage);
  if (End == WorkerMonitor::End::TimedOut)
    R = makeDeadResult(Plan, Monitor, Verdict::Timeout,
                       formatv("{0} did not end within {1} s", Where,
                               getStageLimit(Plan, Monitor.Stage))
                           .str());
  else if (!Monitor.Fatal.empty())
    R = makeDeadResult(Plan, Monitor, Verdict::Crash, Monitor.Fatal);
  else
    R = makeDeadResult(Plan, Monitor, Verdict::Crash,
                       (Where + " " + describeExit(C->status())).str());
  R.StartTime = Start;
  R.EndTime = epochSeconds();
  return std::move(R);
}

static Expected<ReplayResult> runReplayInChild(const ReplayPlan &Plan,
                                               ReplayStage &Last) {
  auto Body = [&](function_ref<void(ReplayStage)> Report) {
    return runReplay(Plan, Report);
  };
  return runReplayInChild(Plan, Body, Last);
}

/// Replays without the baseline whose compilation killed the process.
static Expected<ReplayResult> runAlone(const ReplayPlan &Plan,
                                       const ReplayResult &Died) {
  ReplayOptions Options = Plan.options();
  Baseline Kind = std::exchange(Options.Compared, Baseline::None);
  Options.App.clear();
  Expected<std::unique_ptr<ReplayPlan>> Alone = Plan.vary(std::move(Options));
  if (!Alone)
    return Alone.takeError();
  ReplayStage Last;
  Expected<ReplayResult> R = runReplayInChild(**Alone, Last);
  if (!R)
    return R;
  R->Compared.emplace();
  R->Compared->Kind = Kind;
  R->Compared->V = Died.V == Verdict::Crash ? Verdict::CompileError : Died.V;
  R->Compared->Error = Died.Error;
  return R;
}

/// Replays without poison and envelope, after the search for one of them killed
/// the process.
static Expected<ReplayResult> runUnpoisoned(const ReplayPlan &Plan,
                                            StringRef Why, ReplayStage &Last) {
  ReplayOptions Options = Plan.options();
  Options.Poison = false;
  Options.Envelope.Replays = 0;
  Expected<std::unique_ptr<ReplayPlan>> Unpoisoned =
      Plan.vary(std::move(Options));
  if (!Unpoisoned)
    return Unpoisoned.takeError();
  Expected<ReplayResult> R = runReplayInChild(**Unpoisoned, Last);
  if (R) {
    R->Power.PoisonedBytes = 0;
    R->Power.NoPoison = R->Power.NoEnvelope = Why.str();
  }
  return R;
}

Expected<ReplayResult> mneme::runIsolatedReplay(const ReplayPlan &Plan) {
  ReplayStage Last = ReplayStage::Open;
  Expected<ReplayResult> R = runReplayInChild(Plan, Last);
  bool IsOfRecorded =
      Last == ReplayStage::Poison || Last == ReplayStage::Envelope;
  if (IsOfRecorded && (!R || R->failed()))
    R = runUnpoisoned(Plan, R ? R->Error : toString(R.takeError()), Last);
  bool Died = R && R->failed() && !R->Compared;
  if (Died && Last == ReplayStage::Baseline)
    return runAlone(Plan, *R);
  return R;
}

/// Writes the envelope, if there is one, for getEnvelope().
static Error putEnvelope(FILE *F, const std::shared_ptr<const Envelope> &E) {
  std::string Text = E ? formatv("{0}", toJSON(*E)).str() : std::string();
  if (std::fwrite(Text.data(), 1, Text.size(), F) == Text.size() &&
      std::fflush(F) == 0)
    return Error::success();
  return createStringError(errnoAsErrorCode(), "cannot write the envelope");
}

static Expected<std::shared_ptr<const Envelope>>
getEnvelope(FILE *F, const ComparePlan &Plan) {
  std::string Text;
  char Buffer[4096];
  // The child has moved the file position, which both processes share.
  std::rewind(F);
  while (size_t Size = std::fread(Buffer, 1, sizeof(Buffer), F))
    Text.append(Buffer, Size);
  if (Text.empty())
    return nullptr;
  Expected<json::Value> V = json::parse(Text);
  if (!V)
    return V.takeError();
  auto E = std::make_shared<Envelope>();
  json::Path::Root Root("envelope");
  if (!fromJSON(*V, Plan, *E, Root))
    return Root.getError();
  return std::move(E);
}

Expected<std::unique_ptr<ReplayPlan>>
mneme::prepareIsolated(const ReplayPlan &Plan, StringRef Device,
                       VerificationPower &Power) {
  ReplayOptions Options = Plan.options();
  Options.Device = Device.str();
  Options.Instruments = {};
  Expected<std::unique_ptr<ReplayPlan>> There = Plan.vary(std::move(Options));
  if (!There)
    return There.takeError();
  std::shared_ptr<PoisonMask> Mask = PoisonMask::create(Plan.state().regions());
  if (!Mask)
    return createStringError("no memory to note the bytes to poison");
  TemporaryFile File = makeTemporaryFile();
  if (!File)
    return createStringError(errnoAsErrorCode(),
                             "cannot create a temporary file");
  auto Body =
      [&](function_ref<void(ReplayStage)> Report) -> Expected<ReplayResult> {
    Expected<std::unique_ptr<ReplaySession>> Session =
        ReplaySession::create(**There, Report);
    if (!Session)
      return Session.takeError();
    if (Error E = (*Session)->prepare(Report))
      return std::move(E);
    if (Error E = (*Session)->probeEnvelope(Report))
      return std::move(E);
    ReplayResult R;
    R.Power = (*Session)->power();
    if (R.Power.PoisonedBytes.value_or(0))
      Mask->assign(*(*Session)->poison());
    if (Error E = putEnvelope(File.get(), (*Session)->envelope()))
      return std::move(E);
    return R;
  };
  ReplayStage Last = ReplayStage::Open;
  Expected<ReplayResult> R =
      runReplayInChild(**There, Body, Last, ::fileno(File.get()));
  if (R && !R->failed()) {
    Power = R->Power;
    std::unique_ptr<ReplayPlan> Prepared = Plan.withPoison(std::move(Mask));
    if (Power.Bound)
      Prepared = Prepared->withBound(
          std::make_shared<const LaunchBound>(*Power.Bound));
    Expected<std::shared_ptr<const Envelope>> E =
        getEnvelope(File.get(), Plan.comparison());
    if (!E)
      return E.takeError();
    return *E ? Prepared->withEnvelope(std::move(*E)) : std::move(Prepared);
  }
  if (!R && Last != ReplayStage::Poison && Last != ReplayStage::Envelope)
    return R.takeError();
  if (Last == ReplayStage::Envelope)
    Power.NoEnvelope = R ? R->Error : toString(R.takeError());
  Power.PoisonedBytes = 0;
  Power.NoPoison = !Power.NoEnvelope.empty() ? Power.NoEnvelope
                   : R                       ? R->Error
                                             : toString(R.takeError());
  Mask->clear();
  return Plan.withPoison(std::move(Mask));
}

Expected<ReplayResult> mneme::runIsolated(const ReplayPlan &Plan,
                                          ReplayBody Body, ArrayRef<int> Kept) {
  ReplayStage Last = ReplayStage::Open;
  return runReplayInChild(Plan, Body, Last, Kept);
}

Expected<ReplayResult> mneme::replayScheduled(const ReplayPlan &Plan,
                                              ArrayRef<HostSchedule> Schedules,
                                              ScheduleChecks Checks) {
  ReplayOptions Base = Plan.options();
  Base.Device = "host";
  Base.Compared = Baseline::None;
  Base.Iterations = 0;
  Base.Warmup = 0;
  Base.Resources = false;
  if (Checks.Bounds)
    Base.Passes =
        ("function(bounds-checking)," + Plan.compiler().pipeline()).str();
  Base.StrictBarriers = Checks.Barriers;
  Base.SplitsWarps = Checks.Splits;
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  for (const HostSchedule &S : Schedules) {
    ReplayOptions O = Base;
    O.HostSchedule = S.toString();
    if (Error E = Plan.vary(std::move(O)).moveInto(Plans.emplace_back()))
      return std::move(E);
  }
  auto Body = [&](ReplaySession &Session,
                  ReplaySession::StageFn Report) -> Expected<ReplayResult> {
    // Random schedules run other code, but all of them the same.
    std::optional<CompiledKernel> Codes[2];
    ReplayResult R;
    for (const std::unique_ptr<ReplayPlan> &P : Plans) {
      bool IsRandom = P->schedule().Order == HostSchedule::Random;
      std::optional<CompiledKernel> &Code = Codes[IsRandom];
      if (!Code) {
        Expected<CompiledKernel> New = Session.compile(*P, Report);
        if (!New)
          return New.takeError();
        Code = std::move(*New);
      }
      if (Error E = Session.run(*P, *Code, Report).moveInto(R))
        return std::move(E);
      if (!R.verified()) {
        R.Error = P->options().HostSchedule + ": " + R.Error;
        break;
      }
    }
    return R;
  };
  return ReplaySession::runIsolated(*Plans.front(), Body);
}

Expected<ReplayResult> mneme::replay(const ReplayPlan &Plan) {
  if (!Plan.options().Isolate)
    return runReplay(Plan, [](ReplayStage) {});
  Expected<ReplayResult> R = runIsolatedReplay(Plan);
  if (R &&
      any_of(R->Buffers, [](const BufferReport &B) { return !B.Stats.Pass; }))
    checkInitialization(Plan, *R);
  return R;
}
