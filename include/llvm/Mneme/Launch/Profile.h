//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where an application's device time goes, by kernel and launch shape, and
/// which launches make up a given part of it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LAUNCH_PROFILE_H
#define LLVM_MNEME_LAUNCH_PROFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
namespace mneme {

/// Grid, block, and bytes of dynamic shared memory.
struct ProfiledShape {
  Dim3 Grid, Block;
  uint64_t DynamicShared = 0;
  /// A grid of zeros stands for all shapes beyond those that a process tells
  /// apart.
  bool isRest() const { return !Grid.X; }
  auto key() const {
    return std::tuple(Grid.X, Grid.Y, Grid.Z, Block.X, Block.Y, Block.Z,
                      DynamicShared);
  }
  bool operator<(const ProfiledShape &O) const { return key() < O.key(); }
};

/// The launches of a kernel that have one shape.
struct ProfiledLaunches {
  uint64_t Launches = 0;
  uint64_t Nanoseconds = 0; ///< Of all launches.
  /// Nanoseconds that the fastest launch, a quarter, a half, three quarters and
  /// all of the launches take at most; wrong by less than 1 %.
  double Quantiles[5] = {};
  /// Launches by duration (Runtime/TimeBuckets.h). Not in files.
  std::map<uint32_t, uint64_t> Buckets;
  // Zeros if unknown, as on the host device.
  uint32_t Registers = 0;    ///< Per thread.
  uint32_t StaticShared = 0; ///< Bytes per block.
  uint32_t Local = 0;        ///< Bytes per thread.

  /// Adds launches of the same kernel, but does not summarize.
  void add(const ProfiledLaunches &Other);
  /// Sets Quantiles and Launches from Buckets.
  void summarize();
};

struct ProfiledKernel {
  std::string Symbol;
  std::map<ProfiledShape, ProfiledLaunches> Shapes;

  uint64_t launches() const;
  uint64_t nanoseconds() const;
};

/// The profile by which the launches of a recording were chosen, in its folder.
constexpr StringLiteral RecordedProfile = "mneme-profile.json";

struct Profile {
  std::string Arch;                    ///< "sm_90"; empty for the host device.
  std::vector<ProfiledKernel> Kernels; ///< The most expensive first.
  uint64_t Copies = 0, CopyNanoseconds = 0; ///< Made by a GPU.
  uint64_t Lost = 0; ///< Launches whose duration is not known.

  uint64_t nanoseconds() const; ///< Of all kernels.
  /// Adds the profile of another process.
  void add(const Profile &Other);
  /// Sorts Kernels and summarizes launches, once all are added.
  void finish();

  /// Returns the launches to record: of the kernels that \p Selects accepts,
  /// the most expensive ones that together take at least \p Part of their time,
  /// and of each, at most \p MaxShapes shapes, the most expensive ones. In the
  /// form of MNEME_ENV_SHAPES.
  std::string cover(double Part, uint64_t MaxShapes,
                    function_ref<bool(StringRef Symbol)> Selects) const;

  /// Returns for how many nanoseconds of its kernel each recorded launch
  /// stands, by dynamic hash: they add up to the time of all launches. Empty if
  /// the profile does not have the kernel.
  StringMap<double> timesOf(const RecordedKernel &K) const;
};

json::Value toJSON(const Profile &P);
/// Reads what toJSON() wrote, but of launches only their number and time.
/// \p Text receives the file.
Expected<Profile> readProfile(StringRef File, std::string *Text = nullptr);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LAUNCH_PROFILE_H
