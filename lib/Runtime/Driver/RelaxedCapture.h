//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_RELAXEDCAPTURE_H
#define MNEME_LIB_RUNTIME_DRIVER_RELAXEDCAPTURE_H

#include "llvm/Mneme/Runtime/CudaDriver.h"

namespace mneme {

/// Permits calls that another thread's capture would not survive.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const CudaDriver &Driver) : Driver(Driver) {
    exchange();
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;
  ~RelaxedCapture() { exchange(); }

private:
  void exchange() {
    if (Driver.ThreadExchangeStreamCaptureMode)
      Driver.ThreadExchangeStreamCaptureMode(&Mode);
  }
  const CudaDriver &Driver;
  int Mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_RELAXEDCAPTURE_H
