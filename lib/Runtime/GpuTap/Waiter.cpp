//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Waiter.h"
#include "Selection.h"
#include "Shortage.h"
#include "Threads.h"

#include <cstdio>
#include <sched.h>
#include <unistd.h>

using namespace mneme;

static std::atomic<unsigned> VainWaits{0};

Deadline mneme::deadline() {
  // A program whose work always waits for the recorded launch would otherwise
  // wait for the whole limit at each launch.
  constexpr unsigned Patience = 4;
  constexpr uint64_t Least = 1000000; // Nanoseconds.
  uint64_t Limit = Selection::get().waitLimit();
  if (!Limit)
    return UINT64_MAX;
  if (unsigned N = VainWaits.load(); N > Patience)
    Limit = std::max(Limit >> std::min(N - Patience, 30u),
                     std::min(Limit, Least));
  return Recorder::now() + Limit;
}

void mneme::noteVainWait() { ++VainWaits; }

std::string mneme::tooLong(const char *What) {
  char Text[96];
  snprintf(Text, sizeof(Text), "%s did not end within %g s (--wait-limit)",
           What, double(Selection::get().waitLimit()) * 1e-9);
  std::string Reason = outOfMemory();
  attempt([&] { Reason = Text; });
  return Reason;
}

void mneme::pauseBriefly(unsigned Tries) {
  if (Tries < 100)
    sched_yield();
  else
    usleep(Tries < 1000 ? 50 : 1000);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

Waiter::Failures Waiter::waitForAll(const Contexts &For) const {
  Failures Failed;
  CUcontext Before = nullptr, Current;
  Driver.CtxGetCurrent(&Before);
  Current = Before;
  for (CUcontext C : For) {
    if (Current != C)
      Driver.CtxSetCurrent(C);
    Current = C;
    // Waiting would invalidate a capture.
    int Status = 0;
    CUresult E = Driver.StreamIsCapturing(LegacyStream, &Status);
    if (!E)
      E = Driver.CtxSynchronize();
    if (E)
      Failed.push_back({C, E});
  }
  if (Current != Before)
    Driver.CtxSetCurrent(Before);
  return Failed;
}

void *Waiter::run(void *Self) {
  Waiter &W = *static_cast<Waiter *>(Self);
  std::unique_lock<std::mutex> Guard(W.Lock);
  while (true) {
    W.Asked.wait(Guard, [&] { return W.State == IsAsked; });
    Guard.unlock();
    Failures Failed = W.waitForAll(W.Question);
    Guard.lock();
    W.Answer = Failed;
    W.State = W.IsAbandoned ? None : IsAnswered;
    W.Answered.notify_all();
  }
}

bool Waiter::start() {
  if (!Started)
    Started = !startThread(run, this);
  return Started;
}

bool Waiter::wait(const Contexts &For, Deadline Until, Failures &Failed,
                  bool GiveUp) {
  Uncancelled Here;
  std::unique_lock<std::mutex> Guard(Lock);
  if (Until == UINT64_MAX || !start()) {
    Guard.unlock();
    Failed = waitForAll(For);
    return true;
  }
  // The thread may still work for a caller that has given up.
  auto IsInVain = [&] { return GiveUp && GaveUp && State != None; };
  bool InTime = !IsInVain() && waitUntil(Answered, Guard, Until,
                                         [&] { return State == None; });
  bool HasWaited = InTime || !IsInVain();
  if (InTime) {
    Question = For;
    State = IsAsked;
    IsAbandoned = GaveUp = false;
    Asked.notify_one();
    InTime =
        waitUntil(Answered, Guard, Until, [&] { return State == IsAnswered; });
    IsAbandoned = !InTime;
  }
  if (InTime) {
    Failed = Answer;
    State = None;
    Answered.notify_all();
    return true;
  }
  GaveUp |= GiveUp;
  if (GiveUp && HasWaited)
    noteVainWait();
  return false;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Gate::Thread &Gate::own() {
  // The runtime is preloaded, so the static TLS block has room.
  static thread_local Thread Own
      __attribute__((tls_model("initial-exec"))) = {NumLines, 0, {}};
  static std::atomic<unsigned> Last{0};
  if (Own.Line == NumLines)
    Own.Line = Last.fetch_add(1, std::memory_order_relaxed) % NumLines;
  return Own;
}

bool Gate::isEmpty(Lines Which) const {
  const Thread &Own = own();
  for (unsigned I = 0; I != NumLines; ++I)
    if (Which >> I & 1 && Inside[I].Calls.load() > Own.CallsOf[I])
      return false;
  return true;
}

bool Gate::close(Lines Which, Deadline Until) {
  // The call that was given up before may still be there. It cannot be told
  // from calls that came later, so a short wait has to do.
  constexpr uint64_t Short = 10000000; // Nanoseconds.
  bool IsShort = GaveUp & Which;
  if (IsShort)
    Until = std::min(Until, Recorder::now() + Short);
  GaveUp &= ~Which;
  Closed = Which;
  // Calls are short, except those that wait for the device.
  for (unsigned I = 0; !isEmpty(Which); ++I) {
    if (Recorder::now() >= Until) {
      GaveUp |= Which;
      Closed = 0;
      if (!IsShort)
        noteVainWait();
      return false;
    }
    pauseBriefly(I);
  }
  return true;
}
