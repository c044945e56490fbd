//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures one launch with events in its stream.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_EVENTTIMER_H
#define MNEME_LIB_RUNTIME_DRIVER_EVENTTIMER_H

#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <optional>

namespace mneme {

class EventTimer {
public:
  EventTimer() = default;
  EventTimer(const EventTimer &) = delete;
  EventTimer &operator=(const EventTimer &) = delete;
  ~EventTimer() {
    for (CUevent E : {Begin, End})
      if (E)
        Driver->EventDestroy(E);
  }

  /// Creates the events. \returns false if nothing can be measured.
  bool create(const CudaDriver &D) {
    Driver = &D;
    return !D.EventCreate(&Begin, /*Flags=*/0) &&
           !D.EventCreate(&End, /*Flags=*/0);
  }
  // Before and after the launch. \returns false if it is not measured.
  bool start(CUstream S) { return End && !Driver->EventRecord(Begin, S); }
  bool stop(CUstream S) { return End && !Driver->EventRecord(End, S); }
  /// Waits until the launch is done. \returns false if it failed.
  bool wait() { return End && !Driver->EventSynchronize(End); }
  /// The time of a launch that is done.
  std::optional<uint64_t> nanoseconds() const {
    float Milliseconds = 0;
    if (!End || Driver->EventElapsedTime(&Milliseconds, Begin, End))
      return std::nullopt;
    return uint64_t(double(Milliseconds) * 1e6);
  }

private:
  const CudaDriver *Driver = nullptr;
  CUevent Begin = nullptr, End = nullptr;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_EVENTTIMER_H
