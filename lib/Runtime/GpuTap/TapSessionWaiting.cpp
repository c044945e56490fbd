//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What has to be done before and after a launch that is recorded, and what
/// must not happen meanwhile: with --wait=device everything, else what the
/// launch's stream has to do with.
///
//===----------------------------------------------------------------------===//

#include "Shortage.h"
#include "TapSession.h"

#include <algorithm>
#include <cstdio>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Others' calls
//===----------------------------------------------------------------------===//

// What may be in any stream, and the stream that others wait for.
static constexpr unsigned AnyLine = 0, LegacyLine = 1, FirstLine = 2;

/// The line of the gate for what happens in a stream.
unsigned TapSession::lineOf(CUstream S) const {
  if (WaitsForAll)
    return Gate::ownLine();
  if (S == AnyStream)
    return AnyLine;
  if (!S || S == LegacyStream)
    return LegacyLine;
  uint64_t Key =
      S == ThreadStream ? Gate::ownLine() : reinterpret_cast<uint64_t>(S) >> 4;
  Key ^= Key >> 8;
  return FirstLine + Key % (Gate::NumLines - FirstLine);
}

/// What must not happen while a launch in \p S is recorded.
Gate::Lines TapSession::linesOf(CUstream S) const {
  constexpr unsigned NonBlocking = 1; // CU_STREAM_NON_BLOCKING
  unsigned Flags = 0;
  if (WaitsForAll || !S || S == LegacyStream)
    return Gate::AllLines;
  Gate::Lines Which = 1u << AnyLine | 1u << lineOf(S);
  if (Driver->StreamGetFlags(S, &Flags) || !(Flags & NonBlocking))
    Which |= 1u << LegacyLine;
  return Which;
}

//===----------------------------------------------------------------------===//
// The devices' work
//===----------------------------------------------------------------------===//

std::string mneme::tooLong(const char *What) {
  char Text[96];
  snprintf(Text, sizeof(Text), "%s did not end within %g s (--wait-limit)",
           What, double(Selection::get().waitLimit()) * 1e-9);
  std::string Reason = outOfMemory();
  attempt([&] { Reason = Text; });
  return Reason;
}

/// All contexts that may have work under way in this process, as far as they
/// are ours to wait for: whoever launches and copies there has told nobody.
Waiter::Contexts TapSession::activeContexts() const {
  Waiter::Contexts Contexts;
  if (!Gpus.empty())
    Contexts.push_back(Gpus.front()->Context);
  int Count = 0;
  Driver->DeviceGetCount(&Count);
  for (int I = 0; I != Count; ++I) {
    CUdevice Device;
    unsigned Flags;
    int IsActive = 0;
    CUcontext C = nullptr;
    if (Driver->DeviceGet(&Device, I) ||
        Driver->DevicePrimaryCtxGetState(Device, &Flags, &IsActive) ||
        !IsActive || Driver->DevicePrimaryCtxRetain(&C, Device))
      continue;
    Driver->DevicePrimaryCtxRelease(Device);
    if (std::find(Contexts.begin(), Contexts.end(), C) == Contexts.end())
      Contexts.push_back(C);
  }
  return Contexts;
}

/// Other devices may write here, too, and to memory of the host.
std::string TapSession::waitForDevices(Gpu &G, Deadline Until) {
  Waiter::Failures Failed;
  if (!Waiting->wait(activeContexts(), Until, Failed))
    return tooLong("other work of the device");
  std::string Error;
  for (const auto &[Context, E] : Failed) {
    if (isCaptureError(E))
      return "the device cannot be waited for: " + Driver->describe(E);
    Gpu *One = gpuOf(Context);
    if (One)
      giveUp(*One);
    if (One == &G)
      Error = "an earlier launch failed: " + Driver->describe(E);
  }
  return Error;
}

/// Waits for all that was enqueued in a stream, and what that waits for.
/// \returns CUDA_ERROR_NOT_READY when \p Until has come first: at once, while
/// what was given up then is not done. May throw, before it has waited.
CUresult TapSession::waitForStream(Gpu &G, CUstream S, Deadline Until) {
  if (auto Old = G.Blocked.find(S); Old != G.Blocked.end()) {
    if (Driver->EventQuery(Old->second) == CUDA_ERROR_NOT_READY)
      return CUDA_ERROR_NOT_READY;
    G.Events.push_back(Old->second);
    G.Blocked.erase(Old);
  }
  CUevent Reached;
  if (CUresult E = recordEvent(G, S, Reached))
    return E;
  for (unsigned I = 0;; ++I) {
    CUresult E = Driver->EventQuery(Reached);
    if (E != CUDA_ERROR_NOT_READY) {
      G.Events.push_back(Reached);
      return E;
    }
    if (Recorder::now() >= Until) {
      // Without memory for it, the next launch waits once more.
      if (!attempt([&] { G.Blocked[S] = Reached; }))
        G.Events.push_back(Reached);
      noteVainWait();
      return E;
    }
    pauseBriefly(I);
  }
}

/// Waits until a launch in \p S can be recorded.
std::string TapSession::waitBefore(Gpu &G, CUstream S, Deadline Until) {
  if (WaitsForAll)
    return waitForDevices(G, Until);
  CUresult E = waitForStream(G, S, Until);
  if (!E)
    return "";
  if (E == CUDA_ERROR_NOT_READY)
    return tooLong("other work of the stream");
  constexpr CUresult InvalidHandle = 400; // CUDA_ERROR_INVALID_HANDLE
  if (E == InvalidHandle || isCaptureError(E))
    return "its stream cannot be waited for: " + Driver->describe(E);
  giveUp(G);
  return "an earlier launch failed: " + Driver->describe(E);
}

/// Waits until a launch in \p S is done. \returns CUDA_ERROR_NOT_READY when
/// \p Until has come first.
CUresult TapSession::waitAfter(Gpu &G, CUstream S, Deadline Until) {
  if (!WaitsForAll)
    return waitForStream(G, S, Until);
  Waiter::Failures Failed;
  if (!Waiting->wait({G.Context}, Until, Failed))
    return CUDA_ERROR_NOT_READY;
  return Failed.empty() ? CUDA_SUCCESS : Failed.front().second;
}

/// Whether a device has nothing to do, or soon will have.
bool TapSession::isIdle(const Gpu &G) {
  constexpr uint64_t Soon = 100000000; // Nanoseconds.
  Waiter::Failures Failed;
  return Waiting->wait({G.Context}, Recorder::now() + Soon, Failed,
                       /*GiveUp=*/false) &&
         Failed.empty();
}

/// Whether freeing memory, which waits for all streams, keeps nobody waiting
/// who has not been waited for. Of the device of a launch that is recorded.
bool TapSession::canFreeMemory(const Gpu &G) {
  return WaitsForAll || isIdle(G);
}
