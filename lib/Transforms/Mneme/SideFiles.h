//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the device compile of a source hands payloads to its host compile.
/// Clang's driver runs them one after the other as children of one process, so
/// a file name made of the driver's identity and the source's name is
/// unambiguous, also under parallel builds. Files that no host compile took
/// (-fsyntax errors, device-only compiles) are collected once their driver is
/// gone.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_SIDEFILES_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_SIDEFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Writes \p Payload for the host compile of \p SourceName. \p Target tells the
/// device compiles of one source apart.
Error writeSideFile(StringRef SourceName, StringRef Target, StringRef Payload);

/// Reads and removes what the device compiles of \p SourceName wrote, in an
/// order that depends only on their targets.
Expected<std::vector<std::string>> takeSideFiles(StringRef SourceName);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_SIDEFILES_H
