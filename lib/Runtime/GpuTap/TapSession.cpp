//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TapSession.h"
#include "LauncherLink.h"
#include "Shortage.h"

#include <cstdlib>
#include <new>
#include <pthread.h>
#include <unistd.h>
#include <utility>

using namespace mneme;

TapSession &TapSession::get() {
  // Never destroyed: applications exit in any order.
  alignas(TapSession) static char Storage[sizeof(TapSession)];
  static TapSession &S = *new (Storage) TapSession;
  return S;
}

RuntimeFacts mneme::runtimeFacts() { return {DeviceKind, nullptr, 0}; }

TapSession::TapSession() : Devs(State, Driver, Buffers, registerHandlers) {}

/// Called once the driver is initialized: handlers of atexit() run in reverse
/// order, so finish() runs before the driver ends.
void TapSession::registerHandlers() {
  pthread_atfork(nullptr, nullptr, [] {
    TapState::Forked = true;
    get().State.Off = true;
  });
  atexit([] { get().finish(); });
}

//===----------------------------------------------------------------------===//
// Calls and launches
//===----------------------------------------------------------------------===//

/// Passes the gate once no launch is recorded.
StreamGate::Pass TapSession::passLater(CUstream S) {
  std::unique_lock<std::mutex> Guard(State.Lock, std::defer_lock);
  // A forked child must not touch the lock.
  if (!State.Off)
    Guard.lock();
  return StreamGate::Pass(State.Calls, S, /*Closed=*/true);
}

/// \p First: the launch's target on the first device.
int TapSession::launch(Target &First, const Launch &L, OriginalCall Original) {
  std::unique_lock<std::mutex> Guard(State.Lock, std::defer_lock);
  auto Forward = [&] {
    StreamGate::Pass Pass(State.Calls, L.Stream, /*Closed=*/true);
    if (Guard)
      Guard.unlock();
    return Original();
  };
  // A forked child must not touch the lock.
  bool IsOff = State.Off;
  if (!IsOff) {
    Guard.lock();
    IsOff = State.Off;
  }
  bool HasDriver = false;
  if (Captured.any() && !IsOff)
    attempt([&] { HasDriver = Driver.load(); });
  if (HasDriver && Driver.isCapturing(L.Stream)) {
    // The call adds a node to a graph, and launches nothing.
    int Result = Forward();
    if (!Result && !First.Image)
      Graphs.noteCaptured(L);
    return Result;
  }
  if (!First.Selected || IsOff) {
    First.Launches.fetch_add(1, std::memory_order_relaxed);
    return Forward();
  }
  int Result;
  if (!First.Image)
    return Selected.launch(First, L, Original, Result) ? Result : Forward();
  // The driver makes no context current, unlike the runtime: without one, the
  // launch fails.
  attempt([&] { HasDriver = Driver.load(); });
  if (!HasDriver)
    return Forward();
  StreamContext Here(Driver, L.Stream);
  if (!Driver.currentContext())
    return Forward();
  return Selected.launch(
             First, L, [&] { return Here.without(Original); }, Result)
             ? Result
             : Here.without(Forward);
}

/// The arguments of a launch whose packed bytes \p Extra has. \p Layout is
/// their layout; if it is empty, the driver tells. \returns null, or why they
/// are not known. May throw.
static const char *unpack(const CudaDriver &Driver, DriverImages &Images,
                          const void *Handle, void **Extra,
                          std::vector<ImageParameter> Layout,
                          std::vector<void *> &Args) {
  // CU_LAUNCH_PARAM_*, HIP_LAUNCH_PARAM_*
  enum : uintptr_t { End = ForHip ? 3 : 0, BufferPointer = 1, BufferSize = 2 };
  char *Bytes = nullptr;
  size_t Size = 0;
  for (; *Extra != reinterpret_cast<void *>(End); Extra += 2)
    switch (reinterpret_cast<uintptr_t>(*Extra)) {
    case BufferPointer:
      Bytes = static_cast<char *>(Extra[1]);
      break;
    case BufferSize:
      Size = *static_cast<size_t *>(Extra[1]);
      break;
    default:
      return "launched with parameters of an unknown form";
    }
  DriverFunction F;
  if (!Bytes ||
      (Layout.empty() && (!Images.find(Handle, F) ||
                          !readLayout(Driver, Handle, F.IsKernel, Layout))))
    return "launched with packed parameters, whose layout the driver does not "
           "tell";
  for (const ImageParameter &P : Layout) {
    if (P.Offset > Size || P.Size > Size - P.Offset)
      return "launched with too few bytes of parameters";
    Args.push_back(Bytes + P.Offset);
  }
  return nullptr;
}

