//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Coordinator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

#define DEBUG_TYPE "mneme-farm"

/// How much later than a process the coordinator loses patience: a device's
/// own message is the better one.
static constexpr double GraceSeconds = 2;

/// How many machines may be lost while they have a job.
static constexpr unsigned MaxMachines = 3;

/// How long a process that was killed may take to be gone: a driver may wait
/// for a kernel that never ends.
static constexpr double ExitSeconds = 2;

/// How often one that is to be gone is looked at.
static constexpr double ReapSeconds = 0.001;

Coordinator::Coordinator(FarmBackend &Backend, FarmConfig C)
    : Backend(Backend), Config(std::move(C)), Codes(Config.CodeBytes) {
  char Name[256] = {};
  if (::gethostname(Name, sizeof(Name) - 1) == 0)
    Host = Name;
  for (size_t I = 0; I != Config.Devices.size(); ++I) {
    auto D = std::make_unique<DeviceSlot>();
    D->Name = Config.Devices[I];
    D->Id = Host + "/" + D->Name;
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
    for (Runner *R : {D->Active.get(), D->Spare.get(), D->Leaving.get()})
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

/// Of some devices.
static unsigned getCapacity(unsigned Devices, unsigned CompileJobs) {
  // Two a compile process: one is at work, one is there for it.
  return Devices ? Devices * (1 + Prefetched) + 2 * CompileJobs : 0;
}

unsigned Coordinator::capacity() const {
  unsigned N = getCapacity(
      count_if(Devices, [](const auto &D) { return D->Reason.empty(); }),
      Config.CompileJobs);
  if (Others)
    N += Others->capacity();
  return std::max(N, 1u);
}

unsigned Coordinator::offer() const {
  return getCapacity(count_if(Devices,
                              [](const auto &D) {
                                return D->Reason.empty() && D->Owned;
                              }),
                     Config.CompileJobs);
}

/// Is there one that is not lost?
bool Coordinator::hasDevice() const {
  return any_of(Devices, [](const auto &D) { return D->Reason.empty(); });
}

Error Coordinator::checkAlive() const {
  if (hasDevice())
    return Error::success();
  if (Others)
    return Others->checkAlive();
  if (Devices.empty())
    return createStringError("there is no device");
  return createStringError(formatv("no run process stays alive on {0}: {1}",
                                   Devices.front()->Name,
                                   Devices.front()->Reason)
                               .str());
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void Coordinator::setStage(Worker &W, StringRef Stage, double Limit) {
  LLVM_DEBUG(dbgs() << "worker " << &W << ": " << Stage << '\n');
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
  LLVM_DEBUG(dbgs() << "worker " << &W << ": killed: " << W.Complaint << '\n');
  W.P->kill();
  expectEnd(W);
}

void Coordinator::dispatchRuns() {
  while (!ReadyQueue.empty()) {
    // The one with least to do that there is something for.
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

void Coordinator::dispatchCompiles() {
  // Where nothing runs, others will compile it, too.
  if (Paused || !hasDevice())
    return;
  while (!CompileQueue.empty()) {
    CodeEntry &Code = *CompileQueue.front();
    if (Code.Waiting.empty() || Code.State != CodeEntry::Wanted) {
      Code.Queued = false; // it was cancelled
      CompileQueue.pop_front();
      continue;
    }
    Compiler *C = getCompiler(Code.Waiting.front()->Keys.Process);
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
  auto Stays = [](const Job &J) {
    return J.ForPair || J.Stays || !J.Request.Device.empty();
  };
  auto GoesAway = [&](Job &J) {
    if (!Others->submit(J.Ticket, J.Request))
      return false;
    if (!J.Started)
      J.Started = epochSeconds();
    leaveCode(J);
    J.State = Job::Away;
    return true;
  };
  for (size_t I = 0; I < CompileQueue.size();) {
    CodeEntry &Code = *CompileQueue[I];
    for (size_t N = 0; N < Code.Waiting.size();) {
      if (Stays(*Code.Waiting[N]))
        ++N;
      else if (GoesAway(*Code.Waiting[N]))
        Code.Waiting.erase(Code.Waiting.begin() + N);
      else
        return; // no room
    }
    if (!Code.Waiting.empty()) {
      ++I;
      continue;
    }
    Code.Queued = false;
    CompileQueue.erase(CompileQueue.begin() + I);
  }
  for (size_t I = 0; I < ReadyQueue.size();) {
    Job *J = find(ReadyQueue[I]);
    if (J && Stays(*J))
      ++I;
    else if (!J || GoesAway(*J))
      ReadyQueue.erase(ReadyQueue.begin() + I);
    else
      return;
  }
}

/// Takes what workers have sent.
void Coordinator::serveOutside() {
  Others->serve();
  for (OutsideResult &R : Others->take()) {
    Job *J = find(R.Ticket);
    if (!J)
      continue;
    if (R.Kind == OutsideResult::Done) {
      finish(*J, std::move(R.Result));
      continue;
    }
    if (R.Kind == OutsideResult::Declined) {
      J->Stays = true;
      if (!hasDevice() || !J->Request.Device.empty()) {
        fail(*J, FailureKind::WorkerLost, R.Result.Error);
        continue;
      }
    }
    ++Stats.Requeued;
    if (R.Kind == OutsideResult::Lost && ++J->Losses > MaxMachines) {
      fail(*J, FailureKind::WorkerLost,
           "every machine that it was sent to was lost");
      continue;
    }
    J->State = Job::Waiting;
    if (!J->Request.Device.empty() && !isHere(J->Request.Device))
      sendThere(*J);
    else if (J->Code)
      route(*J);
    else
      admit(*J);
  }
}

void Coordinator::dispatch() {
  // Locks are taken before there is anything to do: see offer().
  for (auto &D : Devices)
    isUsable(*D);
  dispatchRuns();
  dispatchCompiles();
  dispatchOutside();
  forEachWorker([](Worker &W) {
    if (W.P && !W.Ending)
      W.P->channel().flush();
  });
}

template <typename SetT, typename FnT>
void Coordinator::serve(Worker &W, short Events, FnT Take) {
  if (W.Ending || !(Events & (POLLIN | POLLHUP | POLLERR)))
    return;
  Channel &Link = W.P->channel();
  Expected<bool> Open = Link.receive();
  while (!W.Ending) {
    Expected<std::optional<SetT>> M = nextMessage<SetT>(Link.Parser);
    if (M && !*M)
      break;
    Error E = M ? std::visit(Take, std::move(**M)) : M.takeError();
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
    if (D->Active && D->Active->Spent && !D->Active->Ending)
      replace(*D);
    if (D->Leaving && IsGone(*D->Leaving)) {
      BytesSent += D->Leaving->P->channel().sent();
      BytesReceived += D->Leaving->P->channel().received();
      D->Leaving.reset();
      fill(*D);
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
    if (D->Leaving)
      Consider(*D->Leaving);
    if (D->Active && D->Active->Opened && D->Active->Exclusive != D->Locked)
      Seconds = std::min(Seconds, LockSeconds);
  }
  if (CompileStartFailures)
    Seconds = std::min(Seconds, LockSeconds);
  return Others ? Others->untilNextTime(Seconds) : Seconds;
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
    Waits.push_back({W.P->channel().in(), Events, 0});
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
      serve<FromCompiler>(*C, TakeEvents(*C),
                          [&](auto &&M) { return take(*C, std::move(M)); });
    for (auto &D : Devices)
      for (Runner *R : {D->Active.get(), D->Spare.get()})
        if (R)
          serve<FromRunner>(*R, TakeEvents(*R), [&](auto &&M) {
            return take(*D, *R, std::move(M));
          });
  }
  if (Others)
    serveOutside();
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

/// In words; \p Nothing: when nobody knows what it was doing.
std::string Coordinator::describeEnd(const Worker &W,
                                     StringRef Nothing) const {
  StringRef Stage = W.Stage.empty() ? Nothing : StringRef(W.Stage);
  if (W.TimedOut)
    return formatv("{0} did not end within {1} s", Stage, printSeconds(W.Limit))
        .str();
  if (!W.Shortage.empty())
    return W.Shortage;
  if (!W.Fatal.empty())
    return W.Fatal;
  if (!W.Complaint.empty())
    return formatv("{0} broke the farm's protocol: {1}", Stage, W.Complaint);
  return (Stage + " " + W.P->describeEnd()).str();
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

FarmDescription Coordinator::describeFarm() const {
  FarmDescription Result;
  Result.Host = Host;
  Result.CompileJobs = Config.CompileJobs;
  for (const auto &D : Devices) {
    FarmDeviceState &S = Result.Devices.emplace_back();
    S.Name = D->Name;
    S.Id = D->Id;
    if (D->Active)
      S.Info = D->Active->Info;
    S.Error = D->Reason;
    S.Waiting = !D->Owned;
  }
  return Result;
}

json::Object Coordinator::describe() const {
  json::Object Result = mneme::describe(describeFarm());
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
    for (const Runner *Other : {D->Spare.get(), D->Leaving.get()})
      if (Other)
        Count(*Other);
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
