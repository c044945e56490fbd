//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bound of a launch: a time that no code which moves the same bytes can
/// undercut on a device, and what limits the recorded code (docs/Bound).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_BOUND_H
#define LLVM_MNEME_REPLAY_BOUND_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Replay/Measure.h"
#include "llvm/Mneme/Transforms/Count.h"

namespace llvm {
namespace mneme {
class Device;
struct ReplayOptions;

/// When the bound is determined.
enum class BoundMode {
  Auto, ///< On a GPU, or with given peaks; no time is refused.
  On,   ///< Also refuse times below it.
  Off,
};

/// Bytes of a sector. No GPU moves less between its memory, its last-level
/// cache and a multiprocessor, and no CPU less than two of them.
inline constexpr uint64_t SectorBytes = 32;

/// The work of one launch.
struct LaunchWork {
  /// Bytes of the sectors with a byte that the launch reads before it writes
  /// it, and of those with a byte that it writes.
  uint64_t ReadBytes = 0, WrittenBytes = 0;
  /// The work that the code does; other code may do less. Unset: not counted.
  std::optional<WorkCounts> Computed;
};

json::Value toJSON(const LaunchWork &W);
bool fromJSON(const json::Value &V, LaunchWork &W, json::Path P);

/// The highest rates of a device. 0: unknown.
struct DevicePeaks {
  std::string Device; ///< Name of the GPU or the CPU.
  std::string Driver; ///< Its version; empty on the host.
  unsigned ClockMHz = 0;
  bool IsHost = false;        ///< The CPU's, under the names of a GPU's units.
  bool IsMeasured = false;    ///< On the device that is used, by Mneme.
  uint64_t CacheBytes = 0;    ///< All caches that a launch may find warm.
  double DRAM = 0, Cache = 0; ///< Bytes per nanosecond.
  double LaunchNanoseconds = 0; ///< Of an empty kernel.
  /// Per nanosecond, indexed by WorkKind.
  std::array<double, NumWorkKinds> Work = {};
  std::string File; ///< Where the peaks are kept, for messages.
};

json::Value toJSON(const DevicePeaks &P);
bool fromJSON(const json::Value &V, DevicePeaks &P, json::Path Path);

/// A resource that a launch uses, and the time in which it could be used as
/// much at its peak.
struct BoundTerm {
  StringRef Name; ///< "DRAM", "L2", or a kind of work: "FP32".
  double Nanoseconds;
};

/// The work of a launch on a device.
struct LaunchBound {
  LaunchWork Work;
  DevicePeaks Peaks;

  /// Returns the nanoseconds that moving the bytes takes at least, if the
  /// launch finds and leaves the caches in the state \p Cache.
  double nanoseconds(CacheMode Cache) const;
  /// Returns the time of each resource, the bytes first.
  std::vector<BoundTerm> terms(CacheMode Cache) const;
  /// Returns the resource that limits a launch of \p Nanoseconds; "launch" or
  /// "latency" if none is used much.
  StringRef limiter(CacheMode Cache, double Nanoseconds) const;
  /// Returns true if a launch of \p Nanoseconds is faster than the bound, by
  /// more than peaks are uncertain.
  bool isUndercut(CacheMode Cache, double Nanoseconds) const;
};

json::Value toJSON(const LaunchBound &B);
bool fromJSON(const json::Value &V, LaunchBound &B, json::Path P);

/// Returns "4194304 B read and 4194304 B written, DRAM at 4.21 TB/s".
std::string describeBound(const LaunchBound &B, CacheMode Cache);

/// Returns why a launch of \p Nanoseconds cannot be right.
std::string describeUndercut(const LaunchBound &B, CacheMode Cache,
                             double Nanoseconds);

/// Returns the peaks in ReplayOptions::Peaks or, without that file, those of
/// \p D: from the cache folder, or measured, in about two seconds.
/// \param Report  called before each step.
Expected<DevicePeaks> findPeaks(Device &D, const ReplayOptions &O,
                                function_ref<void()> Report);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_BOUND_H
