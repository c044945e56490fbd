//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerProcess.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

#define DEBUG_TYPE "mneme-farm"

/// The coordinator's limit is later than the process's own, because the
/// process's error message is better.
static constexpr double GraceSeconds = 2;

/// Time limit for a killed process to exit. A driver may wait for a kernel that
/// never ends.
static constexpr double ExitSeconds = 2;

/// Interval in seconds between checks whether an ending process has exited.
static constexpr double ReapSeconds = 0.001;

void WorkerProcess::setStage(StringRef NewStage, double NewLimit) {
  LLVM_DEBUG(dbgs() << "worker " << this << ": " << NewStage << '\n');
  Stage = NewStage.str();
  Limit = NewLimit;
  Deadline.reset();
  if (Limit > 0)
    Deadline = inSeconds(Limit + GraceSeconds);
  Starved = StarvationClock(P ? P->pid() : 0, Limit);
}

void WorkerProcess::expectEnd() {
  if (Ending)
    return;
  Ending = inSeconds(ExitSeconds);
  Deadline.reset();
}

void WorkerProcess::kill() {
  LLVM_DEBUG(dbgs() << "worker " << this << ": killed: " << Complaint << '\n');
  P->kill();
  expectEnd();
}

void WorkerProcess::checkDeadline(Time Now) {
  if (!P || !Deadline || Now < *Deadline || Ending)
    return;
  if (double More = Starved.take()) {
    Deadline = inSeconds(More);
    return;
  }
  TimedOut = true;
  kill();
}

bool WorkerProcess::isGone(Time Now) {
  if (!P || !Ending)
    return false;
  if (P->reap())
    return true;
  if (Now < *Ending)
    return false;
  P->kill(); // it closed its connection, but still runs
  return true;
}

double WorkerProcess::untilNextTime(double Seconds, Time Now) const {
  if (!P)
    return Seconds;
  if (Ending)
    return std::min(Seconds, ReapSeconds);
  if (!Deadline)
    return Seconds;
  double Left = std::chrono::duration<double>(*Deadline - Now).count();
  return std::min(Seconds, std::max(0.0, Left));
}

void WorkerProcess::addTo(std::vector<pollfd> &Waits) {
  PollIndex.reset();
  if (!isAlive())
    return;
  short Events = POLLIN;
  if (P->channel().hasQueued())
    Events |= POLLOUT;
  PollIndex = Waits.size();
  Waits.push_back({P->channel().in(), Events, 0});
  Waits.push_back({P->messages(), POLLIN, 0});
}

short WorkerProcess::takeEvents(ArrayRef<pollfd> Waits) {
  if (!PollIndex)
    return 0;
  if (Waits[*PollIndex + 1].revents)
    P->readMessages();
  return Waits[*PollIndex].revents;
}

void WorkerProcess::flush() {
  if (isAlive())
    P->channel().flush();
}

std::string WorkerProcess::describeEnd(StringRef Nothing) const {
  StringRef Work = Stage.empty() ? Nothing : StringRef(Stage);
  if (TimedOut)
    return formatv("{0} did not end within {1} s", Work, printSeconds(Limit))
        .str();
  if (!Shortage.empty())
    return Shortage;
  if (!Fatal.empty())
    return Fatal;
  if (!Complaint.empty())
    return formatv("{0} broke the farm's protocol: {1}", Work, Complaint);
  return (Work + " " + P->describeEnd()).str();
}
