//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunnerPool.h"
#include "ProcessLoops.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Maximum number of consecutive run processes that end before they have run
/// anything. Then the device is lost.
static constexpr unsigned MaxFailures = 3;

/// Maximum number of jobs that may overtake a job.
static constexpr unsigned MaxOvertaken = 16;

/// Launch limit: LaunchFactor times the first verified launch, between
/// MinLaunchSeconds and MaxLaunchSeconds; FirstLaunchSeconds until one has
/// verified.
static constexpr double LaunchFactor = 10, MinLaunchSeconds = 1,
                        MaxLaunchSeconds = 1e6, FirstLaunchSeconds = 300;

RunnerPool::RunnerPool(FarmContext &F, JobTable &Jobs) : F(F), Jobs(Jobs) {
  for (size_t I = 0; I != F.Config.Devices.size(); ++I) {
    auto D = std::make_unique<Device>();
    D->Name = F.Config.Devices[I];
    D->Id = F.Host + "/" + D->Name;
    if (I < F.Config.Cores.size())
      D->Cores = F.Config.Cores[I];
    Devices.push_back(std::move(D));
  }
}

void RunnerPool::start() {
  for (auto &D : Devices)
    fill(*D);
}

void RunnerPool::forEach(function_ref<void(WorkerProcess &)> Fn) const {
  for (auto &D : Devices)
    for (Runner *R : {D->Active.get(), D->Spare.get(), D->Leaving.get()})
      if (R)
        Fn(*R);
}

unsigned RunnerPool::numDevices(bool Owned) const {
  return count_if(Devices, [&](const auto &D) {
    return D->Reason.empty() && (D->Owned || !Owned);
  });
}

bool RunnerPool::isHere(StringRef Id, bool MustOwn) const {
  return any_of(Devices, [&](const auto &D) {
    return D->Reason.empty() && D->Id == Id && (D->Owned || !MustOwn);
  });
}

RunnerPool::Device *RunnerPool::chooseDevice(bool MayWait) const {
  Device *Locked = nullptr;
  for (const auto &D : Devices) {
    if (!D->Reason.empty())
      continue;
    if (D->Owned)
      return D.get();
    Locked = D.get();
  }
  return MayWait ? Locked : nullptr;
}

