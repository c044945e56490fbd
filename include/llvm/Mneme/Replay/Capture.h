//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Captures the memory that a launch leaves, for comparison with a launch other
/// than the recorded one.
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_CAPTURE_H
#define LLVM_MNEME_REPLAY_CAPTURE_H

#include "llvm/Mneme/Record/NewRecording.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// A replay and the memory that it changed.
struct CapturedReplay {
  /// Its verdict is relative to the outcome that the plan expects.
  ReplayResult Result;
  /// The memory that the last launch changed, sorted, as in a NewRecording.
  /// Empty if no launch completed.
  std::vector<MemoryRange> Changed;
  /// Sorted addresses of the 4096-byte pages that the launches accessed. Empty
  /// unless traced.
  std::vector<uint64_t> Touched;
};

/// Replays like runIsolatedReplay(). Launches of the application's own code,
/// for poison or an envelope, count, too, unless the plan's options turn them
/// off.
/// \param Trace  record the accessed pages; an error except on the host device.
Expected<CapturedReplay> captureReplay(const ReplayPlan &Plan,
                                       bool Trace = false);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_CAPTURE_H
