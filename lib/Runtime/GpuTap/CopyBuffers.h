//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device memory that recording needs for itself: copies of the application's
/// memory, and tables and flags of Mneme's kernels.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_COPYBUFFERS_H
#define MNEME_LIB_RUNTIME_GPUTAP_COPYBUFFERS_H

#include "Gpu.h"
#include "SessionDriver.h"
#include "WriterClock.h"

#include <condition_variable>
#include <mutex>

namespace mneme {

/// Allocates buffers and keeps spare ones for the next recording. Thread-safe,
/// with a lock of its own, under which no other lock is taken. It is released
/// while memory is freed: that waits for all streams of the device, which may
/// wait for the application.
class CopyBuffers {
public:
  CopyBuffers(SessionDriver &Driver, WriterClock &Clock, bool WaitsForAll)
      : Driver(Driver), Clock(Clock), WaitsForAll(WaitsForAll) {}

  enum class Room {
    Found,
    None,   ///< The device has no room.
    TooLate ///< The driver has kept the writer until the deadline().
  };
  /// Finds or allocates a buffer of at least \p Size bytes; waits for jobs to
  /// give theirs back while there are jobs. \p Scratch: a small buffer, without
  /// which nothing can be recorded, may come from the last free memory.
  /// May throw, with nothing acquired. \p G.Context must be current.
  Room acquire(Gpu &G, uint64_t Size, Buffer &B, bool Scratch = false);
  /// Why a launch without a buffer is not recorded. May throw.
  static std::string explain(Room R);
  /// Takes a buffer back, if \p B has one, and clears \p B. \p Keep: keeps it
  /// spare in any case, as a kernel that may not end still runs.
  void giveBack(Gpu &G, Buffer &B, bool Keep = false);
  /// Frees memory of the runtime later: keeps it as a spare buffer of \p G.
  /// Without a device it is freed now.
  void freeLater(Gpu *G, CUdeviceptr P);
  /// Frees all spare buffers. \returns whether there were any.
  bool release(Gpu &G);
  /// Whether \p G has spare buffers, or jobs may give some back.
  bool hasAny(const Gpu &G);

  /// A recording with buffers waits to be written; jobsDone() ends that.
  void addJob();
  void jobsDone(size_t Count);

private:
  bool canFree(const Gpu &G);

  SessionDriver &Driver;
  WriterClock &Clock;
  const bool WaitsForAll;
  /// Guards this object's data, and Spare and NumBuffers of all devices.
  std::mutex Lock;
  std::condition_variable HasRoom;
  size_t NumJobs = 0;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_COPYBUFFERS_H
