//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Brings the memory of a recorded launch from the device into the recording's
/// files.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_RECORDINGFILES_H
#define MNEME_LIB_RUNTIME_GPUTAP_RECORDINGFILES_H

#include "CopyBuffers.h"
#include "RecordingJob.h"
#include "TapState.h"
#include "WriterClock.h"

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace mneme {

/// Functions that store return an empty string, or why the launch cannot be
/// recorded, and may throw. Their job belongs to the calling thread: no lock is
/// needed, except one of its own for the pinned memory of later recordings.
class RecordingFiles {
public:
  RecordingFiles(const TapState &State, CopyBuffers &Buffers,
                 WriterClock &Clock)
      : State(State), Buffers(Buffers), Clock(Clock) {}

  /// Stores a launch that is done from its copies and changed pages.
  std::string store(RecordingJob &J, DeviceWork &W);
  /// For a job without copies: stores live memory before the launch.
  std::string storeBefore(RecordingJob &J);
  /// For a job without copies: stores live memory that differs from the
  /// prologue.
  std::string storeAfter(RecordingJob &J);

  /// Adds the addresses of pinned memory that recorded memory was seen to point
  /// to.
  void addPointedTo(std::set<uint64_t> &Addresses);

private:
  bool addPointedTo(RecordingJob &J, const std::set<size_t> &Found);
  std::string storePrologue(RecordingJob &J,
                            std::vector<DeviceWork::Piece> &Pages,
                            DeviceWork &W);
  std::string leaveOutUnreached(RecordingJob &J,
                                std::vector<DeviceWork::Piece> &Pages,
                                DeviceWork &W);

  const TapState &State;
  CopyBuffers &Buffers;
  WriterClock &Clock;
  std::mutex Lock;
  std::set<uint64_t> PointedTo; ///< As addPointedTo().
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_RECORDINGFILES_H
