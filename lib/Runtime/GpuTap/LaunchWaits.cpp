//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchWaits.h"
#include "Shortage.h"

using namespace mneme;

/// Waits for all devices: others can write to memory of \p G and of the host,
/// too.
std::string LaunchWaits::waitForDevices(Gpu &G, Deadline Until) {
  Waiter::Failures Failed;
  if (!Driver.waiter().wait(Devs.activeContexts(), Until, Failed))
    return tooLong("other work of the device");
  std::string Error;
  for (const auto &[Context, E] : Failed) {
    if (isCaptureError(E))
      return "the device cannot be waited for: " + Driver->describe(E);
    Gpu *One = Devs.find(Context);
    if (One)
      Devs.giveUp(*One);
    if (One == &G)
      Error = "an earlier launch failed: " + Driver->describe(E);
  }
  return Error;
}

/// Waits for all work enqueued in a stream. \returns CUDA_ERROR_NOT_READY if it
/// is not done by \p Until, and at once while it has not reached the event of
/// an earlier wait that was given up. May throw, before it has waited.
CUresult LaunchWaits::waitForStream(Gpu &G, CUstream S, Deadline Until) {
  if (auto Old = G.Blocked.find(S); Old != G.Blocked.end()) {
    if (Driver->EventQuery(Old->second) == CUDA_ERROR_NOT_READY)
      return CUDA_ERROR_NOT_READY;
    G.Events.push_back(Old->second);
    G.Blocked.erase(Old);
  }
  CUevent Reached;
  if (CUresult E = G.recordEvent(*Driver, S, Reached))
    return E;
  for (unsigned I = 0;; ++I) {
    CUresult E = Driver->EventQuery(Reached);
    if (E != CUDA_ERROR_NOT_READY) {
      G.Events.push_back(Reached);
      return E;
    }
    if (Recorder::now() >= Until) {
      // Without memory to remember it, the next launch waits once more.
      if (!attempt([&] { G.Blocked[S] = Reached; }))
        G.Events.push_back(Reached);
      noteVainWait();
      return E;
    }
    pauseBriefly(I);
  }
}

std::string LaunchWaits::before(Gpu &G, CUstream S, Deadline Until) {
  if (State.WaitsForAll)
    return waitForDevices(G, Until);
  CUresult E = waitForStream(G, S, Until);
  if (!E)
    return "";
  if (E == CUDA_ERROR_NOT_READY)
    return tooLong("other work of the stream");
  constexpr CUresult InvalidHandle = 400; // CUDA_ERROR_INVALID_HANDLE
  if (E == InvalidHandle || isCaptureError(E))
    return "its stream cannot be waited for: " + Driver->describe(E);
  Devs.giveUp(G);
  return "an earlier launch failed: " + Driver->describe(E);
}

CUresult LaunchWaits::after(Gpu &G, CUstream S, Deadline Until) {
  if (!State.WaitsForAll)
    return waitForStream(G, S, Until);
  Waiter::Failures Failed;
  if (!Driver.waiter().wait({G.Context}, Until, Failed))
    return CUDA_ERROR_NOT_READY;
  return Failed.empty() ? CUDA_SUCCESS : Failed.front().second;
}
