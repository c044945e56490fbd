//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The environment of the application.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_LAUNCHENVIRONMENT_H
#define LLVM_MNEME_LIB_LAUNCH_LAUNCHENVIRONMENT_H

#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Mneme/Support/Folders.h"

namespace llvm {
namespace mneme {

/// Variables and values.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// The variable by which the CUDA driver knows a profiler to load.
inline constexpr char CudaInjection[] = "CUDA_INJECTION64_PATH";

/// The name in the launcher's folder of the file with the selected shapes.
inline constexpr char ShapesFile[] = "shapes";

/// Returns the variables to set for the application. They preload \p Libraries,
/// the runtime first, and tell the runtime its selection and the path of the
/// launcher's socket in \p Folder. A profiler is not preloaded: the CUDA driver
/// loads it.
Expected<Environment> makeEnvironment(const LaunchOptions &Options,
                                      ArrayRef<std::string> Libraries,
                                      const PrivateFolder &Folder);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_LAUNCHENVIRONMENT_H
