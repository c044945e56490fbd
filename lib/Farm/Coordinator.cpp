//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Coordinator.h"
#include "Messages.h"
#include "Workers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <csignal>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// How much later than a process the coordinator loses patience: a device's
/// own message is the better one.
static constexpr double GraceSeconds = 2;

/// What may pass until a process says what it begins.
static constexpr double SetupSeconds = 300;

/// How long a process that was killed may take to be gone: a driver may wait
/// for a kernel that never ends.
static constexpr double ExitSeconds = 2;

/// How often one that is to be gone, and a lock that somebody has, are looked
/// at.
static constexpr double ReapSeconds = 0.001, LockSeconds = 0.1;

/// Jobs that wait in a run process's connection, so that it never does.
static constexpr unsigned Prefetched = 2;

/// Run processes that end before they have run anything, in a row, until there
/// are no more.
static constexpr unsigned MaxFailures = 3;

/// How often a job may be begun again because somebody killed the process.
static constexpr unsigned MaxLosses = 1;

/// How many machines may be lost while they have a job.
static constexpr unsigned MaxMachines = 3;

/// A launch may take so many times as long as the first that verified, and no
/// less than so many seconds; before there is one, so many.
static constexpr double LaunchFactor = 10, MinLaunchSeconds = 1,
                        FirstLaunchSeconds = 300;

static double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// As people write it.
static std::string printNumber(double N) {
  std::string Text;
  raw_string_ostream(Text) << format("%.4g", N);
  return Text;
}

static double secondsSince(std::chrono::steady_clock::time_point T) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - T)
      .count();
}

static std::chrono::steady_clock::time_point inSeconds(double S) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(S));
}

Coordinator::Coordinator(FarmBackend &Backend, FarmConfig C)
    : Backend(Backend), Config(std::move(C)), Codes(Config.CodeBytes) {
  char Name[256] = {};
  if (::gethostname(Name, sizeof(Name) - 1) == 0)
    Host = Name;
  for (size_t I = 0; I != Config.Devices.size(); ++I) {
    auto D = std::make_unique<DeviceSlot>();
    D->Name = Config.Devices[I];
    if (I < Config.Cores.size())
      D->Cores = Config.Cores[I];
    Devices.push_back(std::move(D));
  }
}

Coordinator::~Coordinator() {
  // All at once, then wait for each.
  forEachWorker([](Worker &W) {
    if (W.P)
      W.P->kill();
  });
}

template <typename FnT> void Coordinator::forEachWorker(FnT Fn) {
  for (auto &C : Compilers)
    Fn(*C);
  for (auto &D : Devices)
    for (Runner *R : {D->Active.get(), D->Spare.get()})
      if (R)
        Fn(*R);
}

void Coordinator::tell(const Twine &Text) const {
  if (Config.Message)
    Config.Message(Text.str());
}

void Coordinator::start() {
  for (auto &D : Devices)
    fill(*D);
}

unsigned Coordinator::capacity() const {
  unsigned N = 0;
  for (const auto &D : Devices)
    if (D->Reason.empty())
      N += 1 + Prefetched;
  // Two a compile process: one is at work, one is there for it.
  if (N)
    N += 2 * Config.CompileJobs;
  if (Others)
    N += Others->capacity();
  return std::max(N, 1u);
}

bool Coordinator::canEvaluate() const {
  return Others || any_of(Devices, [](const auto &D) {
           return D->Reason.empty();
         });
}

Error Coordinator::checkAlive() const {
  if (canEvaluate())
    return Error::success();
  if (Devices.empty())
    return createStringError("there is no device");
  return createStringError(formatv("no run process stays alive on {0}: {1}",
                                   Devices.front()->Name,
                                   Devices.front()->Reason)
                               .str());
}

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

Job *Coordinator::find(uint64_t Ticket) {
  auto It = Jobs.find(Ticket);
  return It == Jobs.end() ? nullptr : It->second.get();
}

static std::string makeResultKey(const FarmKeys &Keys, unsigned Instance) {
  return Keys.Compile + "\n" + Keys.Launch + "\n" + std::to_string(Instance);
}

static std::string makeCodeKey(StringRef CodeHash, const Job &J) {
  return makeResultKey({CodeHash.str(), J.Keys.Launch}, J.Request.Instance);
}

Error Coordinator::submit(EvaluationRequest R) {
  ++Stats.Requests;
  auto Owned = std::make_unique<Job>();
  Job &J = *Owned;
  J.Ticket = NextTicket++;
  J.Request = std::move(R);
  Jobs[J.Ticket] = std::move(Owned);
  Expected<FarmKeys> Keys = Backend.keys(J.Request);
  if (!Keys) {
    fail(J, "Invalid", toString(Keys.takeError()));
    return Error::success();
  }
  J.Keys = std::move(*Keys);
  admit(J);
  dispatch();
  return Error::success();
}

/// Finds out whether its result is known, or will be, and else its code.
void Coordinator::admit(Job &J) {
  if (!J.Request.Fresh && !J.ForPair) {
    std::string Key = makeResultKey(J.Keys, J.Request.Instance);
    if (ResultEntry *R = Results.find(Key)) {
      if (R->answers(J.Request))
        return finishAs(J, *R, Duplicate::Config);
      if (R->Leader) {
        J.State = Job::Following;
        J.Level = Duplicate::Config;
        R->Followers.push_back(&J);
        return;
      }
    }
    J.Result = &Results.add(Key);
    J.Result->Leader = &J;
    J.Result->StopAbove = J.Request.StopAbove;
  }
  bool IsNew = false;
  J.Code = &Codes.get(J.Keys.Compile, IsNew);
  if (!IsNew) {
    J.Level = Duplicate::Config;
    ++Stats.SameConfig;
  }
  route(J);
}

