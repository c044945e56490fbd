//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Waiter.h"
#include "Selection.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

using namespace mneme;

Deadline mneme::deadline() {
  uint64_t Limit = Selection::get().waitLimit();
  return Limit ? Recorder::now() + Limit : UINT64_MAX;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

CUresult Waiter::waitForAll(const std::vector<CUcontext> &Contexts,
                            CUcontext &Failed) const {
  CUcontext Before = nullptr, Current;
  Driver.CtxGetCurrent(&Before);
  Current = Before;
  CUresult E = CUDA_SUCCESS;
  for (CUcontext C : Contexts) {
    if (Current != C)
      Driver.CtxSetCurrent(C);
    Current = C;
    E = Driver.CtxSynchronize();
    if (E) {
      Failed = C;
      break;
    }
  }
  if (Current != Before)
    Driver.CtxSetCurrent(Before);
  return E;
}

void *Waiter::run(void *Self) {
  Waiter &W = *static_cast<Waiter *>(Self);
  std::unique_lock<std::mutex> Guard(W.Lock);
  while (true) {
    W.Asked.wait(Guard, [&] { return W.Busy; });
    std::vector<CUcontext> Contexts = W.Of;
    Guard.unlock();
    CUcontext Failed = nullptr;
    CUresult E = W.waitForAll(Contexts, Failed);
    Guard.lock();
    W.Result = E;
    W.FailedOne = Failed;
    W.Busy = false;
    W.Answered.notify_all();
  }
}

bool Waiter::start() {
  if (Started)
    return true;
  // The application's signal handlers do not belong on our thread.
  sigset_t All, Old;
  sigfillset(&All);
  pthread_sigmask(SIG_SETMASK, &All, &Old);
  pthread_t Thread;
  Started = !pthread_create(&Thread, nullptr, run, this);
  pthread_sigmask(SIG_SETMASK, &Old, nullptr);
  if (Started)
    pthread_detach(Thread);
  return Started;
}

CUresult Waiter::wait(const std::vector<CUcontext> &Contexts, Deadline Until,
                      CUcontext &Failed, bool GiveUp) {
  std::unique_lock<std::mutex> Guard(Lock);
  if (Until == UINT64_MAX || !start()) {
    Guard.unlock();
    return waitForAll(Contexts, Failed);
  }
  auto IsDone = [&] { return !Busy; };
  auto Wait = [&] {
    if (!(Busy && GaveUp) && waitUntil(Answered, Guard, Until, IsDone))
      return true;
    GaveUp |= GiveUp;
    return false;
  };
  // Somebody may have asked before, and not waited for the answer.
  if (!Wait())
    return CUDA_ERROR_NOT_READY;
  Of = Contexts;
  Busy = true;
  GaveUp = false;
  Asked.notify_one();
  if (!Wait())
    return CUDA_ERROR_NOT_READY;
  Failed = FailedOne;
  return Result;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Gate::Thread &Gate::own() {
  // The runtime is preloaded, so there is room in the static block.
  static thread_local Thread Own
      __attribute__((tls_model("initial-exec"))) = {NumLines, 0};
  static std::atomic<unsigned> Last{0};
  if (Own.Line == NumLines)
    Own.Line = Last.fetch_add(1, std::memory_order_relaxed) % NumLines;
  return Own;
}

bool Gate::isEmpty() const {
  unsigned Calls = 0;
  for (const Counter &C : Inside)
    Calls += C.Calls.load();
  return Calls <= own().Calls;
}

bool Gate::close(Deadline Until) {
  // What was given up may still be there. While the gate is open, calls that
  // come and go look the same.
  constexpr uint64_t Short = 10000000; // Nanoseconds.
  if (GaveUp)
    Until = std::min(Until, Recorder::now() + Short);
  GaveUp = false;
  Closed = true;
  // Calls are short, but for those that wait for the device.
  for (unsigned I = 0; !isEmpty(); ++I) {
    if (Recorder::now() >= Until) {
      GaveUp = true;
      Closed = false;
      return false;
    }
    if (I < 100)
      sched_yield();
    else
      usleep(I < 1000 ? 50 : 1000);
  }
  return true;
}
