//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recording on an NVIDIA GPU, beside the application's own CUDA runtime:
/// device memory gets fixed addresses, and launches of selected kernels are
/// recorded.
///
/// While a launch is recorded, its memory is copied on the device, then the
/// pages that it changed. Then the application goes on, and a thread brings the
/// copies to the host and writes them.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_TAPSESSION_H
#define MNEME_LIB_RUNTIME_GPUTAP_TAPSESSION_H

#include "Captures.h"
#include "CopyBuffers.h"
#include "Devices.h"
#include "DriverImages.h"
#include "ForeignMemory.h"
#include "GraphLaunches.h"
#include "KernelTargets.h"
#include "Launch.h"
#include "LaunchMemory.h"
#include "LaunchRecorder.h"
#include "LaunchWaits.h"
#include "Recorder.h"
#include "RecordingFiles.h"
#include "RecordingWriter.h"
#include "SelectedLaunches.h"
#include "SessionDriver.h"
#include "SharedMemory.h"
#include "TapState.h"
#include "TappedGraphs.h"
#include "TappedMemory.h"
#include "TappedTextures.h"
#include "WriterClock.h"

namespace mneme {

/// The parts of recording, one of each in the process, and the events that
/// concern several of them. A part uses only parts that are declared before it.
/// Thread-safe. Throws nothing.
class TapSession {
public:
  static TapSession &get();

  Captures &captures() { return Captured; }
  Devices &devices() { return Devs; }
  ForeignMemory &foreignMemory() { return Foreign; }
  DriverImages &images() { return Images; }
  GraphLaunches &graphLaunches() { return LaunchedGraphs; }
  TappedGraphs &graphs() { return Graphs; }
  TappedMemory &memory() { return Memory; }
  SharedMemory &sharedMemory() { return Shared; }
  TappedTextures &textures() { return Textures; }

  /// Makes a launch with \p Original, and records it if it is wanted.
  template <typename Fn> int launch(const KernelLaunch &L, Fn Original) {
    Target &T = Targets.find(L.Runtime, L.Kernel);
    if (&T == &Targets.unknown())
      return launchUnknown(Original);
    if (!T.Selected && !Captured.any())
      if (StreamGate::Pass Pass{State.Calls, L.Stream}) {
        T.Launches.fetch_add(1, std::memory_order_relaxed);
        return Original();
      }
    return launch(T, Launch(L), Original);
  }
  /// The same for a launch through the driver, whose arguments may be in
  /// \p Extra.
  template <typename Fn>
  int launchFunction(const KernelLaunch &L, void **Extra, Fn Original) {
    ++driverLaunchesOfThread();
    if (FunctionStub S; Images.findStub(L.Kernel, S)) {
      Target &Own = Targets.find(*S.Runtime, S.Stub);
      if (!Own.Name.empty())
        return launchFunction(
            Own,
            Launch({*S.Runtime, S.Stub, L.Shape, L.Stream, L.Args, L.Form}),
            Extra, Original);
    }
    Target &T = Targets.findFunction(L.Kernel);
    if (!T.Selected && !Captured.any())
      if (StreamGate::Pass Pass{State.Calls, L.Stream}) {
        int Result = Original();
        if (!Result) // Others may have a handle of nothing.
          T.Launches.fetch_add(1, std::memory_order_relaxed);
        return Result;
      }
    return launchFunction(T, Launch(L), Extra, Original);
  }
  /// Calls \p Original, which may change device memory in a stream, but not
  /// while a launch is recorded that this could disturb.
  template <typename Fn> int change(CUstream S, Fn Original) {
    if (StreamGate::Pass Pass{State.Calls, S})
      return Original();
    StreamGate::Pass Pass = passLater(S);
    return Original();
  }
  /// Before the current context is destroyed (cudaDeviceReset): writes all
  /// recordings and forgets the device.
  void reset();
  /// Before the primary context of \p Device is destroyed.
  void resetPrimary(CUdevice Device);
  /// Writes all recordings and the summary, once.
  void finish();

private:
  TapSession();
  static void registerHandlers();
  /// The number of launches of the calling thread that were intercepted in the
  /// driver, for comparison.
  static unsigned &driverLaunchesOfThread() {
    static thread_local unsigned Count
        __attribute__((tls_model("initial-exec"))) = 0;
    return Count;
  }
  int launch(Target &First, const Launch &L, OriginalCall Original);
  int launchFunction(Target &T, Launch L, void **Extra, OriginalCall Original);
  /// A launch of a kernel that no payload describes: the driver's launch that
  /// \p Original makes has its image.
  template <typename Fn> int launchUnknown(Fn Original) {
    unsigned Before = driverLaunchesOfThread();
    InterceptedCall::Opened Opened;
    int Result = Original();
    if (driverLaunchesOfThread() == Before)
      Targets.unknown().Launches.fetch_add(1, std::memory_order_relaxed);
    return Result;
  }
  void resetContext(CUcontext Gone);
  StreamGate::Pass passLater(CUstream S);

  TapState State;
  bool Finished = false; ///< With the session's lock held.
  Recorder Records;
  SessionDriver Driver;
  Captures Captured{State, Driver};
  WriterClock Clock;
  CopyBuffers Buffers{Driver, Clock, State.WaitsForAll};
  Devices Devs;
  ForeignMemory Foreign{State, Driver};
  RecordingFiles Files{State, Buffers, Clock};
  RecordingWriter Writer{Driver, Buffers, Files, Clock, Records};
  SharedMemory Shared{State, Driver, Devs, Foreign};
  TappedMemory Memory{State,   Driver, Devs,    Captured,
                      Buffers, Writer, Foreign, Shared};
  DriverImages Images{Driver};
  KernelTargets Targets{State, Driver, Devs, Images, Records};
  TappedTextures Textures{State, Driver, Devs, Foreign, Buffers};
  LaunchMemory Located{Driver, Devs, Foreign, Textures, Images, Files};
  LaunchWaits Waits{State, Driver, Devs};
  LaunchRecorder Launches{State,   Driver, Devs,  Buffers, Memory, Textures,
                          Located, Waits,  Files, Writer,  Records};
  SelectedLaunches Selected{Driver,  Devs,    Captured, Targets,
                            Foreign, Located, Launches, Records};
  TappedGraphs Graphs{State, Driver, Targets};
  GraphLaunches LaunchedGraphs{State,  Driver,   Captured,
                               Graphs, Selected, Records};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_TAPSESSION_H
