//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A thread per stream. Nothing is joined or destroyed at the end of the
/// process: an endless kernel holds its thread.
///
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include <chrono>
#include <deque>
#include <pthread.h>
#include <signal.h>

using namespace emulated;

struct Queue::State {
  explicit State(std::atomic<CUresult> &Failure) : Failure(Failure) {}

  struct Item {
    std::function<CUresult()> Work;
    bool Always;
  };

  std::mutex Lock;
  std::condition_variable More, Idle;
  std::deque<Item> Work;
  bool Busy = false;
  std::atomic<CUresult> &Failure;
};

Queue::Queue(std::atomic<CUresult> &Failure)
    : S(std::make_shared<State>(Failure)) {
  // The application's signals are not for this thread.
  sigset_t All, Old;
  sigfillset(&All);
  pthread_sigmask(SIG_SETMASK, &All, &Old);
  // The thread waits for more work to the end of the process.
  auto *Shared = new std::shared_ptr<State>(S);
  pthread_t Thread;
  if (pthread_create(
          &Thread, nullptr,
          [](void *S) -> void * {
            run(**static_cast<std::shared_ptr<State> *>(S));
            return nullptr;
          },
          Shared))
    endWithoutMemory();
  pthread_detach(Thread);
  pthread_sigmask(SIG_SETMASK, &Old, nullptr);
}

void Queue::run(State &S) {
  std::unique_lock<std::mutex> Guard(S.Lock);
  for (;;) {
    S.More.wait(Guard, [&] { return !S.Work.empty(); });
    {
      State::Item Next = std::move(S.Work.front());
      S.Work.pop_front();
      S.Busy = true;
      Guard.unlock();
      if (Next.Always || S.Failure == CUDA_SUCCESS)
        if (CUresult R = Next.Work())
          S.Failure = R;
    }
    Guard.lock();
    S.Busy = false;
    if (S.Work.empty())
      S.Idle.notify_all();
  }
}

void Queue::enqueue(std::function<CUresult()> Work, bool Always) {
  if (Take)
    return Take(std::move(Work));
  std::lock_guard<std::mutex> Guard(S->Lock);
  S->Work.push_back({std::move(Work), Always});
  S->More.notify_one();
}

bool Queue::isIdle() {
  if (Take)
    return true;
  std::lock_guard<std::mutex> Guard(S->Lock);
  return S->Work.empty() && !S->Busy;
}

void Queue::wait() {
  if (Take)
    return;
  std::unique_lock<std::mutex> Guard(S->Lock);
  S->Idle.wait(Guard, [&] { return S->Work.empty() && !S->Busy; });
}

void Mark::reach() {
  std::lock_guard<std::mutex> Guard(Lock);
  Nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count();
  Done = true;
  Reached.notify_all();
}

void Mark::wait() {
  std::unique_lock<std::mutex> Guard(Lock);
  Reached.wait(Guard, [&] { return Done; });
}

bool Mark::isDone() {
  std::lock_guard<std::mutex> Guard(Lock);
  return Done;
}
