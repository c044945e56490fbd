//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Durations of an application's launches, by kernel and launch shape.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_LAUNCHPROFILE_H
#define MNEME_LIB_RUNTIME_CORE_LAUNCHPROFILE_H

#include "CudaTypes.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace mneme {

/// Resources of a kernel as launched; zeros where they are unknown.
struct LaunchResources {
  uint32_t Registers = 0;    ///< Per thread.
  uint32_t StaticShared = 0; ///< Bytes per block.
  uint32_t Local = 0;        ///< Bytes per thread.
};

/// Thread-safe. Throws nothing.
class LaunchProfile {
public:
  void add(const char *Kernel, Dim3 Grid, Dim3 Block, uint64_t DynamicShared,
           uint64_t Nanoseconds, const LaunchResources &Resources = {});
  /// Adds a copy, or a write of a pattern, that a GPU has made.
  void addCopy(uint64_t Nanoseconds);
  /// Adds launches whose durations are lost.
  void addLost(uint64_t Launches);

  /// Sends the profile to the launcher, unless it is empty. \param Arch  of the
  /// GPUs, empty for the host.
  void send(const std::string &Arch);

private:
  /// Shapes that are told apart; a shape of zeros stands for a kernel's others.
  static constexpr size_t MaxShapes = 10000;

  struct Row {
    uint64_t Nanoseconds = 0;
    std::map<uint32_t, uint64_t> Buckets; ///< Launches, by duration.
    LaunchResources Resources;
  };

  std::mutex Lock;
  std::map<std::string, std::map<ShapeNumbers, Row>, std::less<>> Kernels;
  size_t NumShapes = 0;
  uint64_t Copies = 0, CopyNanoseconds = 0, Lost = 0;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_LAUNCHPROFILE_H
