//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinator's run processes: one a device that is used, and one that
// waits for that to die.
//
//===----------------------------------------------------------------------===//

#include "Coordinator.h"
#include "ProcessLoops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Run processes that end before they have run anything, in a row, until there
/// are no more.
static constexpr unsigned MaxFailures = 3;

/// Jobs that may overtake one.
static constexpr unsigned MaxOvertaken = 16;

/// Limit of a launch: ten times the first one that verified, between these; the
/// last one where none has.
static constexpr double LaunchFactor = 10, MinLaunchSeconds = 1,
                        MaxLaunchSeconds = 1e6, FirstLaunchSeconds = 300;

Expected<std::unique_ptr<Coordinator::Runner>>
Coordinator::startRunner(DeviceSlot &D, bool Open) {
  ChildLimits Limits;
  Limits.Cores = D.Cores;
  auto Main = [&](Channel &Link) { runRunProcess(Backend, Link); };
  Expected<std::unique_ptr<Process>> P =
      Starter ? Starter(/*IsCompiler=*/false)
              : Process::start(Main, Limits, MessageSet<FromRunner>::Kinds,
                               MessageSet<ToRunner>::Kinds);
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
  R.Opening = true;
  queue(R.P->channel(), message::Open{D.Name});
}

/// Starts what a device lacks.
void Coordinator::fill(DeviceSlot &D) {
  while (D.Reason.empty() && !D.Active) {
    if (D.Spare && !D.Spare->Ending) {
      D.Active = std::move(D.Spare);
      D.SpareFailures = 0;
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
  // Memory of the device is for two of them at a time.
  if (!D.Reason.empty() || !Config.Spare || D.Spare || D.Leaving ||
      !D.Active->Opened || D.SpareFailures >= MaxFailures)
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
  bool IsFree = D.Active->Exclusive == D.Locked;
  D.Owned |= IsFree;
  return IsFree;
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
  queue(R.P->channel(), message::Keep{Code.Code}, Code.Bytes);
  R.Holds.emplace_front(Hash, Code.Bytes->size());
  R.HeldBytes += Code.Bytes->size();
  // Never what a comparison has just sent.
  while (R.HeldBytes > Config.CodeBytes && R.Holds.size() > 1 && !Current) {
    queue(R.P->channel(), message::Drop{R.Holds.back().first});
    R.HeldBytes -= R.Holds.back().second;
    R.Holds.pop_back();
  }
}

double Coordinator::getLaunchTimeout(const DeviceSlot &D,
                                     const EvaluationRequest &R) const {
  if (R.LaunchTimeout > 0)
    return R.LaunchTimeout;
  if (Config.LaunchTimeout > 0)
    return Config.LaunchTimeout;
  double Known =
      R.Instance < D.LaunchLimits.size() ? D.LaunchLimits[R.Instance] : 0;
  return Known > 0 ? Known : FirstLaunchSeconds;
}

/// The next job for a device. Only the memory of one recorded launch is there,
/// so one of that launch may overtake others, but not for ever. Null: there is
/// none.
Job *Coordinator::takeReady(const DeviceSlot &D) {
  while (!ReadyQueue.empty() && !find(ReadyQueue.front()))
    ReadyQueue.pop_front(); // it was cancelled
  unsigned Instance = D.Active->Instance;
  auto MayRun = [&](uint64_t Ticket) {
    Job *J = find(Ticket);
    return J && (J->Request.Device.empty() || J->Request.Device == D.Id);
  };
  auto Chosen = find_if(ReadyQueue, MayRun);
  if (Chosen == ReadyQueue.end())
    return nullptr;
  Job &First = *find(*Chosen);
  if (First.Request.Instance != Instance && First.Overtaken < MaxOvertaken) {
    auto Same = find_if(ReadyQueue, [&](uint64_t Ticket) {
      return MayRun(Ticket) && find(Ticket)->Request.Instance == Instance;
    });
    if (Same != ReadyQueue.end()) {
      ++First.Overtaken;
      Chosen = Same;
    }
  }
  Job &J = *find(*Chosen);
  ReadyQueue.erase(Chosen);
  return &J;
}

void Coordinator::sendJob(DeviceSlot &D, Job &J) {
  Runner &R = *D.Active;
  if (R.Sent.empty())
    setStage(R, "", SetupSeconds);
  J.State = Job::Sent;
  R.Instance = J.Request.Instance;
  if (!J.Started)
    J.Started = epochSeconds();
  sendCode(R, *J.Code);
  EvaluationRequest Request = J.Request;
  Request.LaunchTimeout = getLaunchTimeout(D, Request);
  Request.StopAbove = Request.stopAbove(D.Id);
  Request.StopAboveOn.clear();
  R.LaunchLimit = std::max(R.LaunchLimit, Request.LaunchTimeout);
  queue(R.P->channel(),
        message::Run{J.Ticket, std::move(Request), J.Code->Code.CodeHash});
  R.Sent.push_back(J.Ticket);
  ++Stats.Runs;
}

Error Coordinator::take(DeviceSlot &D, Runner &R, message::Opened M) {
  if (!R.Opening)
    return makeUnexpected(M);
  R.Opening = false;
  R.Opened = true;
  R.Since = Clock::now();
  R.Info = std::move(M.Info);
  // "cuda:0" is another GPU where other ones are visible.
  D.Id = Host + "/" + (R.Info.UUID.empty() ? D.Name : R.Info.UUID);
  R.Exclusive = std::move(M.Exclusive);
  R.Deadline.reset();
  R.Stage.clear();
  fill(D); // a spare, now that this is done
  return Error::success();
}

Error Coordinator::take(DeviceSlot &, Runner &R, message::OpenFailed M) {
  if (!R.Opening)
    return makeUnexpected(M);
  R.OpenError = std::move(M.Error);
  return createStringError(R.OpenError);
}

Error Coordinator::take(DeviceSlot &, Runner &R, message::Fatal M) {
  R.Fatal = std::move(M.Error);
  return Error::success();
}

Error Coordinator::take(DeviceSlot &, Runner &R, message::Shortage M) {
  R.Shortage = std::move(M.Error);
  return Error::success();
}

Error Coordinator::take(DeviceSlot &D, Runner &R, message::Begin M) {
  bool IsNext = R.Comparing ? M.Ticket == R.Comparing->Ticket
                            : !R.Sent.empty() && M.Ticket == R.Sent.front();
  if (R.Begun || !IsNext)
    return makeUnexpected(M);
  R.Begun = true;
  D.Failures = 0;
  return Error::success();
}

Error Coordinator::take(DeviceSlot &, Runner &R, message::RunStage M) {
  if (!R.Opening && !R.Begun)
    return makeUnexpected(M);
  double Limit = M.Limit;
  // Without a limit only where the user wants none.
  if (Config.StageTimeout > 0) {
    double Max = std::max({SetupSeconds, Config.StageTimeout, R.LaunchLimit});
    Limit = Limit > 0 ? std::min(Limit, Max) : Max;
  }
  setStage(R, M.Stage, Limit);
  return Error::success();
}

/// Is it one that this farm's devices can have? Its message was in order.
Error Coordinator::checkOutcome(const EvaluationRequest &R,
                                const Evaluation &E) const {
  if (E.Failure == FailureKind::WorkerLost)
    return createStringError("a run cannot fail as WorkerLost");
  if (Config.Executes && R.Measure && E.Failure.empty() && E.Samples.empty())
    return createStringError("a result has no samples");
  return Error::success();
}

/// What it was doing is done.
void Coordinator::finishWork(Runner &R, bool Spent) {
  R.Begun = false;
  R.Spent = Spent;
  R.Deadline.reset();
  R.Stage.clear();
}

Error Coordinator::take(DeviceSlot &D, Runner &R, message::Compared M) {
  if (!R.Begun || !R.Comparing || M.Ticket != R.Comparing->Ticket)
    return makeUnexpected(M);
  if (Error E =
          checkPaired(M.Result, R.Comparing->Members, R.Comparing->Rounds))
    return E;
  D.Busy += secondsSince(R.Comparing->When);
  ++D.Runs;
  R.Comparing.reset();
  finishWork(R, M.Spent);
  M.Result.Worker = formatv("{0}:{1}", Host, R.P->pid());
  M.Result.Device = D.Id;
  if (Current)
    Current->Result = std::move(M.Result);
  return Error::success();
}

Error Coordinator::take(DeviceSlot &D, Runner &R, message::Done M) {
  if (!R.Begun || R.Comparing || M.Ticket != R.Sent.front())
    return makeUnexpected(M);
  Job &J = *find(R.Sent.front());
  if (Error E = checkOutcome(J.Request, M.Result))
    return E;
  R.Sent.pop_front();
  finishWork(R, M.Spent);
  if (!R.Sent.empty())
    setStage(R, "", SetupSeconds);
  Evaluation &E = M.Result;
  E.RunSeconds = std::min(E.RunSeconds, secondsSince(R.Since));
  D.Busy += E.RunSeconds;
  ++D.Runs;
  E.Worker = formatv("{0}:{1}", Host, R.P->pid());
  E.Device = D.Id;
  unsigned Instance = J.Request.Instance;
  if (E.Failure.empty() && !E.Samples.empty()) {
    if (D.LaunchLimits.size() <= Instance)
      D.LaunchLimits.resize(Instance + 1);
    if (D.LaunchLimits[Instance] == 0)
      D.LaunchLimits[Instance] =
          std::clamp(LaunchFactor * 1e-9 * summarize(E.Samples).Median,
                     MinLaunchSeconds, MaxLaunchSeconds);
  }
  finish(J, std::move(E));
  return Error::success();
}

/// What it was sent is for another one.
void Coordinator::requeue(Runner &R) {
  Stats.Requeued += R.Sent.size();
  for (uint64_t Ticket : reverse(R.Sent)) {
    find(Ticket)->State = Job::Ready;
    ReadyQueue.push_front(Ticket);
  }
  R.Sent.clear();
}

/// It has done all that it can. Nothing of it runs on the device any more, so
/// one that has opened the device already need not wait until it is gone: its
/// driver takes its time.
void Coordinator::replace(DeviceSlot &D) {
  kill(*D.Active);
  if (!D.Spare || !D.Spare->Opened || D.Spare->Ending || D.Leaving)
    return;
  D.Open += secondsSince(D.Active->Since);
  requeue(*D.Active);
  D.Leaving = std::move(D.Active);
  fill(D);
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
  bool Short = !R->Shortage.empty(), Killed = R->P->wasKilled() || Short;
  std::string Why = describeEnd(*R, "the run process");
  bool Blamed = R->Begun;
  if (!R->Spent) {
    ++Stats.RunnerDeaths;
    if (!Blamed && ++D.Failures >= MaxFailures) {
      D.Reason = R->OpenError.empty() ? Why : R->OpenError;
      tell(D.Name + ": " + D.Reason);
    }
  }
  if (R->Comparing && Current) {
    if (Blamed && (!Killed || Current->Losses >= MaxLosses)) {
      Current->Result.emplace();
      Current->Result->Failure = Short         ? FailureKind::WorkerLost
                                 : R->TimedOut ? FailureKind::Timeout
                                               : FailureKind::Crash;
      Current->Result->Error = Why;
    } else {
      Current->Losses += Killed;
      Current->Sent = false;
    }
  } else if (Blamed && !R->Sent.empty()) {
    Job &J = *find(R->Sent.front());
    if (Killed && J.Losses < MaxLosses) {
      ++J.Losses;
    } else {
      R->Sent.pop_front();
      Evaluation E;
      E.Failure = Short         ? FailureKind::WorkerLost
                  : R->TimedOut ? FailureKind::Timeout
                                : FailureKind::Crash;
      E.Error = Why;
      E.Worker = formatv("{0}:{1}", Host, R->P->pid());
      E.Device = D.Id;
      finish(J, std::move(E));
    }
  }
  requeue(*R);
  fill(D);
  if (!D.Reason.empty())
    moveTargeted();
}
