//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The lock and the flags that all parts of a recording session share.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_TAPSTATE_H
#define MNEME_LIB_RUNTIME_GPUTAP_TAPSTATE_H

#include "Selection.h"
#include "StreamGate.h"

#include <atomic>
#include <mutex>

namespace mneme {

struct TapState {
  /// Guards all data of the parts, except where a part has a lock of its own.
  /// Held while a launch is recorded: meanwhile no memory is allocated or freed
  /// and no capture begins. Taken before any lock of a part.
  std::mutex Lock;
  /// Nothing more is recorded, and no memory comes from an arena.
  std::atomic<bool> Off{!Selection::get().includesRank()};
  /// Set in a forked child. Another thread may have held a lock at the fork, so
  /// the child takes none.
  inline static std::atomic<bool> Forked{false};
  /// With --wait=device a recorded launch has all devices to itself. Otherwise
  /// only the work of its own stream is waited for and kept out.
  const bool WaitsForAll = Selection::get().waitFor() == WaitFor::Device;
  /// Closed while a launch is recorded.
  StreamGate Calls{WaitsForAll};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_TAPSTATE_H
