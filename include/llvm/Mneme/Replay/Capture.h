//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a launch leaves in memory, for whoever has to compare it with another
/// launch rather than with the recorded one.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_CAPTURE_H
#define LLVM_MNEME_REPLAY_CAPTURE_H

#include "llvm/Mneme/Record/NewRecording.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

struct CapturedReplay {
  /// Its verdict speaks of what the plan expects.
  ReplayResult Result;
  /// Where the last launch changed memory: sorted, as a NewRecording's. Empty
  /// when no launch came to its end.
  std::vector<MemoryRange> Changed;
  /// Addresses of the pages (of 4096 bytes) that the launches accessed, sorted.
  /// Only where it was asked for.
  std::vector<uint64_t> Touched;
};

/// Replays as runIsolatedReplay() does.
/// \param Trace  find out what is accessed: on the host device, else an error.
Expected<CapturedReplay> captureReplay(const ReplayPlan &Plan,
                                       bool Trace = false);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_CAPTURE_H