void Coordinator::waitForCode(Job &J, CodeEntry &C) {
  J.State = Job::Waiting;
  bool Urgent = J.Request.Fresh || J.ForPair;
  if (Urgent)
    C.Waiting.insert(C.Waiting.begin(), &J);
  else
    C.Waiting.push_back(&J);
  if (C.State != CodeEntry::Wanted || C.Queued)
    return;
  C.Queued = true;
  if (Urgent)
    CompileQueue.push_front(&C);
  else
    CompileQueue.push_back(&C);
}

/// Sends a job on to where its code lets it go.
void Coordinator::route(Job &J) {
  CodeEntry &C = CodeTable::resolve(*J.Code);
  J.Code = &C;
  if (C.State != CodeEntry::Made)
    return waitForCode(J, C);
  if (!C.Code.Failure.empty()) {
    Evaluation E;
    E.Failure = C.Code.Failure;
    E.Error = C.Code.Error;
    if (C.FirstId != J.Request.Id) {
      E.DuplicateKind =
          J.Level == Duplicate::None ? Duplicate::Config : J.Level;
      E.DuplicateOf = C.FirstId;
    }
    return finish(J, std::move(E));
  }
  if (J.Result) {
    ResultEntry *Other = Results.meet(
        *J.Result, makeCodeKey(C.Code.CodeHash, J), J.Request);
    if (Other) {
      Duplicate Level =
          J.Level == Duplicate::None ? Duplicate::Code : J.Level;
      // Those that wait for this one wait for that one now.
      std::vector<Job *> Followers = std::move(J.Result->Followers);
      J.Result->Followers.clear();
      J.Result = nullptr;
      if (Other->Done) {
        finishAs(J, *Other, Level);
      } else {
        J.State = Job::Following;
        J.Level = Level;
        Other->Followers.push_back(&J);
      }
      for (Job *F : Followers) {
        F->Level = Level;
        if (Other->answers(F->Request))
          finishAs(*F, *Other, Level);
        else if (Other->Done)
          admit(*F);
        else
          Other->Followers.push_back(F);
      }
      return;
    }
  }
  if (!C.Bytes) {
    C.State = CodeEntry::Wanted; // once more
    return waitForCode(J, C);
  }
  ++C.Users;
  Codes.touch(C);
  if (J.ForPair) {
    J.State = Job::Held;
    return;
  }
  J.State = Job::Ready;
  if (J.Request.Fresh)
    ReadyQueue.push_front(J.Ticket);
  else
    ReadyQueue.push_back(J.Ticket);
}

std::vector<Job *> Coordinator::takeWaiting(CodeEntry &C) {
  std::vector<Job *> Taken = std::move(C.Waiting);
  C.Waiting.clear();
  return Taken;
}

/// It no longer needs the code's bytes.
void Coordinator::leaveCode(Job &J) {
  if (J.State == Job::Ready || J.State == Job::Sent || J.State == Job::Held)
    --J.Code->Users;
}

void Coordinator::fail(Job &J, StringRef Failure, StringRef Error) {
  Evaluation E;
  E.Failure = Failure.str();
  E.Error = Error.str();
  finish(J, std::move(E));
}

void Coordinator::finishAs(Job &J, const ResultEntry &R, Duplicate Level) {
  Evaluation E = R.Result;
  E.DuplicateKind = Level;
  if (!E.DuplicateOf)
    E.DuplicateOf = R.Result.Id;
  E.RunSeconds = E.CompileSeconds = E.Started = 0;
  ++Stats.Reused;
  finish(J, std::move(E));
}

/// Its result, and with that the job's end.
void Coordinator::finish(Job &J, Evaluation E) {
  leaveCode(J);
  E.Id = J.Request.Id;
  if (!J.IRHash.empty())
    E.IRHash = J.IRHash;
  if (!J.AssemblyHash.empty())
    E.AssemblyHash = J.AssemblyHash;
  if (J.Code && J.State != Job::Away) {
    const FarmCode &C = CodeTable::resolve(*J.Code).Code;
    for (auto [To, From] : {std::pair(&E.IRHash, &C.IRHash),
                            std::pair(&E.AssemblyHash, &C.AssemblyHash),
                            std::pair(&E.CodeHash, &C.CodeHash)})
      if (To->empty())
        *To = *From;
    E.CompileSeconds = J.CompileSeconds;
  }
  E.Ended = now();
  if (E.Started == 0)
    E.Started = J.Started ? J.Started : E.Ended;
  if (J.ForPair) {
    J.State = Job::Failed;
    J.Failure = E.Failure;
    J.Error = E.Error;
    return;
  }
  ResultEntry *R = J.Result;
  if (R && J.State == Job::Away && !E.CodeHash.empty())
    Results.publish(*R, makeCodeKey(E.CodeHash, J));
  EvaluationRequest Request = std::move(J.Request);
  Jobs.erase(J.Ticket);
  ++Stats.Results;
  Finished.push_back(E);
  if (R)
    settle(*R, Request, E);
}

/// Those that waited for a result have it now.
void Coordinator::settle(ResultEntry &R, const EvaluationRequest &Leader,
                         const Evaluation &E) {
  std::vector<Job *> Followers = std::move(R.Followers);
  R.Followers.clear();
  R.Leader = nullptr;
  // That says nothing about the candidate.
  R.Done = E.Failure != "WorkerLost";
  R.StopAbove = Leader.StopAbove;
  R.Result = E;
  R.Result.Details = nullptr; // it is with the one that was measured
  for (Job *F : Followers) {
    if (R.answers(F->Request))
      finishAs(*F, R, F->Level);
    else
      admit(*F);
  }
}

