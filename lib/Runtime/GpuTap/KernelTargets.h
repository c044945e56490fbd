//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels that launch stubs stand for, and the variables that they use.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_KERNELTARGETS_H
#define MNEME_LIB_RUNTIME_GPUTAP_KERNELTARGETS_H

#include "CudaRuntime.h"
#include "Devices.h"
#include "DriverImages.h"
#include "Kernel.h"
#include "Program.h"
#include "Recorder.h"
#include "TapState.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace mneme {

/// A variable of the program's modules. Each device has its own.
struct ShadowedVariable {
  Variable V; ///< V.Address: in recordings, an offset from Gpu::Homes.
  const void *Shadow;
  const CudaRuntime *Runtime; ///< The runtime that knows its live address.
};

/// A kernel, or its code for one architecture.
struct Target {
  std::string Name; ///< Empty for stubs that no payload describes.
  IndexEntry Entry; ///< Unless Image is set.
  /// The image of a kernel that the program launches through the driver.
  std::shared_ptr<LoadedImage> Image;
  bool Selected = false;
  /// Counted if the kernel is not selected, or nothing is recorded any more.
  std::atomic<uint64_t> Launches{0};

  // Of a selected kernel, once load() has asked the launcher.
  bool Loaded = false;
  std::string Problem; ///< Why it cannot be recorded.
  Kernel K;
  std::vector<const ShadowedVariable *> Variables; ///< As K.Reached.
};

/// Finds the target of each launch. Targets live as long as the process.
class KernelTargets {
public:
  KernelTargets(TapState &State, SessionDriver &Driver, Devices &Devs,
                DriverImages &Images, Recorder &Records)
      : State(State), Driver(Driver), Devs(Devs), Images(Images),
        Records(Records) {}

  /// The target of a stub on the first device. Throws nothing. Takes the
  /// session's lock, unless the calling thread has launched the stub lately.
  Target &find(const CudaRuntime &R, const void *Stub);
  /// The same for a function or kernel of the driver.
  Target &findFunction(const void *Handle);

  // With the session's lock held. These may throw, with nothing done.

  /// The target of an index entry.
  Target &get(const IndexEntry &Entry, bool Selected);
  /// Asks the launcher about a kernel, once. \p Stub: as launched.
  void load(Target &T, const void *Stub);

  // With the session's lock held.

  /// The target of stubs that no payload describes.
  Target &unknown() { return Unknown; }
  /// The target of stubs that could not be looked up for lack of memory.
  Target &unloaded() { return Unloaded; }
  /// The target of functions of the driver whose image is not known.
  Target &foreign() { return Foreign; }
  /// Reports the counted launches of all kernels that payloads describe.
  void countLaunches();

private:
  /// Hash of the module, of the payload or of the image; object; name.
  using Symbol = std::tuple<std::string, uint32_t, std::string>;

  template <typename Fn>
  Target &findRecent(const void *Stub, unsigned Generation, Target &None,
                     Fn LookUp);
  Target &lookUp(const CudaRuntime &R, const void *Stub);
  Target &lookUpFunction(const void *Handle);
  std::string loadImage(Target &T, const void *Handle, Kernel &K,
                        std::vector<const ShadowedVariable *> &Found);
  std::string noteVariable(const Symbol &Key, const std::string &Name,
                           uint64_t Size, const void *Shadow,
                           const CudaRuntime *Runtime,
                           std::vector<const ShadowedVariable *> &Found);
  bool selects(const std::string &Name);
  std::string loadVariables(const DeviceModule &Code,
                            const std::vector<std::string> &Names,
                            const std::vector<ModuleVariable> &Known,
                            std::vector<const ShadowedVariable *> &Found);

  struct LoadedModule {
    std::string Error;
    std::vector<ModuleVariable> Variables;
  };
  TapState &State;
  SessionDriver &Driver;
  Devices &Devs;
  DriverImages &Images;
  Recorder &Records;
  std::map<DeviceModule::Key, std::unique_ptr<LoadedModule>> Modules;
  std::map<Symbol, std::unique_ptr<ShadowedVariable>> Variables;
  std::map<Symbol, std::unique_ptr<Target>> Targets;
  Target Unknown, Unloaded, Foreign;
};

/// The parameters of a function or kernel as the driver lays them out; false if
/// the driver does not tell. May throw.
bool readLayout(const CudaDriver &Driver, const void *Handle, bool IsKernel,
                std::vector<ImageParameter> &Layout);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_KERNELTARGETS_H
