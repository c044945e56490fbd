//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Records one launch: copies memory on the device, launches, and finds the
/// memory that the launch has changed.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_LAUNCHRECORDER_H
#define MNEME_LIB_RUNTIME_GPUTAP_LAUNCHRECORDER_H

#include "CopyBuffers.h"
#include "Devices.h"
#include "KernelTargets.h"
#include "Launch.h"
#include "LaunchMemory.h"
#include "LaunchWaits.h"
#include "Recorder.h"
#include "RecordingFiles.h"
#include "RecordingJob.h"
#include "RecordingWriter.h"
#include "SessionDriver.h"
#include "TapState.h"
#include "TappedMemory.h"
#include "TappedTextures.h"

#include <string>
#include <string_view>

namespace mneme {

/// Needs the session's lock, and closes the gate: meanwhile no memory is
/// allocated or freed, and no call gets through that could disturb the launch.
class LaunchRecorder {
public:
  LaunchRecorder(TapState &State, SessionDriver &Driver, Devices &Devs,
                 CopyBuffers &Buffers, TappedMemory &Memory,
                 TappedTextures &Textures, LaunchMemory &Located,
                 LaunchWaits &Waits, RecordingFiles &Files,
                 RecordingWriter &Writer, Recorder &Records)
      : State(State), Driver(Driver), Devs(Devs), Buffers(Buffers),
        Memory(Memory), Textures(Textures), Located(Located), Waits(Waits),
        Files(Files), Writer(Writer), Records(Records) {}

  /// Makes a launch and records it. \returns false when the launch was not
  /// made, and was counted as skipped; else \p Result is the launch's. Throws
  /// nothing.
  bool record(Gpu &G, Target &T, const Launch &L, const LaunchId &Id,
              OriginalCall Original, int &Result);

private:
  // These two return what record() returns.
  bool recordOnDevice(RecordingJob &J, OriginalCall Original, int &Result);
  bool recordThroughHost(RecordingJob &J, OriginalCall Original, int &Result);
  std::string copyMemory(RecordingJob &J, bool &HasCopies);
  bool run(RecordingJob &J, OriginalCall Original, int &Result);
  std::string gather(RecordingJob &J);
  void abandon(RecordingJob &J, std::string_view Reason, bool Keep = false);

  TapState &State;
  SessionDriver &Driver;
  Devices &Devs;
  CopyBuffers &Buffers;
  TappedMemory &Memory;
  TappedTextures &Textures;
  LaunchMemory &Located;
  LaunchWaits &Waits;
  RecordingFiles &Files;
  RecordingWriter &Writer;
  Recorder &Records;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_LAUNCHRECORDER_H
