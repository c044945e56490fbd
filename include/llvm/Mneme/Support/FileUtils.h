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

/// Writes a temporary file beside \p Path, syncs it and renames it over \p
/// Path. On any error \p Path is as it was and the Error names it.
Error writeFileAtomically(StringRef Path,
                          function_ref<Error(raw_ostream &)> Write);
Error writeFileAtomically(StringRef Path, StringRef Contents);

/// The whole file; the Error names it.
Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_FILEUTILS_H