void Coordinator::remember(const EvaluationRequest &R,
                           const Evaluation &Known) {
  if (Known.Failure == "WorkerLost" || Known.Failure == "Invalid")
    return;
  Expected<FarmKeys> Keys = Backend.keys(R);
  if (!Keys) {
    consumeError(Keys.takeError());
    return;
  }
  std::string Key = makeResultKey(*Keys, R.Instance);
  if (Results.find(Key))
    return;
  ResultEntry &E = Results.add(Key);
  E.Done = true;
  E.Result = Known;
  E.Result.Id = Known.DuplicateOf.value_or(Known.Id);
  E.Result.DuplicateOf.reset();
  E.Result.Details = nullptr;
  E.StopAbove = R.StopAbove;
  bool IsNew = false;
  CodeEntry &C = Codes.get(Keys->Compile, IsNew);
  FarmCode Code;
  Code.IRHash = Known.IRHash;
  Code.AssemblyHash = Known.AssemblyHash;
  Code.CodeHash = Known.CodeHash;
  if (Known.CodeHash.empty()) {
    Code.Failure = Known.Failure;
    Code.Error = Known.Error;
    if (Known.Failure.empty())
      return;
  } else {
    Job Like;
    Like.Keys = *Keys;
    Like.Request.Instance = R.Instance;
    Results.meet(E, makeCodeKey(Known.CodeHash, Like), R);
  }
  if (C.State != CodeEntry::Wanted || !C.Waiting.empty())
    return;
  CodeEntry *Root = &C;
  for (auto [Level, Hash] :
       {std::pair(Duplicate::IR, &Known.IRHash),
        std::pair(Duplicate::Assembly, &Known.AssemblyHash)})
    if (!Hash->empty() && Root == &C)
      if (CodeEntry *Other = Codes.meet(C, Level, *Hash))
        Root = Other;
  if (Root == &C)
    Codes.finish(C, std::move(Code), E.Result.Id);
}

std::vector<uint64_t> Coordinator::cancel() {
  std::vector<uint64_t> Forgotten;
  for (auto It = Jobs.begin(); It != Jobs.end();) {
    Job &J = *It->second;
    if (J.ForPair || J.State == Job::Compiling || J.State == Job::Sent ||
        J.State == Job::Away) {
      ++It;
      continue;
    }
    leaveCode(J);
    if (J.State == Job::Waiting)
      erase(CodeTable::resolve(*J.Code).Waiting, &J);
    if (J.Result)
      Results.forget(*J.Result);
    Forgotten.push_back(J.Request.Id);
    It = Jobs.erase(It);
  }
  // Followers are gone, those of whom they waited for may not be.
  for (auto &[Ticket, J] : Jobs)
    if (J->Result)
      J->Result->Followers.clear();
  ReadyQueue.clear();
  Stats.Requests -= Forgotten.size();
  return Forgotten;
}

//===----------------------------------------------------------------------===//
// Compile processes
//===----------------------------------------------------------------------===//

/// One that has nothing to do; null when all are at work.
Coordinator::Compiler *Coordinator::getCompiler() {
  unsigned Alive = 0;
  for (auto &C : Compilers) {
    if (C->P && !C->Ending && !C->Busy)
      return C.get();
    Alive += C->P != nullptr;
  }
  if (Alive >= Config.CompileJobs)
    return nullptr;
  auto Slot = find_if(Compilers, [](const auto &C) { return !C->P; });
  if (Slot == Compilers.end()) {
    Compilers.push_back(std::make_unique<Compiler>());
    Slot = std::prev(Compilers.end());
  }
  **Slot = Compiler();
  ProcessLimits Limits;
  Limits.Nice = Config.CompileNice;
  Limits.Bytes = Config.CompileMemory;
  Expected<std::unique_ptr<Process>> P = Process::start(
      [&](Channel &Link) { runCompileProcess(Backend, Link); }, Limits);
  if (!P) {
    std::string Why = toString(P.takeError());
    if (CompileStartFailures++ == 0)
      tell("compile process: " + Why);
    return nullptr;
  }
  CompileStartFailures = 0;
  ++Stats.Starts;
  (*Slot)->P = std::move(*P);
  return Slot->get();
}

void Coordinator::startCompile(Compiler &C, CodeEntry &Code) {
  Job &J = *Code.Waiting.front();
  Code.State = CodeEntry::Compiling;
  J.State = Job::Compiling;
  J.Started = now();
  C.Busy = true;
  C.Owner = J.Ticket;
  C.RequestId = J.Request.Id;
  C.Code = &Code;
  C.Begin = Clock::now();
  C.P->forgetMessages();
  // Its time is for all stages together.
  C.Stage = "the compilation";
  C.Limit = Config.CompileTimeout;
  C.Deadline.reset();
  if (C.Limit > 0)
    C.Deadline = inSeconds(C.Limit);
  ++Stats.Compiles;
  C.P->channel().queue(
      json::Object{{"do", "compile"}, {"request", toJSON(J.Request)}});
}

Error Coordinator::ask(Compiler &C, const json::Object &Message) {
  std::optional<Duplicate> Level =
      parseDuplicate(Message.getString("ask").value_or(""));
  StringRef Hash = Message.getString("hash").value_or("");
  if (!Level || *Level < Duplicate::IR || *Level > Duplicate::Assembly)
    return createStringError("a question about nothing");
  CodeEntry *Other =
      C.Code ? Codes.meet(*C.Code, *Level, Hash) : nullptr;
  C.P->channel().queue(
      json::Object{{"stop", Other != nullptr || C.Code == nullptr}});
  if (!C.Code)
    return Error::success();
  for (Job *J : C.Code->Waiting)
    (*Level == Duplicate::IR ? J->IRHash : J->AssemblyHash) = Hash.str();
  if (!Other)
    return Error::success();
  ++(*Level == Duplicate::IR ? Stats.SameIR : Stats.SameAssembly);
  std::vector<Job *> Waiting = takeWaiting(*C.Code);
  C.Code = nullptr;
  for (Job *J : Waiting) {
    if (J->Ticket == C.Owner)
      J->CompileSeconds = secondsSince(C.Begin);
    J->Level = *Level;
    route(*J);
  }
  return Error::success();
}

