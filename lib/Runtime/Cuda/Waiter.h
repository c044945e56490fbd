//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Waiting that ends, whatever the application does: for devices, and for calls
/// that its other threads are in.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDA_WAITER_H
#define MNEME_LIB_RUNTIME_CUDA_WAITER_H

#include "CudaDriver.h"
#include "Recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace mneme {

/// Nanoseconds of Recorder::now() after which waiting is given up.
using Deadline = uint64_t;

/// When a launch that is to be recorded now has waited long enough.
Deadline deadline();

/// Waits for a condition. \returns whether it holds at \p Until, if not before.
template <typename Fn>
bool waitUntil(std::condition_variable &Changed,
               std::unique_lock<std::mutex> &Guard, Deadline Until, Fn Holds) {
  while (!Holds()) {
    uint64_t Now = Recorder::now();
    if (Now >= Until)
      return false;
    // An hour is as long as the clock can tell on every machine.
    uint64_t Hour = uint64_t(3600) * 1000000000;
    Changed.wait_for(Guard,
                     std::chrono::nanoseconds(std::min(Until - Now, Hour)));
  }
  return true;
}

/// Waits for all work of devices. The driver's own function for that does not
/// come back before it is done, so another thread calls it.
class Waiter {
public:
  explicit Waiter(const CudaDriver &Driver) : Driver(Driver) {}

  /// \returns what the devices say, or CUDA_ERROR_NOT_READY when \p Until has
  /// come first: at once, while what was given up then is not done, by calls
  /// with \p GiveUp. \p Failed gets the context that an error is of.
  CUresult wait(const std::vector<CUcontext> &Contexts, Deadline Until,
                CUcontext &Failed, bool GiveUp = true);

private:
  static void *run(void *Self);
  bool start();
  CUresult waitForAll(const std::vector<CUcontext> &Contexts,
                      CUcontext &Failed) const;

  const CudaDriver &Driver;
  std::mutex Lock;
  std::condition_variable Asked, Answered;
  bool Started = false;
  bool Busy = false;
  bool GaveUp = false; ///< Waiting for what it is busy with.
  std::vector<CUcontext> Of;
  CUresult Result = CUDA_SUCCESS;
  CUcontext FailedOne = nullptr;
};

/// Lets calls of the application through, which may change device memory, or
/// keeps them out. Counts those that are under way: on several cache lines, as
/// this is in the way of every launch.
class Gate {
  struct Thread {
    unsigned Line;
    unsigned Calls; ///< That it is in.
  };

public:
  /// One call, which is under way as long as it lives.
  class Pass {
  public:
    /// \p Closed: even so.
    explicit Pass(Gate &G, bool Closed = false)
        : Own(own()), Inside(G.Inside[Own.Line].Calls) {
      Inside.fetch_add(1);
      // A call within a call is part of it.
      Open = Closed || Own.Calls || !G.Closed.load();
      if (Open)
        ++Own.Calls;
      else
        Inside.fetch_sub(1, std::memory_order_release);
    }
    Pass(const Pass &) = delete;
    Pass &operator=(const Pass &) = delete;
    ~Pass() {
      if (!Open)
        return;
      --Own.Calls;
      Inside.fetch_sub(1, std::memory_order_release);
    }
    explicit operator bool() const { return Open; }

  private:
    Thread &Own;
    std::atomic<unsigned> &Inside;
    bool Open;
  };

  /// Keeps calls out from now on. \returns whether those that were under way
  /// have ended by \p Until; soon, where some were given up before.
  bool close(Deadline Until);
  void open() { Closed = false; }

private:
  static constexpr unsigned NumLines = 16;
  struct alignas(64) Counter {
    std::atomic<unsigned> Calls{0};
  };
  static Thread &own();
  /// But for the calling thread.
  bool isEmpty() const;

  Counter Inside[NumLines];
  std::atomic<bool> Closed{false};
  bool GaveUp = false; ///< Somebody was still inside.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDA_WAITER_H
