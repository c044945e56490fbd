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
/// that its other threads are in. And what keeps those out meanwhile.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_WAITER_H
#define MNEME_LIB_RUNTIME_GPUTAP_WAITER_H

#include "Recorder.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>

namespace mneme {

/// Nanoseconds of Recorder::now() after which waiting is given up.
using Deadline = uint64_t;

/// Waits for all streams but those that say otherwise.
inline const CUstream LegacyStream = reinterpret_cast<CUstream>(1);

/// When a launch that is to be recorded now has waited long enough: less and
/// less, the more often that was in vain.
Deadline deadline();

/// Somebody has waited in vain until deadline().
void noteVainWait();

/// Why a launch is not recorded: \p What did not end in time. Throws nothing.
std::string tooLong(const char *What);

/// Before the next look at something that takes microseconds, or for ever.
void pauseBriefly(unsigned Tries);

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

/// A few things, without memory of their own: to wait for devices must be
/// possible where there is none.
template <typename T> class ShortList {
public:
  ShortList() = default;
  ShortList(std::initializer_list<T> List) {
    for (const T &V : List)
      push_back(V);
  }
  void push_back(const T &V) {
    if (Count != Capacity)
      Items[Count++] = V;
  }
  const T *begin() const { return Items; }
  const T *end() const { return Items + Count; }
  bool empty() const { return !Count; }
  const T &front() const { return Items[0]; }

private:
  static constexpr unsigned Capacity = 64; ///< Devices of a machine.
  T Items[Capacity];
  unsigned Count = 0;
};

/// Waits for all work of devices. The driver's own function for that does not
/// come back before it is done, so another thread calls it. Thread-safe.
class Waiter {
public:
  using Contexts = ShortList<CUcontext>;
  /// Devices that cannot be waited for, and what they say.
  using Failures = ShortList<std::pair<CUcontext, CUresult>>;

  explicit Waiter(const CudaDriver &Driver) : Driver(Driver) {}

  /// \returns false when \p Until has come first. With \p GiveUp, that ends
  /// other such calls at once, until what was waited for is done.
  bool wait(const Contexts &For, Deadline Until, Failures &Failed,
            bool GiveUp = true);

private:
  static void *run(void *Self);
  bool start();
  Failures waitForAll(const Contexts &For) const;

  const CudaDriver &Driver;
  std::mutex Lock;
  std::condition_variable Asked, Answered;
  bool Started = false;
  /// Of the question that the thread has, from a caller that waits for the
  /// answer unless it has given up.
  enum { None, IsAsked, IsAnswered } State = None;
  bool IsAbandoned = false;
  Contexts Question;
  Failures Answer;
  bool GaveUp = false; ///< Waiting for that.
};

/// Lets calls of the application through, which may change device memory, or
/// keeps them out. Counts those that are under way, in lines: on one cache line
/// each, as this is in the way of every launch. Who calls chooses the line, by
/// thread or by what the call has to do with others: each can be closed alone.
class Gate {
public:
  static constexpr unsigned NumLines = 16;
  using Lines = uint32_t; ///< One bit each.
  static constexpr Lines AllLines = (Lines(1) << NumLines) - 1;

private:
  struct Thread {
    unsigned Line;              ///< That is as good as any.
    unsigned Calls;             ///< That it is in.
    uint16_t CallsOf[NumLines]; ///< By line.
  };

public:
  /// Whether the calling thread is in a call.
  static bool isInside() { return own().Calls != 0; }

  /// One call, which is under way as long as it lives.
  class Pass {
  public:
    /// \p Closed: even so.
    Pass(Gate &G, unsigned Line, bool Closed = false)
        : Own(own()), Line(Line), Inside(G.Inside[Line].Calls) {
      Inside.fetch_add(1);
      // A call within a call is part of it.
      Open = Closed || Own.Calls || !(G.Closed.load() >> Line & 1);
      if (!Open) {
        Inside.fetch_sub(1, std::memory_order_release);
        return;
      }
      ++Own.Calls;
      ++Own.CallsOf[Line];
    }
    Pass(const Pass &) = delete;
    Pass &operator=(const Pass &) = delete;
    ~Pass() {
      if (!Open)
        return;
      --Own.Calls;
      --Own.CallsOf[Line];
      Inside.fetch_sub(1, std::memory_order_release);
    }
    explicit operator bool() const { return Open; }

  private:
    Thread &Own;
    unsigned Line;
    std::atomic<unsigned> &Inside;
    bool Open;
  };

  /// That of the calling thread.
  static unsigned ownLine() { return own().Line; }

  /// Keeps calls out from now on. \returns whether those that were under way
  /// have ended by \p Until; soon, where some were given up before.
  bool close(Lines Which, Deadline Until);
  void open() { Closed = 0; }

private:
  struct alignas(64) Counter {
    std::atomic<unsigned> Calls{0};
  };
  static Thread &own();
  /// But for the calling thread.
  bool isEmpty(Lines Which) const;

  Counter Inside[NumLines];
  std::atomic<Lines> Closed{0};
  Lines GaveUp = 0; ///< Somebody was still inside.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_WAITER_H
