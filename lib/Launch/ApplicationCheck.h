//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Looks at the application before it runs.
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

/// \p Name as execvp would find it.
Expected<std::string> findApplication(StringRef Name);

/// What an executable says about itself.
struct ApplicationFacts {
  std::string Warning; ///< For the user; empty as a rule.
  /// Architectures of its kernels, and of those in libraries that it links:
  /// "sm_90", "gfx90a". Empty when nobody looked.
  std::vector<std::string> Archs;
  std::vector<std::string> Kernels; ///< Symbols of the same kernels, sorted.
};

/// Error when the ELF file \p Path is no program of this machine, or one that
/// the dynamic loader does not start.
Error checkExecutable(StringRef Path);

/// Error when \p Path cannot be recorded: an ELF executable that holds no
/// payload, loads no library that does, or into which nothing can be preloaded.
Expected<ApplicationFacts> checkApplication(const std::string &Path,
                                            bool AnyExecutable);

/// Returns true if \p Path, or a library that it links, is linked to the CUDA
/// driver: it does not start without one.
bool needsCudaDriver(const std::string &Path);

/// A GPU as the CUDA driver describes it.
struct CudaDeviceFacts {
  std::string Name; ///< "NVIDIA H200"
  std::string Arch; ///< "sm_90"
};

/// Asks the CUDA driver which GPUs there are, which takes a tenth of a second,
/// in a process of its own: the launcher forks its compile jobs and must not
/// have the driver's threads.
class CudaProbe {
public:
  static Expected<CudaProbe> start();
  /// Becomes readable when there is something for poll() to do.
  int fd() const { return Driver.fd(); }
  /// \returns whether the driver has answered, or never will.
  bool poll() { return HasAnswered = HasAnswered || Driver.poll(); }
  /// Waits for the answer, once: the GPUs, one at least. Error: there is none,
  /// or no driver that will do.
  Expected<std::vector<CudaDeviceFacts>> finish();

private:
  explicit CudaProbe(ChildTask Driver) : Driver(std::move(Driver)) {}
  ChildTask Driver;
  bool HasAnswered = false;
};

/// Error where no code for \p Archs runs on one of \p Devices. \returns a
/// warning for the user where none is compiled for them, but the driver may
/// compile PTX that the application holds; else an empty string.
Expected<std::string> checkArchitectures(ArrayRef<std::string> Archs,
                                         ArrayRef<CudaDeviceFacts> Devices);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_APPLICATIONCHECK_H
