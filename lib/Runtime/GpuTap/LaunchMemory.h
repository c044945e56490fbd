//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memory that a launch may use, and whether it can be recorded.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_LAUNCHMEMORY_H
#define MNEME_LIB_RUNTIME_GPUTAP_LAUNCHMEMORY_H

#include "Devices.h"
#include "DriverImages.h"
#include "ForeignMemory.h"
#include "KernelTargets.h"
#include "Launch.h"
#include "RecordingFiles.h"
#include "RecordingJob.h"
#include "SessionDriver.h"
#include "TappedTextures.h"

#include <set>
#include <string>
#include <vector>

namespace mneme {

/// Locates the memory of launches. With the session's lock held.
class LaunchMemory {
public:
  LaunchMemory(SessionDriver &Driver, Devices &Devs, ForeignMemory &Foreign,
               TappedTextures &Textures, DriverImages &Images,
               RecordingFiles &Files)
      : Driver(Driver), Devs(Devs), Foreign(Foreign), Textures(Textures),
        Images(Images), Files(Files) {}

  /// \returns an empty string, or why an argument of \p L keeps it from being
  /// recorded. May throw.
  std::string findObstacle(const Target &T, const Launch &L,
                           const Gpu &G) const;
  /// Fills in \p J.Parts, \p J.Unrecorded, the textures of \p J and \p Regions,
  /// which need not be sorted. \returns an empty string, or why the launch
  /// cannot be recorded. May throw.
  std::string locate(const Target &T, const Launch &L, RecordingJob &J,
                     std::vector<Recording::Region> &Regions);

private:
  std::set<uint64_t> chooseTentative(const Gpu &G,
                                     const std::set<uint64_t> &Named) const;
  std::string locateVariables(const Target &T, const Launch &L, RecordingJob &J,
                              std::vector<Recording::Region> &Regions) const;

  SessionDriver &Driver;
  Devices &Devs;
  ForeignMemory &Foreign;
  TappedTextures &Textures;
  DriverImages &Images;
  RecordingFiles &Files;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_LAUNCHMEMORY_H
