//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Waits with a deadline, for the work of devices and for calls of other
/// threads, and the gate that keeps further calls out.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_WAITER_H
#define MNEME_LIB_RUNTIME_GPUTAP_WAITER_H

#include "InterceptedCall.h"
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

/// The time in nanoseconds, by Recorder::now(), at which a wait gives up.
using Deadline = uint64_t;

/// The deadline of a wait that begins now: --wait-limit, or less after several
/// waits that gave up.
Deadline deadline();

/// Counts a wait that gave up at its deadline().
void noteVainWait();

/// Why a launch is not recorded: \p What did not end in time. Throws nothing.
std::string tooLong(const char *What);

/// Pauses between two checks of something that takes microseconds, or for ever:
/// longer with the number of \p Tries.
void pauseBriefly(unsigned Tries);

/// Waits until \p Holds() is true. \returns false if it is not by \p Until.
template <typename Fn>
bool waitUntil(std::condition_variable &Changed,
               std::unique_lock<std::mutex> &Guard, Deadline Until, Fn Holds) {
  while (!Holds()) {
    uint64_t Now = Recorder::now();
    if (Now >= Until)
      return false;
    // A deadline of UINT64_MAX would overflow the clock.
    uint64_t Hour = uint64_t(3600) * 1000000000;
    Changed.wait_for(Guard,
                     std::chrono::nanoseconds(std::min(Until - Now, Hour)));
  }
  return true;
}

/// A list that allocates no memory, so that devices can be waited for when
/// memory is short. Drops elements beyond its capacity.
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
  static constexpr unsigned Capacity = 64; ///< More than a machine's devices.
  T Items[Capacity];
  unsigned Count = 0;
};

/// Waits for all work of devices. The driver's own function has no deadline, so
/// a thread of this class calls it. Thread-safe.
class Waiter {
public:
  using Contexts = ShortList<CUcontext>;
  /// Contexts that cannot be waited for, and their errors.
  using Failures = ShortList<std::pair<CUcontext, CUresult>>;

  explicit Waiter(const CudaDriver &Driver) : Driver(Driver) {}

  /// \returns false if the work is not done by \p Until. With \p GiveUp, other
  /// calls with \p GiveUp then return false at once until it is done.
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
  /// The state of Question, which the thread answers. Its caller waits for the
  /// answer, unless the question IsAbandoned.
  enum { None, IsAsked, IsAnswered } State = None;
  bool IsAbandoned = false;
  Contexts Question;
  Failures Answer;
  bool GaveUp = false; ///< A caller with GiveUp has abandoned Question.
};

/// Lets calls of the application through that may change device memory, or
/// keeps them out. Every launch passes it, so calls under way are counted in
/// several lines, with one cache line each. The caller chooses the line, by
/// thread or by stream. Lines can be closed one by one.
class Gate {
public:
  static constexpr unsigned NumLines = 16;
  using Lines = uint32_t; ///< One bit each.
  static constexpr Lines AllLines = (Lines(1) << NumLines) - 1;

private:
  struct Thread {
    unsigned Line;              ///< Of calls that may take any line.
    unsigned Calls;             ///< Under way, nested calls included.
    uint16_t CallsOf[NumLines]; ///< The same by line.
  };

public:
  /// Whether the calling thread is in a call.
  static bool isInside() { return own().Calls != 0; }

  /// One call, under way for the object's lifetime.
  class Pass {
  public:
    /// \p Closed: passes a closed gate, too.
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

  /// A line that the calling thread shares with few others.
  static unsigned ownLine() { return own().Line; }

  /// Keeps calls out from now on. \returns whether those under way have ended
  /// by \p Until; if not, the gate is open again. The wait is short if an
  /// earlier one for the same lines gave up.
  bool close(Lines Which, Deadline Until);
  void open() { Closed = 0; }

private:
  struct alignas(64) Counter {
    std::atomic<unsigned> Calls{0};
  };
  static Thread &own();
  /// Whether no other thread has a call under way.
  bool isEmpty(Lines Which) const;

  Counter Inside[NumLines];
  std::atomic<Lines> Closed{0};
  Lines GaveUp = 0; ///< Lines whose calls close() has not waited for.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_WAITER_H
