//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingWriter.h"
#include "RelaxedCapture.h"
#include "Shortage.h"
#include "Threads.h"

#include <unistd.h>
#include <utility>

using namespace mneme;

void RecordingWriter::write(RecordingJob &J, DeviceWork &W) {
  std::string Error;
  if (!attempt([&] { Error = Files.store(J, W); }))
    Error = outOfMemory();
  Buffers.giveBack(*J.On, J.Copies);
  Buffers.giveBack(*J.On, J.Gathered);
  Buffers.giveBack(*J.On, J.Textures);
  if (WriterClock::isWriter())
    claim();
  if (Error.empty())
    Records.finish(std::move(J.R));
  else
    Records.abandon(std::move(J.R), Error, J.Again);
}

/// The thread comes back from the driver for the last time with its job. Does
/// not return when drain() has given the job up.
void RecordingWriter::claim() {
  std::unique_lock<std::mutex> Guard(Lock);
  Clock.noteOnHost(true);
  bool IsGivenUp = IsLost;
  Guard.unlock();
  while (IsGivenUp)
    pause();
}

void *RecordingWriter::run(void *Self) {
  RecordingWriter &S = *static_cast<RecordingWriter *>(Self);
  WriterClock::enterWriter();
  // Allocations of this thread must not disturb captures of other threads.
  RelaxedCapture Relaxed(*S.Driver);
  std::unique_lock<std::mutex> Guard(S.Lock);
  while (true) {
    S.HasJob.wait(Guard, [&] { return !S.Jobs.empty(); });
    std::list<RecordingJob> Now;
    Now.splice(Now.begin(), S.Jobs, S.Jobs.begin());
    RecordingJob &J = Now.front();
    S.IsBusy = true;
    S.Writing = J.R->K;
    S.Clock.noteOnHost(false);
    Guard.unlock();

    S.Driver->CtxSetCurrent(J.On->Context);
    S.write(J, *J.On->WriterWork);
    Now.clear();

    Guard.lock();
    S.IsBusy = false;
    S.Buffers.jobsDone(1);
    S.HasWritten.notify_all();
  }
}

/// Starts the thread, with the lock held. \returns whether there is one.
bool RecordingWriter::start() {
  if (!IsStarted)
    IsStarted = !startThread(run, this);
  return IsStarted;
}

void RecordingWriter::enqueue(RecordingJob &J) {
  std::list<RecordingJob> New;
  bool IsTaken = false;
  if (attempt([&] { New.emplace_back(); })) {
    std::lock_guard<std::mutex> Guard(Lock);
    IsTaken = start();
    if (IsTaken) {
      New.front() = std::move(J);
      Jobs.splice(Jobs.end(), New);
      Buffers.addJob();
      HasJob.notify_one();
    }
  }
  if (!IsTaken)
    write(J, *J.On->Work);
}

bool RecordingWriter::drain(bool GiveUp) {
  Uncancelled Here;
  constexpr uint64_t Step = 100000000; // Nanoseconds.
  uint64_t Limit = Selection::get().waitLimit();
  auto IsDone = [&] { return Jobs.empty() && !IsBusy; };
  std::unique_lock<std::mutex> Guard(Lock);
  Clock.restart();
  while (!waitUntil(HasWritten, Guard, Recorder::now() + Step, IsDone)) {
    if (!Clock.isOverdue(Limit))
      continue;
    if (!GiveUp)
      return false;
    IsLost = true;
    std::string Why = tooLong("the device's part in writing it");
    if (IsBusy)
      Records.skip(*Writing, Why);
    for (RecordingJob &J : Jobs)
      Records.abandon(std::move(J.R), Why);
    Buffers.jobsDone(Jobs.size());
    Jobs.clear();
    return false;
  }
  return true;
}
