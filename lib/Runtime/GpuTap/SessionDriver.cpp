//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionDriver.h"
#include "Vendor.h"

using namespace mneme;

bool SessionDriver::load() {
  if (!Functions && Problem.empty())
    Functions =
        ForHip ? CudaDriver::loadHip(Problem) : CudaDriver::load(Problem);
  if (Functions && !Waiting)
    Waiting = std::make_unique<Waiter>(*Functions);
  return Functions;
}

CUcontext SessionDriver::currentContext() const {
  CUcontext C = nullptr;
  return Functions->CtxGetCurrent(&C) ? nullptr : C;
}

bool SessionDriver::isPrimary(CUcontext C) const {
  CUdevice Device;
  CUcontext Primary = nullptr;
  if (Functions->CtxGetDevice(&Device) ||
      Functions->DevicePrimaryCtxRetain(&Primary, Device))
    return false;
  Functions->DevicePrimaryCtxRelease(Device);
  return C == Primary;
}

bool SessionDriver::isCapturing(CUstream S) const {
  int Status = 0;
  CUresult E = Functions->StreamIsCapturing(S, &Status);
  return E ? isCaptureError(E) : Status != 0;
}

bool SessionDriver::isElsewhere(CUcontext C, CUstream S) const {
  CUcontext Owner = nullptr;
  return Functions->StreamGetCtx && !Functions->StreamGetCtx(S, &Owner) &&
         Owner != C;
}

StreamContext::StreamContext(const SessionDriver &Driver, CUstream S)
    : Driver(Driver) {
  // The handles of default streams have no context of their own.
  if (reinterpret_cast<uintptr_t>(S) <= 2 || Driver.currentContext() ||
      !Driver->StreamGetCtx)
    return;
  if (Driver->StreamGetCtx(S, &Lent))
    Lent = nullptr;
  set(Lent);
}

bool SessionDriver::isIdle(CUcontext C) {
  constexpr uint64_t Soon = 100000000; // Nanoseconds.
  Waiter::Failures Failed;
  return Waiting->wait({C}, Recorder::now() + Soon, Failed,
                       /*GiveUp=*/false) &&
         Failed.empty();
}
