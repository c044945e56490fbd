//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks of the application before it runs.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_APPLICATIONCHECK_H
#define LLVM_MNEME_LIB_LAUNCH_APPLICATIONCHECK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Properties of an executable, read from its files.
struct ApplicationFacts {
  std::string Warning; ///< For the user; usually empty.
  /// Architectures of its kernels and of the kernels in libraries that it
  /// links: "sm_90", "gfx90a". Empty if the payloads were not read.
  std::vector<std::string> Archs;
  std::vector<std::string> Kernels; ///< Symbols of the same kernels, sorted.
};

/// Returns an error if the ELF file \p Path is not a program for this machine,
/// or if the dynamic loader does not start it.
Error checkExecutable(StringRef Path);

/// Returns an error if \p Path cannot be recorded. Unless \p AnyExecutable,
/// also if it is an ELF executable without payloads in itself and its
/// libraries, or if nothing can be preloaded into it.
Expected<ApplicationFacts> checkApplication(const std::string &Path,
                                            bool AnyExecutable);

/// Returns an error if the program \p Path has kernels, but no device IR: it
/// cannot run on the host device.
Error refuseSlim(StringRef Path);

/// \returns whether \p Path or a library that it links is linked to the CUDA
/// driver, and therefore does not start without one.
bool needsCudaDriver(const std::string &Path);

/// A GPU as its driver describes it.
struct GpuFacts {
  std::string Name; ///< "NVIDIA H200"
  std::string Arch; ///< "sm_90", "gfx90a:sramecc+:xnack-"
};

/// Asks the CUDA driver and HIP for their GPUs, which takes a tenth of a
/// second. They run in a process of its own, because the launcher forks its
/// compile jobs and must not contain the driver's threads.
class GpuProbe {
public:
  /// \p Kind: "cuda" or "hip"; both are asked if it is empty.
  static Expected<GpuProbe> start(StringRef Kind);
  /// Becomes readable when poll() has work to do.
  int fd() const { return Driver.fd(); }
  /// \returns whether the driver has answered or has failed.
  bool poll() { return HasAnswered = HasAnswered || Driver.poll(); }
  /// Waits for the answer; call once. \returns at least one GPU. Error: there
  /// is no GPU or no usable driver.
  Expected<std::vector<GpuFacts>> finish();

private:
  explicit GpuProbe(ChildTask Driver) : Driver(std::move(Driver)) {}
  ChildTask Driver;
  bool HasAnswered = false;
};

/// Whether \p Arch is one of AMD's.
bool isForHip(StringRef Arch);

/// Returns an error if no code for \p Archs can run on any of \p Devices.
/// \returns a warning for the user if no code is compiled for them, but the
/// driver may compile PTX of the application; otherwise an empty string.
Expected<std::string> checkArchitectures(ArrayRef<std::string> Archs,
                                         ArrayRef<GpuFacts> Devices);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_APPLICATIONCHECK_H