void RunnerPool::takeLocks() {
  for (auto &D : Devices)
    isUsable(*D);
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<RunnerPool::Runner>>
RunnerPool::startRunner(Device &D, bool Open) {
  ChildLimits Limits;
  Limits.Cores = D.Cores;
  auto Main = [&](Channel &Link) { runRunProcess(F.Backend, Link); };
  Expected<std::unique_ptr<Process>> P =
      F.Starter ? F.Starter(/*IsCompiler=*/false)
                : Process::start(Main, Limits, MessageSet<FromRunner>::Kinds,
                                 MessageSet<ToRunner>::Kinds);
  if (!P)
    return P.takeError();
  ++F.Stats.Starts;
  auto R = std::make_unique<Runner>();
  R->P = std::move(*P);
  if (Open)
    openDevice(D, *R);
  return std::move(R);
}

void RunnerPool::openDevice(Device &D, Runner &R) {
  R.setStage("opening the device", SetupSeconds);
  R.Opening = true;
  queue(R.P->channel(), message::Open{D.Name});
}

/// Starts the processes that a device lacks.
void RunnerPool::fill(Device &D) {
  while (D.Reason.empty() && !D.Active) {
    if (D.Spare && !D.Spare->Ending) {
      D.Active = std::move(D.Spare);
      D.SpareFailures = 0;
      if (!F.Config.OpenSpare)
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
  // The memory of the device is sufficient for two processes.
  if (!D.Reason.empty() || !F.Config.Spare || D.Spare || D.Leaving ||
      !D.Active->Opened || D.SpareFailures >= MaxFailures)
    return;
  Expected<std::unique_ptr<Runner>> R = startRunner(D, F.Config.OpenSpare);
  if (R) {
    D.Spare = std::move(*R);
  } else {
    consumeError(R.takeError());
    ++D.SpareFailures;
  }
}

/// Tries to lock the device against other programs that measure times.
void RunnerPool::takeLock(Device &D) {
  const std::string &Name = D.Active->Exclusive;
  if (Name.empty() || D.Locked == Name || Clock::now() < D.NextTry)
    return;
  D.NextTry = inSeconds(LockSeconds);
  Expected<std::optional<DeviceLock>> Lock = DeviceLock::tryLock(Name);
  if (!Lock) {
    // Measuring without a lock is better than not at all.
    F.tell(toString(Lock.takeError()));
    D.Locked = Name;
    return;
  }
  if (*Lock) {
    D.Lock = std::move(*Lock);
    D.Locked = Name;
    return;
  }
  if (!D.Told)
    F.tell(D.Name + ": in use by another program of Mneme; waiting for it");
  D.Told = true;
}

bool RunnerPool::isUsable(Device &D) {
  if (!D.Active || !D.Active->Opened || D.Active->Ending || D.Active->Spent)
    return false;
  takeLock(D);
  bool IsFree = D.Active->Exclusive == D.Locked;
  D.Owned |= IsFree;
  return IsFree;
}

/// Returns true if a comparison needs the device alone.
bool RunnerPool::isReserved(const Device &D) const {
  return Current && (Current->On == &D || F.Config.PauseCompilesToCompare);
}

/// Sends code that the process does not have, and drops the least recently used
/// code beyond the limit.
void RunnerPool::sendCode(Runner &R, const CodeEntry &Code) {
  const std::string &Hash = Code.Code.CodeHash;
  auto Held = find_if(R.Holds, [&](const auto &H) { return H.first == Hash; });
  if (Held != R.Holds.end()) {
    R.Holds.splice(R.Holds.begin(), R.Holds, Held);
    return;
  }
  queue(R.P->channel(), message::Keep{Code.Code}, Code.Bytes);
  R.Holds.emplace_front(Hash, Code.Bytes->size());
  R.HeldBytes += Code.Bytes->size();
  // Never drop code that a comparison has just sent.
  while (R.HeldBytes > F.Config.CodeBytes && R.Holds.size() > 1 && !Current) {
    queue(R.P->channel(), message::Drop{R.Holds.back().first});
    R.HeldBytes -= R.Holds.back().second;
    R.Holds.pop_back();
  }
}

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

double RunnerPool::getLaunchTimeout(const Device &D,
                                    const EvaluationRequest &R) const {
  if (R.LaunchTimeout > 0)
    return R.LaunchTimeout;
  if (F.Config.LaunchTimeout > 0)
    return F.Config.LaunchTimeout;
  double Known =
      R.Instance < D.LaunchLimits.size() ? D.LaunchLimits[R.Instance] : 0;
  return Known > 0 ? Known : FirstLaunchSeconds;
}

/// \returns the next job for a device, or null. The process has the memory of
/// only one recorded launch, so jobs of that launch may overtake others, at
/// most MaxOvertaken times.
Job *RunnerPool::takeReady(const Device &D) {
  while (!Jobs.ReadyQueue.empty() && !Jobs.find(Jobs.ReadyQueue.front()))
    Jobs.ReadyQueue.pop_front(); // it was cancelled
  unsigned Instance = D.Active->Instance;
  auto MayRun = [&](uint64_t Ticket) {
    Job *J = Jobs.find(Ticket);
    return J && (J->Request.Device.empty() || J->Request.Device == D.Id);
  };
  auto Chosen = find_if(Jobs.ReadyQueue, MayRun);
  if (Chosen == Jobs.ReadyQueue.end())
    return nullptr;
  Job &First = *Jobs.find(*Chosen);
  if (First.Request.Instance != Instance && First.Overtaken < MaxOvertaken) {
    auto Same = find_if(Jobs.ReadyQueue, [&](uint64_t Ticket) {
      return MayRun(Ticket) && Jobs.find(Ticket)->Request.Instance == Instance;
    });
    if (Same != Jobs.ReadyQueue.end()) {
      ++First.Overtaken;
      Chosen = Same;
    }
  }
  Job &J = *Jobs.find(*Chosen);
  Jobs.ReadyQueue.erase(Chosen);
  return &J;
}

void RunnerPool::sendJob(Device &D, Job &J) {
  Runner &R = *D.Active;
  if (R.Sent.empty())
    R.setStage("", SetupSeconds);
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
  ++F.Stats.Runs;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Error RunnerPool::take(Device &D, Runner &R, message::Opened M) {
  if (!R.Opening)
    return makeUnexpected(M);
  R.Opening = false;
  R.Opened = true;
  R.Since = Clock::now();
  R.Info = std::move(M.Info);
  // Which GPU "cuda:0" is depends on which GPUs are visible.
  D.Id = F.Host + "/" + (R.Info.UUID.empty() ? D.Name : R.Info.UUID);
  R.Exclusive = std::move(M.Exclusive);
  R.Deadline.reset();
  R.Stage.clear();
  fill(D); // a spare, now that this is done
  return Error::success();
}

Error RunnerPool::take(Device &, Runner &R, message::OpenFailed M) {
  if (!R.Opening)
    return makeUnexpected(M);
  R.OpenError = std::move(M.Error);
  return createStringError(R.OpenError);
}

Error RunnerPool::take(Device &, Runner &R, message::Fatal M) {
  R.Fatal = std::move(M.Error);
  return Error::success();
}

Error RunnerPool::take(Device &, Runner &R, message::Shortage M) {
  R.Shortage = std::move(M.Error);
  return Error::success();
}

Error RunnerPool::take(Device &D, Runner &R, message::Begin M) {
  bool IsNext = R.Comparing ? M.Ticket == R.Comparing->Ticket
                            : !R.Sent.empty() && M.Ticket == R.Sent.front();
  if (R.Begun || !IsNext)
    return makeUnexpected(M);
  R.Begun = true;
  D.Failures = 0;
  return Error::success();
}

Error RunnerPool::take(Device &, Runner &R, message::RunStage M) {
  if (!R.Opening && !R.Begun)
    return makeUnexpected(M);
  double Limit = M.Limit;
  // There is no limit only if the user wants none.
  if (F.Config.StageTimeout > 0) {
    double Max = std::max({SetupSeconds, F.Config.StageTimeout, R.LaunchLimit});
    Limit = Limit > 0 ? std::min(Limit, Max) : Max;
  }
  R.setStage(M.Stage, Limit);
  return Error::success();
}

/// Checks the contents of a well-formed result.
Error RunnerPool::checkOutcome(const EvaluationRequest &R,
                               const Evaluation &E) const {
  if (E.Failure == FailureKind::WorkerLost)
    return createStringError("a run cannot fail as WorkerLost");
  if (F.Config.Executes && R.Measure && E.Failure.empty() && E.Samples.empty())
    return createStringError("a result has no samples");
  return Error::success();
}

/// Ends the current job or comparison.
void RunnerPool::finishWork(Runner &R, bool Spent) {
  R.Begun = false;
  R.Spent = Spent;
  R.Deadline.reset();
  R.Stage.clear();
}

Error RunnerPool::take(Device &D, Runner &R, message::Compared M) {
  if (!R.Begun || !R.Comparing || M.Ticket != R.Comparing->Ticket)
    return makeUnexpected(M);
  if (Error E =
          checkPaired(M.Result, R.Comparing->Members, R.Comparing->Rounds))
    return E;
  D.Busy += secondsSince(R.Comparing->When);
  ++D.Runs;
  R.Comparing.reset();
  finishWork(R, M.Spent);
  M.Result.Worker = formatv("{0}:{1}", F.Host, R.P->pid());
  M.Result.Device = D.Id;
  if (Current)
    Current->Result = std::move(M.Result);
  return Error::success();
}

Error RunnerPool::take(Device &D, Runner &R, message::Done M) {
  if (!R.Begun || R.Comparing || M.Ticket != R.Sent.front())
    return makeUnexpected(M);
  Job &J = *Jobs.find(R.Sent.front());
  if (Error E = checkOutcome(J.Request, M.Result))
    return E;
  R.Sent.pop_front();
  finishWork(R, M.Spent);
  if (!R.Sent.empty())
    R.setStage("", SetupSeconds);
  Evaluation &E = M.Result;
  E.RunSeconds = std::min(E.RunSeconds, secondsSince(R.Since));
  D.Busy += E.RunSeconds;
  ++D.Runs;
  E.Worker = formatv("{0}:{1}", F.Host, R.P->pid());
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
  Jobs.finish(J, std::move(E));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

/// Returns a process's jobs to the queue.
void RunnerPool::requeue(Runner &R) {
  F.Stats.Requeued += R.Sent.size();
  for (uint64_t Ticket : reverse(R.Sent)) {
    Jobs.find(Ticket)->State = Job::Ready;
    Jobs.ReadyQueue.push_front(Ticket);
  }
  R.Sent.clear();
}

/// Replaces a spent process. It runs nothing on the device any more, so an open
/// spare need not wait for its slow exit.
void RunnerPool::replace(Device &D) {
  D.Active->kill();
  if (!D.Spare || !D.Spare->Opened || D.Spare->Ending || D.Leaving)
    return;
  D.Open += secondsSince(D.Active->Since);
  requeue(*D.Active);
  D.Leaving = std::move(D.Active);
  fill(D);
}

/// Handles the end of a run process: finds the cause, and reassigns its jobs.
void RunnerPool::end(Device &D, bool IsSpare) {
  std::unique_ptr<Runner> R = std::move(IsSpare ? D.Spare : D.Active);
  F.addTraffic(*R->P);
  if (IsSpare) {
    ++D.SpareFailures;
    return;
  }
  if (R->Opened)
    D.Open += secondsSince(R->Since);
  bool Short = !R->Shortage.empty(), Killed = R->P->wasKilled() || Short;
  std::string Why = R->describeEnd("the run process");
  bool Blamed = R->Begun;
  if (!R->Spent) {
    ++F.Stats.RunnerDeaths;
    if (!Blamed && ++D.Failures >= MaxFailures) {
      D.Reason = R->OpenError.empty() ? Why : R->OpenError;
      F.tell(D.Name + ": " + D.Reason);
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
    Job &J = *Jobs.find(R->Sent.front());
    if (Killed && J.Losses < MaxLosses) {
      ++J.Losses;
    } else {
      R->Sent.pop_front();
      Evaluation E;
      E.Failure = Short         ? FailureKind::WorkerLost
                  : R->TimedOut ? FailureKind::Timeout
                                : FailureKind::Crash;
      E.Error = Why;
      E.Worker = formatv("{0}:{1}", F.Host, R->P->pid());
      E.Device = D.Id;
      Jobs.finish(J, std::move(E));
    }
  }
  requeue(*R);
  fill(D);
  if (!D.Reason.empty())
    Jobs.moveTargeted();
}

void RunnerPool::dispatch() {
  while (!Jobs.ReadyQueue.empty()) {
    // Choose the device with the fewest jobs among those with a suitable job.
    SmallVector<std::pair<size_t, size_t>> Free;
    for (const auto &[I, D] : enumerate(Devices))
      if (isUsable(*D) && !isReserved(*D) &&
          D->Active->Sent.size() <= Prefetched)
        Free.emplace_back(D->Active->Sent.size(), I);
    llvm::sort(Free);
    Job *J = nullptr;
    for (auto [Sent, I] : Free)
      if ((J = takeReady(*Devices[I]))) {
        sendJob(*Devices[I], *J);
        break;
      }
    if (!J)
      return;
  }
}

void RunnerPool::serve(ArrayRef<pollfd> Waits) {
  for (auto &D : Devices)
    for (Runner *R : {D->Active.get(), D->Spare.get()})
      if (R)
        R->serve<FromRunner>(R->takeEvents(Waits), [&](auto &&M) {
          return take(*D, *R, std::move(M));
        });
}

void RunnerPool::checkTimes() {
  Time Now = Clock::now();
  for (auto &D : Devices)
    for (Runner *R : {D->Active.get(), D->Spare.get()})
      if (R)
        R->checkDeadline(Now);
  for (auto &D : Devices) {
    if (D->Spare && D->Spare->isGone(Now))
      end(*D, /*IsSpare=*/true);
    if (D->Active && D->Active->isGone(Now))
      end(*D, /*IsSpare=*/false);
    if (D->Active && D->Active->Spent && !D->Active->Ending)
      replace(*D);
    if (D->Leaving && D->Leaving->isGone(Now)) {
      F.addTraffic(*D->Leaving->P);
      D->Leaving.reset();
      fill(*D);
    }
  }
}

double RunnerPool::untilNextTime(double Seconds) const {
  Time Now = Clock::now();
  for (const auto &D : Devices) {
    for (const Runner *R : {D->Active.get(), D->Spare.get(), D->Leaving.get()})
      if (R)
        Seconds = R->untilNextTime(Seconds, Now);
    if (D->Active && D->Active->Opened && D->Active->Exclusive != D->Locked)
      Seconds = std::min(Seconds, LockSeconds);
  }
  return Seconds;
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

bool RunnerPool::isReadyToCompare(Device &D) {
  return isUsable(D) && none_of(Devices, [&](const auto &Other) {
           return isReserved(*Other) && Other->Active &&
                  !Other->Active->Sent.empty();
         });
}

void RunnerPool::sendComparison(Comparison &C, unsigned Rounds) {
  C.Sent = true;
  Runner &R = *C.On->Active;
  message::Compare M;
  M.Ticket = C.Members.front();
  M.Rounds = Rounds;
  for (uint64_t Ticket : C.Members) {
    Job &J = *Jobs.find(Ticket);
    sendCode(R, *J.Code);
    EvaluationRequest Request = J.Request;
    Request.LaunchTimeout = getLaunchTimeout(*C.On, Request);
    R.LaunchLimit = std::max(R.LaunchLimit, Request.LaunchTimeout);
    M.Requests.push_back(std::move(Request));
    M.Hashes.push_back(J.Code->Code.CodeHash);
  }
  R.Comparing =
      Runner::ComparisonSent{M.Ticket, M.Requests.size(), Rounds, Clock::now()};
  R.setStage("", SetupSeconds + R.LaunchLimit);
  queue(R.P->channel(), M);
}

void RunnerPool::breakOff(Comparison &C) {
  if (!C.Sent || !C.On->Active)
    return;
  C.On->Active->Spent = true;
  C.On->Active->kill();
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void RunnerPool::describe(FarmDescription &Farm) const {
  for (const auto &D : Devices) {
    FarmDeviceState &S = Farm.Devices.emplace_back();
    S.Name = D->Name;
    S.Id = D->Id;
    if (D->Active)
      S.Info = D->Active->Info;
    S.Error = D->Reason;
    S.Waiting = !D->Owned;
  }
}

void RunnerPool::addTo(FarmStatistics &S) const {
  for (const auto &D : Devices) {
    FarmStatistics::Runner R;
    R.Name = D->Name;
    R.Runs = D->Runs;
    R.BusySeconds = D->Busy;
    R.OpenSeconds = D->Open;
    if (D->Active && D->Active->Opened)
      R.OpenSeconds += secondsSince(D->Active->Since);
    S.Runners.push_back(std::move(R));
  }
}