int TapSession::launchFunction(Target &T, Launch L, void **Extra,
                               OriginalCall Original) {
  std::vector<void *> Args;
  if (Extra && *Extra && T.Selected && !State.Off) {
    const char *Obstacle = nullptr;
    bool HasDriver = false;
    if (!attempt([&] {
          std::vector<ImageParameter> Layout;
          {
            std::lock_guard<std::mutex> Guard(State.Lock);
            HasDriver = Driver.load();
            // HIP does not tell the layout, but the image does.
            if (HasDriver && (ForHip || !T.Image))
              for (const KernelArg &A : Selected.load(T, L).K.Args)
                Layout.push_back({A.Offset, A.Size});
          }
          if (HasDriver) {
            StreamContext Here(Driver, L.Stream);
            Obstacle = unpack(*Driver, Images, L.Kernel, Extra, Layout, Args);
          }
        }))
      Obstacle = MNEME_REASON_MEMORY;
    L.Args = Args.data();
    if (Obstacle)
      L.Obstacle = Obstacle;
  }
  return launch(T, L, Original);
}

//===----------------------------------------------------------------------===//
// The end of a device and of the process
//===----------------------------------------------------------------------===//

void TapSession::reset() {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  if (Driver)
    resetContext(Driver.currentContext());
}

void TapSession::resetPrimary(CUdevice Device) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  if (!Driver)
    return;
  for (const auto &G : Devs.all())
    if (G->Device == Device && G->Mapping) {
      CUcontext Current = Driver.currentContext(), Gone = G->Context;
      Driver->CtxSetCurrent(Gone);
      resetContext(Gone);
      Driver->CtxSetCurrent(Current);
      return;
    }
}

/// \p Gone must be current.
void TapSession::resetContext(CUcontext Gone) {
  Graphs.forget(Gone);
  Images.forgetStubs();
  Textures.forget(Gone);
  Gpu *G = Devs.find(Gone);
  if (!G)
    return;
  // The writer still needs the device.
  while (!Writer.drain())
    ;
  Buffers.release(*G);
  Memory.forgetNotes(*G);
  Shared.forget(*G);
  Shared.forget(Gone);
  Foreign.forget(Gone);
  Captured.forget(Gone);
  Devs.remove(*G);
  State.Off = Finished;
}

// Limits how long the end of the process waits for the lock: another thread may
// record a launch, which may never end.
static constexpr unsigned ExitWait = 5000; // Microseconds.
static constexpr unsigned MaxExitWaits = 400;

void TapSession::finish() {
  if (TapState::Forked)
    return;
  std::unique_lock<std::mutex> Guard(State.Lock, std::try_to_lock);
  for (unsigned I = 0; !Guard && I != MaxExitWaits; ++I) {
    usleep(ExitWait);
    Guard.try_lock();
  }
  if (!Guard)
    return;
  if (std::exchange(Finished, true))
    return;
  State.Off = true;
  uint64_t Start = Recorder::now();
  Writer.drain(/*GiveUp=*/true);
  Records.addFinalWait(Recorder::now() - Start);
  struct {
    uint64_t Launches;
    const char *Reason;
  } const Others[] = {
      {Targets.foreign().Launches,
       "launched through the driver, from an image that Mneme has not seen"},
      {LaunchedGraphs.foreign(),
       ForHip ? "launched by a graph, which needs HIP 6 or later"
              : "launched by a graph that was made through the driver API"},
      {Targets.unknown().Launches, "not compiled with MnemePass"},
      {Targets.unloaded().Launches, MNEME_REASON_MEMORY},
  };
  // Most processes under the launcher, like shells, never launch anything.
  for (size_t I : {0, 1, 3})
    if (Others[I].Launches)
      attempt([] { LauncherLink::get().connect(); });
  if (!LauncherLink::get().connected())
    return;
  for (const auto &[N, Reason] : Others)
    if (N)
      Records.countSkipped(Reason, N);
  Targets.countLaunches();
  Records.summarize();
}

__attribute__((destructor)) static void finishAtExit() {
  TapSession::get().finish();
}
