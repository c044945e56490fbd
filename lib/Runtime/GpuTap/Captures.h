//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The captures of streams into graphs that are under way. Meanwhile waiting
/// for the device is forbidden, so nothing is recorded or freed.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_CAPTURES_H
#define MNEME_LIB_RUNTIME_GPUTAP_CAPTURES_H

#include "SessionDriver.h"
#include "TapState.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace mneme {

/// Thread-safe, with a lock of its own, which may be taken under the session's.
class Captures {
public:
  Captures(TapState &State, SessionDriver &Driver)
      : State(State), Driver(Driver) {}

  /// Calls \p Original, which begins a capture in \p S: not while a launch is
  /// recorded, for which it takes the session's lock.
  template <typename Fn> int begin(CUstream S, Fn Original) {
    std::unique_lock<std::mutex> Guard(State.Lock, std::defer_lock);
    if (!State.Off)
      Guard.lock();
    int Result = Original();
    if (!Result && !TapState::Forked)
      note(S);
    return Result;
  }
  /// Calls \p Original, which ends the capture that began in \p S, if any, even
  /// where it fails.
  template <typename Fn> int end(CUstream S, Fn Original) {
    int Result = Original();
    if (!TapState::Forked && any())
      erase(S);
    return Result;
  }
  /// Before \p Gone is destroyed.
  void forget(CUcontext Gone);
  bool any() const { return Count; }

private:
  void note(CUstream S);
  void erase(CUstream S);

  TapState &State;
  SessionDriver &Driver;
  std::mutex Lock;
  /// The streams where captures began, with their contexts. ThreadStream stands
  /// for streams of several threads.
  std::vector<std::pair<CUstream, CUcontext>> Streams;
  std::atomic<size_t> Count{0}; ///< Of Streams.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_CAPTURES_H
