//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files that pass payloads, launch rules, annotations and sources from the
/// device compilation of a source to its host compilation. Clang's driver runs
/// both in succession as children of one process, so a file name made of the
/// driver's identity and the source's name is unambiguous even in parallel
/// builds. Files that no host compilation has read (after syntax errors or in
/// device-only compilations) are removed once their driver has ended.
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

/// What a side file contains.
enum class SideFile { Payload, LaunchRules, Jit, Source };

/// Writes \p Contents for the host compilation of \p SourceName. \p Target
/// distinguishes the device compilations of a source.
Error writeSideFile(StringRef SourceName, StringRef Target, StringRef Contents,
                    SideFile Kind = SideFile::Payload);

/// Reads and removes the files that the device compilations of \p SourceName
/// wrote, in an order that depends only on their targets.
Expected<std::vector<std::string>>
takeSideFiles(StringRef SourceName, SideFile Kind = SideFile::Payload);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_SIDEFILES_H
