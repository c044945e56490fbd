//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides which launches of selected kernels are recorded.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_SELECTEDLAUNCHES_H
#define MNEME_LIB_RUNTIME_GPUTAP_SELECTEDLAUNCHES_H

#include "Captures.h"
#include "Devices.h"
#include "ForeignMemory.h"
#include "KernelTargets.h"
#include "Launch.h"
#include "LaunchMemory.h"
#include "LaunchRecorder.h"
#include "Recorder.h"
#include "SessionDriver.h"

#include <string>

namespace mneme {

/// With the session's lock held. In all functions, \p First is the target of
/// the launch on the first device.
class SelectedLaunches {
public:
  SelectedLaunches(SessionDriver &Driver, Devices &Devs, Captures &Captured,
                   KernelTargets &Targets, ForeignMemory &Foreign,
                   LaunchMemory &Memory, LaunchRecorder &Launches,
                   Recorder &Records)
      : Driver(Driver), Devs(Devs), Captured(Captured), Targets(Targets),
        Foreign(Foreign), Memory(Memory), Launches(Launches), Records(Records) {
  }

  /// Counts a launch, and makes and records it if it is wanted. \returns false
  /// when the launch was not made; else \p Result is the launch's. Throws
  /// nothing.
  bool launch(Target &First, const Launch &L, OriginalCall Original,
              int &Result);
  /// Counts a launch that has an obstacle. Throws nothing.
  void count(Target &First, const Launch &L);
  /// Whether a launch of the kernel may be recorded now. Counts nothing. May
  /// throw.
  bool mayRecord(Target &First, const Launch &L);
  /// The target of a launch on its device, loaded. May throw.
  Target &load(Target &First, const Launch &L);

private:
  struct Choice {
    Gpu *On;
    Target *Goal;
    LaunchId Id;
  };

  bool choose(Target &First, const Launch &L, Choice &C);
  std::string findObstacle(const Target &T, const Launch &L,
                           const Gpu *G) const;

  SessionDriver &Driver;
  Devices &Devs;
  Captures &Captured;
  KernelTargets &Targets;
  ForeignMemory &Foreign;
  LaunchMemory &Memory;
  LaunchRecorder &Launches;
  Recorder &Records;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_SELECTEDLAUNCHES_H
