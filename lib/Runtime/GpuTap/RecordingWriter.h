//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The thread that writes recordings while the application goes on.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_RECORDINGWRITER_H
#define MNEME_LIB_RUNTIME_GPUTAP_RECORDINGWRITER_H

#include "CopyBuffers.h"
#include "RecordingFiles.h"
#include "RecordingJob.h"
#include "SessionDriver.h"
#include "WriterClock.h"

#include <condition_variable>
#include <list>
#include <mutex>

namespace mneme {

/// Writes jobs in the order in which they were enqueued. Thread-safe, with a
/// lock of its own, which may be taken under the session's; that of CopyBuffers
/// and the recorder's may be taken under it.
class RecordingWriter {
public:
  RecordingWriter(SessionDriver &Driver, CopyBuffers &Buffers,
                  RecordingFiles &Files, WriterClock &Clock, Recorder &Records)
      : Driver(Driver), Buffers(Buffers), Files(Files), Clock(Clock),
        Records(Records) {}

  /// Hands a job over to the thread, or writes it now if there is none. Throws
  /// nothing.
  void enqueue(RecordingJob &J);
  /// Writes a job on the calling thread, gives its buffers back, and counts the
  /// launch. Throws nothing.
  void write(RecordingJob &J, DeviceWork &W);
  /// Waits until everything is written. \returns false when the driver has kept
  /// the thread for longer than --wait-limit. With \p GiveUp, the remaining
  /// jobs are then counted as skipped and never written.
  bool drain(bool GiveUp = false);

private:
  static void *run(void *Self);
  bool start();
  void claim();

  SessionDriver &Driver;
  CopyBuffers &Buffers;
  RecordingFiles &Files;
  WriterClock &Clock;
  Recorder &Records;
  std::mutex Lock;
  std::condition_variable HasJob, HasWritten;
  bool IsStarted = false, IsBusy = false;
  std::list<RecordingJob> Jobs;
  const Kernel *Writing = nullptr; ///< That of the thread's job.
  bool IsLost = false; ///< The thread's job is already counted as skipped.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_RECORDINGWRITER_H
