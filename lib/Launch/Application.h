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

#ifndef LLVM_MNEME_LIB_LAUNCH_APPLICATION_H
#define LLVM_MNEME_LIB_LAUNCH_APPLICATION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

/// \p Name as execvp would find it.
Expected<std::string> findApplication(StringRef Name);

/// Error when \p Path cannot be recorded: an ELF executable that holds no
/// payload, loads no library that does, or into which nothing can be preloaded.
/// \returns a warning for the user, or an empty string.
Expected<std::string> checkApplication(const std::string &Path,
                                       bool AnyExecutable);

/// Whether the NVIDIA driver is there and finds a device.
bool hasCudaDevice();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_APPLICATION_H