/// \p Code was made, or could not be.
void Coordinator::finishCompile(Compiler &C, FarmCode Code) {
  double Seconds = secondsSince(C.Begin);
  Stats.CompileSeconds += Seconds;
  C.Busy = false;
  C.Deadline.reset();
  CodeEntry *Entry = std::exchange(C.Code, nullptr);
  if (!Entry)
    return;
  std::vector<Job *> Waiting = takeWaiting(*Entry);
  CodeEntry &Root = Codes.finish(*Entry, std::move(Code), C.RequestId);
  bool IsOther = &Root != Entry;
  Stats.SameCode += IsOther;
  for (Job *J : takeWaiting(Root)) // of code that was wanted once more
    Waiting.push_back(J);
  for (Job *J : Waiting) {
    if (J->Ticket == C.Owner)
      J->CompileSeconds = Seconds;
    if (IsOther && J->Code == Entry)
      J->Level = Duplicate::Code;
    route(*J);
  }
  Codes.shrink();
}

Error Coordinator::handle(Compiler &C, Frame F) {
  if (std::optional<StringRef> Text = F.Head.getString("stage")) {
    C.Stage = Text->str();
    return Error::success();
  }
  if (std::optional<StringRef> Text = F.Head.getString("fatal")) {
    C.Fatal = Text->str();
    return Error::success();
  }
  if (!C.Busy)
    return createStringError("a message that nobody asked for");
  if (F.Head.get("ask"))
    return ask(C, F.Head);
  if (std::optional<StringRef> Text = F.Head.getString("invalid")) {
    FarmCode Code;
    Code.Failure = "Invalid";
    Code.Error = Text->str();
    finishCompile(C, std::move(Code));
    return Error::success();
  }
  Expected<FarmCode> Code = readMember<FarmCode>(F.Head, "code");
  if (!Code)
    return Code.takeError();
  Code->Bytes = std::move(F.Bytes);
  if (Code->Failure.empty() && !Code->Stopped &&
      (Code->Bytes.empty() || Code->CodeHash.empty()))
    return createStringError("code that is empty");
  finishCompile(C, std::move(*Code));
  return Error::success();
}

/// In words; \p Nothing: when nobody knows what it was doing.
std::string Coordinator::describeEnd(const Worker &W,
                                     StringRef Nothing) const {
  StringRef Stage = W.Stage.empty() ? Nothing : StringRef(W.Stage);
  if (W.TimedOut)
    return formatv("{0} did not end within {1} s", Stage,
                   printNumber(W.Limit))
        .str();
  if (!W.Fatal.empty())
    return W.Fatal;
  if (!W.Complaint.empty())
    return formatv("{0} wrote to its coordinator: {1}", Stage, W.Complaint);
  return (Stage + " " + W.P->describeEnd()).str();
}

/// Its process is gone.
void Coordinator::end(Compiler &C) {
  bool Killed = C.P->wasKilled();
  std::string Why = describeEnd(C, "the compilation");
  BytesSent += C.P->channel().sent();
  BytesReceived += C.P->channel().received();
  C.P.reset();
  C.Ending.reset();
  if (!C.Busy)
    return;
  ++Stats.CompilerDeaths;
  Job *Owner = find(C.Owner);
  if (Killed && C.Code && (!Owner || Owner->Losses < MaxLosses)) {
    // Not the candidate's fault, or not surely.
    C.Busy = false;
    CodeEntry &Code = *std::exchange(C.Code, nullptr);
    Code.State = CodeEntry::Wanted;
    Code.Queued = true;
    CompileQueue.push_front(&Code);
    if (Owner) {
      ++Owner->Losses;
      ++Stats.Requeued;
      Owner->State = Job::Waiting;
    }
    return;
  }
  FarmCode Code;
  Code.Failure = C.TimedOut ? "Timeout" : "CompileError";
  Code.Error = std::move(Why);
  finishCompile(C, std::move(Code));
}

//===----------------------------------------------------------------------===//
// Run processes
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Coordinator::Runner>>
Coordinator::startRunner(DeviceSlot &D, bool Open) {
  ProcessLimits Limits;
  Limits.Cores = D.Cores;
  Expected<std::unique_ptr<Process>> P = Process::start(
      [&](Channel &Link) { runRunProcess(Backend, Link); }, Limits);
  if (!P)
    return P.takeError();
  ++Stats.Starts;
  auto R = std::make_unique<Runner>();
  R->P = std::move(*P);
  if (Open)
    openDevice(D, *R);
  return std::move(R);
}

void Coordinator::openDevice(DeviceSlot &D, Runner &R) {
  setStage(R, "opening the device", SetupSeconds);
  R.P->channel().queue(json::Object{{"do", "open"}, {"device", D.Name}});
}

/// Starts what a device lacks.
void Coordinator::fill(DeviceSlot &D) {
  while (D.Reason.empty() && !D.Active) {
    if (D.Spare && !D.Spare->Ending) {
      D.Active = std::move(D.Spare);
      if (!Config.OpenSpare)
        openDevice(D, *D.Active);
      else if (D.Active->Opened)
        D.Active->Since = Clock::now();
      break;
    }
    Expected<std::unique_ptr<Runner>> R = startRunner(D, /*Open=*/true);
    if (R) {
      D.Active = std::move(*R);
      break;
    }
    std::string Why = toString(R.takeError());
    if (++D.Failures >= MaxFailures)
      D.Reason = Why;
  }
  if (!D.Reason.empty() || !Config.Spare || D.Spare || !D.Active->Opened ||
      D.SpareFailures >= MaxFailures)
    return;
  Expected<std::unique_ptr<Runner>> R = startRunner(D, Config.OpenSpare);
  if (R) {
    D.Spare = std::move(*R);
  } else {
    consumeError(R.takeError());
    ++D.SpareFailures;
  }
}

/// Nobody else times anything on the device.
void Coordinator::takeLock(DeviceSlot &D) {
  const std::string &Name = D.Active->Exclusive;
  if (Name.empty() || D.Locked == Name || Clock::now() < D.NextTry)
    return;
  D.NextTry = inSeconds(LockSeconds);
  Expected<std::optional<DeviceLock>> Lock = DeviceLock::tryLock(Name);
  if (!Lock) {
    // Better without than not at all.
    tell(toString(Lock.takeError()));
    D.Locked = Name;
    return;
  }
  if (*Lock) {
    D.Lock = std::move(*Lock);
    D.Locked = Name;
    return;
  }
  if (!D.Told)
    tell(D.Name + ": in use by another program of Mneme; waiting for it");
  D.Told = true;
}

