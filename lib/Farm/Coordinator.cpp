//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Coordinator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Number of machines that may be lost with a job before the job fails.
static constexpr unsigned MaxMachines = 3;

static std::string getHost() {
  char Name[256] = {};
  return ::gethostname(Name, sizeof(Name) - 1) == 0 ? Name : "";
}

Coordinator::Coordinator(FarmBackend &Backend, FarmConfig C)
    : F{Backend, std::move(C), getHost(), {}, {}},
      Jobs(F,
           [this](StringRef Device) {
             // A device that another process has locked may belong to a worker
             // on this machine.
             return Runners.isHere(Device, /*MustOwn=*/Others != nullptr);
           }),
      Compilers(F, Jobs), Runners(F, Jobs) {}

Coordinator::~Coordinator() {
  // Kill all processes before waiting for each.
  forEachWorker([](WorkerProcess &W) {
    if (W.P)
      W.P->kill();
  });
}

void Coordinator::setOutside(Outside *O) {
  Others = O;
  Jobs.setOutside(O);
}

void Coordinator::forEachWorker(function_ref<void(WorkerProcess &)> Fn) const {
  Compilers.forEach(Fn);
  Runners.forEach(Fn);
}

Error Coordinator::submit(EvaluationRequest R) {
  Jobs.submit(std::move(R));
  dispatch();
  return Error::success();
}

static unsigned getCapacity(unsigned Devices, unsigned CompileJobs) {
  // Two jobs per compile process: one being compiled, one prefetched.
  return Devices ? Devices * (1 + Prefetched) + 2 * CompileJobs : 0;
}

unsigned Coordinator::capacity() const {
  unsigned N = getCapacity(Runners.numDevices(), F.Config.CompileJobs);
  if (Others)
    N += Others->capacity();
  return std::max(N, 1u);
}

unsigned Coordinator::offer() const {
  return getCapacity(Runners.numDevices(/*Owned=*/true), F.Config.CompileJobs);
}

Error Coordinator::checkAlive() const {
  if (Runners.hasDevice())
    return Error::success();
  if (Others)
    return Others->checkAlive();
  if (Runners.empty())
    return createStringError("there is no device");
  const RunnerPool::Device &D = Runners.firstDevice();
  return createStringError(
      formatv("no run process stays alive on {0}: {1}", D.Name, D.Reason)
          .str());
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Submits jobs to workers if this machine has no room for them.
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
    Jobs.leaveCode(J);
    J.State = Job::Away;
    return true;
  };
  for (size_t I = 0; I < Jobs.CompileQueue.size();) {
    CodeEntry &Code = *Jobs.CompileQueue[I];
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
    Jobs.CompileQueue.erase(Jobs.CompileQueue.begin() + I);
  }
  for (size_t I = 0; I < Jobs.ReadyQueue.size();) {
    Job *J = Jobs.find(Jobs.ReadyQueue[I]);
    if (J && Stays(*J))
      ++I;
    else if (!J || GoesAway(*J))
      Jobs.ReadyQueue.erase(Jobs.ReadyQueue.begin() + I);
    else
      return;
  }
}

/// Takes results of workers.
void Coordinator::serveOutside() {
  Others->serve();
  for (OutsideResult &R : Others->take()) {
    Job *J = Jobs.find(R.Ticket);
    if (!J)
      continue;
    if (R.Kind == OutsideResult::Done) {
      Jobs.finish(*J, std::move(R.Result));
      continue;
    }
    if (R.Kind == OutsideResult::Declined) {
      J->Stays = true;
      if (!Runners.hasDevice() || !J->Request.Device.empty()) {
        Jobs.fail(*J, FailureKind::WorkerLost, R.Result.Error);
        continue;
      }
    }
    ++F.Stats.Requeued;
    if (R.Kind == OutsideResult::Lost && ++J->Losses > MaxMachines)
      Jobs.fail(*J, FailureKind::WorkerLost,
                "all machines that evaluated it were lost");
    else
      Jobs.takeBack(*J);
  }
}

void Coordinator::dispatch() {
  // Devices are locked before there are jobs, because offer() counts only
  // locked devices.
  Runners.takeLocks();
  Runners.dispatch();
  // Without a device here, other machines compile.
  if (Runners.hasDevice())
    Compilers.dispatch();
  dispatchOutside();
  forEachWorker([](WorkerProcess &W) { W.flush(); });
}

double Coordinator::untilNextTime(double Seconds) const {
  Seconds = Runners.untilNextTime(Compilers.untilNextTime(Seconds));
  return Others ? Others->untilNextTime(Seconds) : Seconds;
}

/// Runs one iteration of the loop, which waits for the first event.
void Coordinator::pump(double Seconds, int Also, bool &AlsoReady) {
  dispatch();
  std::vector<pollfd> Waits;
  forEachWorker([&](WorkerProcess &W) { W.addTo(Waits); });
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
    Compilers.serve(Waits);
    Runners.serve(Waits);
  }
  if (Others)
    serveOutside();
  Compilers.checkTimes();
  Runners.checkTimes();
  dispatch();
}

Expected<std::vector<Evaluation>> Coordinator::wait(double Seconds, int Also) {
  auto Deadline = inSeconds(Seconds);
  bool Stop = false;
  while (true) {
    double Left = std::chrono::duration<double>(
                      Deadline - std::chrono::steady_clock::now())
                      .count();
    bool Waits = Jobs.Finished.empty() && !Stop && Left > 0 &&
                 (!Jobs.empty() || Also >= 0);
    // Handle what has happened already, at least once.
    pump(Waits ? Left : 0, Also, Stop);
    if (Jobs.Finished.empty())
      if (Error E = checkAlive())
        return std::move(E);
    if (!Waits || !Jobs.Finished.empty())
      break;
  }
  return std::exchange(Jobs.Finished, {});
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

FarmDescription Coordinator::describeFarm() const {
  FarmDescription Result;
  Result.Host = F.Host;
  Result.CompileJobs = F.Config.CompileJobs;
  Runners.describe(Result);
  return Result;
}

json::Object Coordinator::describe() const {
  json::Object Result = mneme::describe(describeFarm());
  if (Others)
    Result["workers"] = Others->describe();
  return Result;
}

FarmStatistics Coordinator::statistics() const {
  FarmStatistics S = F.Stats;
  forEachWorker([&](WorkerProcess &W) {
    if (!W.P)
      return;
    S.BytesSent += W.P->channel().sent();
    S.BytesReceived += W.P->channel().received();
  });
  Runners.addTo(S);
  if (Others)
    Others->addTo(S);
  return S;
}
