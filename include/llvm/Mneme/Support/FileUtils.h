//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files that are either whole or absent.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_FILEUTILS_H
#define LLVM_MNEME_SUPPORT_FILEUTILS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace llvm {
class raw_ostream;
namespace mneme {

/// Writes a temporary file beside \p Path, syncs it, unless \p Sync is false,
/// and renames it over \p Path. On any error \p Path is as it was and the Error
/// names it.
Error writeFileAtomically(StringRef Path,
                          function_ref<Error(raw_ostream &)> Write,
                          bool Sync = true);
Error writeFileAtomically(StringRef Path, StringRef Contents);

/// Waits until a file, or what a folder has in it, is on the disk.
Error syncFile(StringRef Path);

/// The whole file; the Error names it.
Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_FILEUTILS_H