bool Coordinator::isUsable(DeviceSlot &D) {
  if (!D.Active || !D.Active->Opened || D.Active->Ending || D.Active->Spent)
    return false;
  takeLock(D);
  return D.Active->Exclusive == D.Locked;
}

/// A comparison wants it for itself.
bool Coordinator::isReserved(const DeviceSlot &D) const {
  return Current && (Current->Device == &D || Config.PauseCompilesToCompare);
}

/// Sends the code if it is not there, and drops what was there for the longest
/// time when that is too much.
void Coordinator::sendCode(Runner &R, const CodeEntry &Code) {
  const std::string &Hash = Code.Code.CodeHash;
  auto Held = find_if(R.Holds, [&](const auto &H) { return H.first == Hash; });
  if (Held != R.Holds.end()) {
    R.Holds.splice(R.Holds.begin(), R.Holds, Held);
    return;
  }
  R.P->channel().queue(
      json::Object{{"do", "code"}, {"code", toJSON(Code.Code)}}, Code.Bytes);
  R.Holds.emplace_front(Hash, Code.Bytes->size());
  R.HeldBytes += Code.Bytes->size();
  // Never what a comparison has just sent.
  while (R.HeldBytes > Config.CodeBytes && R.Holds.size() > 1 && !Current) {
    R.P->channel().queue(
        json::Object{{"do", "drop"}, {"hash", R.Holds.back().first}});
    R.HeldBytes -= R.Holds.back().second;
    R.Holds.pop_back();
  }
}

double Coordinator::getLaunchTimeout(const EvaluationRequest &R) const {
  if (R.LaunchTimeout > 0)
    return R.LaunchTimeout;
  if (Config.LaunchTimeout > 0)
    return Config.LaunchTimeout;
  double Known =
      R.Instance < LaunchLimits.size() ? LaunchLimits[R.Instance] : 0;
  return Known > 0 ? Known : FirstLaunchSeconds;
}

void Coordinator::sendJob(DeviceSlot &D, Job &J) {
  Runner &R = *D.Active;
  if (R.Sent.empty())
    setStage(R, "", SetupSeconds);
  J.State = Job::Sent;
  if (!J.Started)
    J.Started = now();
  sendCode(R, *J.Code);
  EvaluationRequest Request = J.Request;
  Request.LaunchTimeout = getLaunchTimeout(Request);
  R.P->channel().queue(json::Object{{"do", "run"},
                                    {"number", J.Ticket},
                                    {"request", toJSON(Request)},
                                    {"hash", J.Code->Code.CodeHash}});
  R.Sent.push_back(J.Ticket);
  ++Stats.Runs;
}

Error Coordinator::finishRun(DeviceSlot &D, Runner &R,
                             const json::Object &Message) {
  std::optional<int64_t> Number = Message.getInteger("done");
  double Busy = Message.getNumber("busy").value_or(0);
  D.Busy += Busy;
  ++D.Runs;
  R.Begun = false;
  R.Spent = Message.getBoolean("spent").value_or(false);
  R.Deadline.reset();
  R.Stage.clear();
  if (R.Comparing) {
    R.Comparing = false;
    Expected<PairedEvaluation> P =
        readMember<PairedEvaluation>(Message, "paired");
    if (!P)
      return P.takeError();
    P->Worker = formatv("{0}:{1}", Host, R.P->pid());
    if (Current)
      Current->Result = std::move(*P);
    return Error::success();
  }
  if (R.Sent.empty() || !Number ||
      static_cast<uint64_t>(*Number) != R.Sent.front())
    return createStringError("a result that nobody asked for");
  Expected<Evaluation> E = readMember<Evaluation>(Message, "evaluation");
  if (!E)
    return E.takeError();
  Job &J = *find(R.Sent.front());
  R.Sent.pop_front();
  if (!R.Sent.empty())
    setStage(R, "", SetupSeconds);
  E->Worker = formatv("{0}:{1}", Host, R.P->pid());
  unsigned Instance = J.Request.Instance;
  if (E->Failure.empty() && !E->Samples.empty()) {
    if (LaunchLimits.size() <= Instance)
      LaunchLimits.resize(Instance + 1);
    if (LaunchLimits[Instance] == 0)
      LaunchLimits[Instance] = std::max(
          MinLaunchSeconds, LaunchFactor * 1e-9 * summarize(E->Samples).Median);
  }
  finish(J, std::move(*E));
  return Error::success();
}

Error Coordinator::handle(DeviceSlot &D, Runner &R, Frame F) {
  if (std::optional<StringRef> Text = F.Head.getString("stage")) {
    setStage(R, *Text, F.Head.getNumber("limit").value_or(0));
    return Error::success();
  }
  if (std::optional<StringRef> Text = F.Head.getString("fatal")) {
    R.Fatal = Text->str();
    return Error::success();
  }
  if (json::Object *Opened = F.Head.getObject("opened")) {
    R.Opened = true;
    R.Since = Clock::now();
    R.Description = std::move(*Opened);
    R.Exclusive = F.Head.getString("exclusive").value_or("").str();
    R.Deadline.reset();
    R.Stage.clear();
    fill(D); // a spare, now that this is done
    return Error::success();
  }
  if (std::optional<StringRef> Text = F.Head.getString("failed")) {
    R.OpenError = Text->str();
    return createStringError(R.OpenError);
  }
  if (F.Head.get("begin")) {
    R.Begun = true;
    D.Failures = 0;
    return Error::success();
  }
  if (F.Head.get("done"))
    return finishRun(D, R, F.Head);
  return createStringError("an unknown message");
}

