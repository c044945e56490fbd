//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a recorded launch waits for: with --wait=device all work of all
/// devices, otherwise the work of its stream.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_LAUNCHWAITS_H
#define MNEME_LIB_RUNTIME_GPUTAP_LAUNCHWAITS_H

#include "Devices.h"
#include "SessionDriver.h"
#include "TapState.h"
#include "Waiter.h"

#include <string>

namespace mneme {

/// Waits before and after a recorded launch. With the session's lock held.
class LaunchWaits {
public:
  LaunchWaits(const TapState &State, SessionDriver &Driver, Devices &Devs)
      : State(State), Driver(Driver), Devs(Devs) {}

  /// Waits until a launch in \p S can be recorded. \returns an empty string, or
  /// why it cannot. May throw.
  std::string before(Gpu &G, CUstream S, Deadline Until);
  /// Waits until a launch in \p S is done. \returns CUDA_ERROR_NOT_READY if it
  /// is not by \p Until. May throw, before it has waited.
  CUresult after(Gpu &G, CUstream S, Deadline Until);

private:
  std::string waitForDevices(Gpu &G, Deadline Until);
  CUresult waitForStream(Gpu &G, CUstream S, Deadline Until);

  const TapState &State;
  SessionDriver &Driver;
  Devices &Devs;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_LAUNCHWAITS_H
