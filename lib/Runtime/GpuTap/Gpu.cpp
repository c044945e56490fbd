//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gpu.h"

using namespace mneme;

CUresult Gpu::recordEvent(const CudaDriver &Driver, CUstream S, CUevent &E) {
  constexpr unsigned DisableTiming = 2; // CU_EVENT_DISABLE_TIMING
  if (Events.empty()) {
    makeRoom(Events, NumEvents + 1);
    CUevent New;
    if (CUresult R = Driver.EventCreate(&New, DisableTiming))
      return R;
    ++NumEvents;
    Events.push_back(New);
  }
  if (CUresult R = Driver.EventRecord(Events.back(), S))
    return R;
  E = Events.back();
  Events.pop_back();
  return CUDA_SUCCESS;
}