/// A run process is gone: whose fault is it, and what happens to its jobs?
void Coordinator::end(DeviceSlot &D, bool IsSpare) {
  std::unique_ptr<Runner> R = std::move(IsSpare ? D.Spare : D.Active);
  BytesSent += R->P->channel().sent();
  BytesReceived += R->P->channel().received();
  if (IsSpare) {
    ++D.SpareFailures;
    return;
  }
  if (R->Opened)
    D.Open += secondsSince(R->Since);
  bool Killed = R->P->wasKilled();
  std::string Why = describeEnd(*R, "the run process");
  bool Blamed = R->Begun;
  if (!R->Spent) {
    ++Stats.RunnerDeaths;
    if (!Blamed && ++D.Failures >= MaxFailures) {
      D.Reason = R->OpenError.empty() ? Why : R->OpenError;
      tell(D.Name + ": " + D.Reason);
    }
  }
  std::vector<uint64_t> Again(R->Sent.begin(), R->Sent.end());
  if (R->Comparing && Current) {
    if (Blamed && (!Killed || Current->Losses >= MaxLosses)) {
      Current->Result.emplace();
      Current->Result->Failure = R->TimedOut ? "Timeout" : "Crash";
      Current->Result->Error = Why;
    } else {
      Current->Losses += Killed;
      Current->Sent = false;
    }
  } else if (Blamed && !Again.empty()) {
    Job &J = *find(Again.front());
    if (Killed && J.Losses < MaxLosses) {
      ++J.Losses;
    } else {
      Again.erase(Again.begin());
      fail(J, R->TimedOut ? "Timeout" : "Crash", Why);
    }
  }
  Stats.Requeued += Again.size();
  for (uint64_t Ticket : reverse(Again)) {
    find(Ticket)->State = Job::Ready;
    ReadyQueue.push_front(Ticket);
  }
  fill(D);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void Coordinator::setStage(Worker &W, StringRef Stage, double Limit) {
  W.Stage = Stage.str();
  W.Limit = Limit;
  W.Deadline.reset();
  if (Limit > 0)
    W.Deadline = inSeconds(Limit + GraceSeconds);
}

/// It has ended, or ends.
void Coordinator::expectEnd(Worker &W) {
  if (W.Ending)
    return;
  W.Ending = inSeconds(ExitSeconds);
  W.Deadline.reset();
}

/// It is of no use any more.
void Coordinator::kill(Worker &W) {
  W.P->kill();
  expectEnd(W);
}

void Coordinator::dispatchRuns() {
  while (!ReadyQueue.empty()) {
    DeviceSlot *Best = nullptr;
    for (auto &D : Devices)
      if (isUsable(*D) && !isReserved(*D) &&
          D->Active->Sent.size() <= Prefetched &&
          (!Best || D->Active->Sent.size() < Best->Active->Sent.size()))
        Best = D.get();
    if (!Best)
      return;
    Job *J = find(ReadyQueue.front());
    ReadyQueue.pop_front();
    if (J) // else it was cancelled
      sendJob(*Best, *J);
  }
}

void Coordinator::dispatchCompiles() {
  // Where nothing runs, others will compile it, too.
  if (Paused || none_of(Devices, [](const auto &D) {
        return D->Reason.empty();
      }))
    return;
  while (!CompileQueue.empty()) {
    CodeEntry &Code = *CompileQueue.front();
    if (Code.Waiting.empty() || Code.State != CodeEntry::Wanted) {
      Code.Queued = false; // it was cancelled
      CompileQueue.pop_front();
      continue;
    }
    Compiler *C = getCompiler();
    if (!C)
      return;
    Code.Queued = false;
    CompileQueue.pop_front();
    startCompile(*C, Code);
  }
}

/// What there is no room for here.
void Coordinator::dispatchOutside() {
  if (!Others)
    return;
  auto GoesAway = [&](Job &J) {
    if (J.ForPair || !Others->submit(J.Ticket, J.Request))
      return false;
    if (!J.Started)
      J.Started = now();
    leaveCode(J);
    J.State = Job::Away;
    return true;
  };
  for (size_t I = 0; I < CompileQueue.size();) {
    CodeEntry &Code = *CompileQueue[I];
    while (!Code.Waiting.empty() && GoesAway(*Code.Waiting.front()))
      Code.Waiting.erase(Code.Waiting.begin());
    if (Code.Waiting.empty()) {
      Code.Queued = false;
      CompileQueue.erase(CompileQueue.begin() + I);
    } else if (Code.Waiting.front()->ForPair) {
      ++I;
    } else {
      return; // no room
    }
  }
  while (!ReadyQueue.empty()) {
    Job *J = find(ReadyQueue.front());
    if (J && !GoesAway(*J))
      return;
    ReadyQueue.pop_front();
  }
}

void Coordinator::dispatch() {
  dispatchRuns();
  dispatchCompiles();
  dispatchOutside();
  forEachWorker([](Worker &W) {
    if (W.P && !W.Ending)
      W.P->channel().flush();
  });
}

void Coordinator::serve(Worker &W, short Events,
                        function_ref<Error(Frame)> Handle) {
  if (W.Ending || !(Events & (POLLIN | POLLHUP | POLLERR)))
    return;
  Channel &Link = W.P->channel();
  Expected<bool> Open = Link.receive();
  while (!W.Ending) {
    Expected<std::optional<Frame>> F = Link.Parser.next();
    if (F && !*F)
      break;
    Error E = F ? Handle(std::move(**F)) : F.takeError();
    if (E) {
      W.Complaint = toString(std::move(E));
      kill(W);
    }
  }
  if (!Open)
    consumeError(Open.takeError());
  if (!Open || !*Open)
    expectEnd(W);
}

void Coordinator::checkTimes() {
  Time Now = Clock::now();
  auto CheckTime = [&](Worker &W) {
    if (W.P && W.Deadline && Now >= *W.Deadline && !W.Ending) {
      W.TimedOut = true;
      kill(W);
    }
  };
  if (!Paused)
    for (auto &C : Compilers)
      CheckTime(*C);
  for (auto &D : Devices)
    for (Runner *R : {D->Active.get(), D->Spare.get()})
      if (R)
        CheckTime(*R);
  auto IsGone = [&](Worker &W) {
    if (!W.P || !W.Ending)
      return false;
    if (W.P->reap())
      return true;
    if (Now < *W.Ending)
      return false;
    W.P->kill(); // it closed its connection, and goes on
    return true;
  };
  for (auto &C : Compilers)
    if (IsGone(*C))
      end(*C);
  for (auto &D : Devices) {
    if (D->Spare && IsGone(*D->Spare))
      end(*D, /*IsSpare=*/true);
    if (D->Active && IsGone(*D->Active))
      end(*D, /*IsSpare=*/false);
    // It has done all that it can.
    if (D->Active && D->Active->Spent && !D->Active->Ending) {
      kill(*D->Active);
    }
  }
}

double Coordinator::untilNextTime(double Seconds) const {
  Time Now = Clock::now();
  auto Consider = [&](const Worker &W) {
    if (!W.P)
      return;
    if (W.Ending)
      Seconds = std::min(Seconds, ReapSeconds);
    else if (W.Deadline)
      Seconds = std::min(
          Seconds,
          std::max(0.0,
                   std::chrono::duration<double>(*W.Deadline - Now).count()));
  };
  if (!Paused)
    for (const auto &C : Compilers)
      Consider(*C);
  for (const auto &D : Devices) {
    if (D->Active)
      Consider(*D->Active);
    if (D->Spare)
      Consider(*D->Spare);
    if (D->Active && D->Active->Opened && D->Active->Exclusive != D->Locked)
      Seconds = std::min(Seconds, LockSeconds);
  }
  if (CompileStartFailures)
    Seconds = std::min(Seconds, LockSeconds);
  return Seconds;
}

/// One turn: waits for whatever comes first.
void Coordinator::pump(double Seconds, int Also, bool &AlsoReady) {
  dispatch();
  std::vector<pollfd> Waits;
  forEachWorker([&](Worker &W) {
    W.PollIndex.reset();
    if (!W.P || W.Ending)
      return;
    short Events = POLLIN;
    if (W.P->channel().hasQueued())
      Events |= POLLOUT;
    W.PollIndex = Waits.size();
    Waits.push_back({W.P->channel().fd(), Events, 0});
    Waits.push_back({W.P->messages(), POLLIN, 0});
  });
  size_t Own = Waits.size();
  if (Also >= 0)
    Waits.push_back({Also, POLLIN, 0});
  if (Others)
    Others->addTo(Waits);
  double Wait = untilNextTime(Seconds);
  int Milliseconds = static_cast<int>(
      std::min(std::ceil(std::max(Wait, 0.0) * 1000), 60000.0));
  int Ready = ::poll(Waits.data(), Waits.size(), Milliseconds);
  AlsoReady |= Ready < 0 && errno == EINTR;
  if (Ready > 0) {
    if (Also >= 0 && Waits[Own].revents)
      AlsoReady = true;
    auto TakeEvents = [&](Worker &W) -> short {
      if (!W.PollIndex)
        return 0;
      if (Waits[*W.PollIndex + 1].revents)
        W.P->readMessages();
      return Waits[*W.PollIndex].revents;
    };
    for (auto &C : Compilers)
      serve(*C, TakeEvents(*C),
            [&](Frame F) { return handle(*C, std::move(F)); });
    for (auto &D : Devices)
      for (Runner *R : {D->Active.get(), D->Spare.get()})
        if (R)
          serve(*R, TakeEvents(*R),
                [&](Frame F) { return handle(*D, *R, std::move(F)); });
  }
  if (Others) {
    Others->serve();
    for (auto &[Ticket, E] : Others->take()) {
      Job *J = find(Ticket);
      if (!J)
        continue;
      if (E) {
        finish(*J, std::move(*E));
        continue;
      }
      ++Stats.Requeued;
      if (++J->Losses > MaxMachines) {
        fail(*J, "WorkerLost", "every machine that it was sent to was lost");
        continue;
      }
      J->State = Job::Waiting;
      route(*J);
    }
  }
  checkTimes();
  dispatch();
}

Expected<std::vector<Evaluation>> Coordinator::wait(double Seconds, int Also) {
  Time Deadline = inSeconds(Seconds);
  bool Stop = false;
  while (true) {
    double Left =
        std::chrono::duration<double>(Deadline - Clock::now()).count();
    bool Waits = Finished.empty() && !Stop && Left > 0 &&
                 (!Jobs.empty() || Also >= 0);
    // Whatever has happened is looked at once, at least.
    pump(Waits ? Left : 0, Also, Stop);
    if (Finished.empty())
      if (Error E = checkAlive())
        return std::move(E);
    if (!Waits || !Finished.empty())
      break;
  }
  return std::exchange(Finished, {});
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

Error Coordinator::turn() {
  bool Ignored = false;
  pump(1, -1, Ignored);
  return checkAlive();
}

/// Does nothing run where a comparison is to run?
bool Coordinator::isQuiet() const {
  for (const auto &D : Devices)
    if (isReserved(*D) && D->Active && !D->Active->Sent.empty())
      return false;
  return true;
}

/// Their time does not go on, either.
void Coordinator::pauseCompilers(bool Stop) {
  if (!Config.PauseCompilesToCompare || Stop == Paused.has_value())
    return;
  for (auto &C : Compilers) {
    if (!C->P || C->Ending)
      continue;
    C->P->pause(Stop);
    if (!Stop && C->Deadline)
      *C->Deadline += Clock::now() - *Paused;
  }
  Paused.reset();
  if (Stop)
    Paused = Clock::now();
}

Expected<PairedEvaluation>
Coordinator::compareHere(ArrayRef<EvaluationRequest> Requests,
                         unsigned Rounds) {
  Comparison Now;
  PairedEvaluation Failure;
  Failure.Id = Requests.front().Id;
  for (const EvaluationRequest &R : Requests) {
    Expected<FarmKeys> Keys = Backend.keys(R);
    if (!Keys) {
      Failure.Failure = "Invalid";
      Failure.Error = toString(Keys.takeError());
      break;
    }
    auto Owned = std::make_unique<Job>();
    Job &J = *Owned;
    J.Ticket = NextTicket++;
    J.Request = R;
    J.Keys = std::move(*Keys);
    J.ForPair = true;
    Jobs[J.Ticket] = std::move(Owned);
    Now.Members.push_back(J.Ticket);
    admit(J);
  }
  scope_exit Leave([&] {
    Current = nullptr;
    for (uint64_t Ticket : Now.Members) {
      Job &J = *find(Ticket);
      leaveCode(J);
      if (J.State == Job::Waiting || J.State == Job::Compiling)
        erase(CodeTable::resolve(*J.Code).Waiting, &J);
      Jobs.erase(Ticket);
    }
    Codes.shrink();
  });
  auto Pending = [&](uint64_t Ticket) {
    return find(Ticket)->State != Job::Held &&
           find(Ticket)->State != Job::Failed;
  };
  while (Failure.Failure.empty() && any_of(Now.Members, Pending))
    if (Error E = turn())
      return std::move(E);
  for (uint64_t Ticket : Now.Members)
    if (Job &J = *find(Ticket);
        J.State == Job::Failed && Failure.Failure.empty()) {
      Failure.Failure = J.Failure;
      Failure.Error = J.Error;
    }
  if (!Failure.Failure.empty())
    return std::move(Failure);

  Current = &Now;
  while (!Now.Result) {
    if (Now.Device && !Now.Device->Reason.empty())
      Now.Device = nullptr;
    if (!Now.Device)
      for (auto &D : Devices)
        if (D->Reason.empty() && !Now.Device)
          Now.Device = D.get();
    if (!Now.Device)
      return compareOutside(Requests, Rounds);
    if (!Now.Sent && isUsable(*Now.Device) && isQuiet()) {
      Now.Sent = true;
      pauseCompilers(true);
      Runner &R = *Now.Device->Active;
      json::Array List, Hashes;
      double Limit = 0;
      for (uint64_t Ticket : Now.Members) {
        Job &J = *find(Ticket);
        sendCode(R, *J.Code);
        EvaluationRequest Request = J.Request;
        Request.LaunchTimeout = getLaunchTimeout(Request);
        Limit = std::max(Limit, Request.LaunchTimeout);
        List.push_back(toJSON(Request));
        Hashes.push_back(J.Code->Code.CodeHash);
      }
      R.Comparing = true;
      setStage(R, "", SetupSeconds + Limit);
      R.P->channel().queue(json::Object{{"do", "compare"},
                                        {"number", Now.Members.front()},
                                        {"requests", std::move(List)},
                                        {"hashes", std::move(Hashes)},
                                        {"rounds", Rounds}});
    }
    Error E = turn();
    if (Now.Result || !Now.Sent || E)
      pauseCompilers(false);
    if (E)
      return std::move(E);
  }
  Now.Result->Id = Requests.front().Id;
  return std::move(*Now.Result);
}

Expected<PairedEvaluation>
Coordinator::compareOutside(ArrayRef<EvaluationRequest> Requests,
                            unsigned Rounds) {
  bool Asked = false;
  while (true) {
    if (!Others)
      return createStringError("there is no device to compare on");
    Asked = Asked || Others->compare(Requests, Rounds);
    if (Error E = turn())
      return std::move(E);
    if (!Asked)
      continue;
    Expected<std::optional<PairedEvaluation>> P = Others->takeComparison();
    if (!P) {
      tell(toString(P.takeError()));
      Asked = false;
    } else if (*P) {
      (*P)->Id = Requests.front().Id;
      return std::move(**P);
    }
  }
}

Expected<PairedEvaluation>
Coordinator::comparePaired(ArrayRef<EvaluationRequest> Requests,
                           unsigned Rounds) {
  if (Requests.empty())
    return PairedEvaluation();
  if (Error E = checkAlive())
    return std::move(E);
  bool Here = any_of(Devices, [](const auto &D) { return D->Reason.empty(); });
  return Here ? compareHere(Requests, Rounds)
              : compareOutside(Requests, Rounds);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

json::Object Coordinator::describe() const {
  json::Array List;
  for (const auto &D : Devices) {
    json::Object O;
    if (D->Active)
      O = D->Active->Description;
    O["device"] = D->Name;
    if (!D->Reason.empty())
      O["error"] = json::fixUTF8(D->Reason);
    List.push_back(std::move(O));
  }
  std::string Names;
  for (const json::Value &D : List) {
    StringRef Name = D.getAsObject()->getString("gpu").value_or(
        D.getAsObject()->getString("device").value_or(""));
    Names += (Names.empty() ? "" : ", ") + Name.str();
  }
  json::Object Result{{"host", json::fixUTF8(Host)},
                      {"device", json::fixUTF8(Names)},
                      {"compile_jobs", Config.CompileJobs},
                      {"devices", std::move(List)}};
  if (Others)
    Result["workers"] = Others->describe();
  return Result;
}

FarmStatistics Coordinator::statistics() const {
  FarmStatistics S = Stats;
  S.BytesSent = BytesSent;
  S.BytesReceived = BytesReceived;
  auto Count = [&](const Worker &W) {
    if (!W.P)
      return;
    S.BytesSent += W.P->channel().sent();
    S.BytesReceived += W.P->channel().received();
  };
  for (const auto &C : Compilers)
    Count(*C);
  for (const auto &D : Devices) {
    FarmStatistics::Runner R;
    R.Name = D->Name;
    R.Runs = D->Runs;
    R.BusySeconds = D->Busy;
    R.OpenSeconds = D->Open;
    if (D->Active) {
      Count(*D->Active);
      if (D->Active->Opened)
        R.OpenSeconds += secondsSince(D->Active->Since);
    }
    S.Runners.push_back(std::move(R));
  }
  if (Others)
    Others->addTo(S);
  return S;
}
