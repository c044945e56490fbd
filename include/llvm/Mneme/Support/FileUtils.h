//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files that are either complete or absent, and files from elsewhere: only
/// regular ones are read.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_FILEUTILS_H
#define LLVM_MNEME_SUPPORT_FILEUTILS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>

namespace llvm {
class raw_ostream;
namespace mneme {

/// Writes a temporary file beside \p Path, syncs it, unless \p Sync is false,
/// and renames it over \p Path, which is not followed when it is a symbolic
/// link. On any error \p Path is as it was and the Error names it. A device or
/// a FIFO is written to directly. Removes what killed processes left of earlier
/// temporary files in the same folder.
Error writeFileAtomically(StringRef Path,
                          function_ref<Error(raw_ostream &)> Write,
                          bool Sync = true);
Error writeFileAtomically(StringRef Path, StringRef Contents);

/// The same for a text that can be executed.
Error writeScript(StringRef Path, StringRef Text);

/// Waits until a file, or what a folder has in it, is on the disk.
Error syncFile(StringRef Path);

/// Opens \p Path to write to it: \p Flags: O_TRUNC, O_APPEND or O_EXCL. It is
/// created if it does not exist. A FIFO that no process reads is an error.
Expected<int> openToWrite(StringRef Path, int Flags);

/// Opens \p Path to read from it. Errors name it: not a regular file (a FIFO
/// may block for ever, a device may have no end), more than \p MaxSize bytes.
Expected<int> openToRead(StringRef Path, uint64_t MaxSize = UINT64_MAX);

/// A whole regular file, mapped where it is large; the Error names it.
Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef Path,
                                                 uint64_t MaxSize = UINT64_MAX,
                                                 bool NullTerminated = false);

/// The largest text: a parsed one takes up to 20 times its memory.
constexpr uint64_t MaxTextFile = 64 << 20;

/// The largest file of IR, which is parsed as a whole.
constexpr uint64_t MaxIRFile = 1 << 30;

/// A file of at most MaxTextFile bytes, in memory.
Expected<std::unique_ptr<MemoryBuffer>> readTextFile(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_FILEUTILS_H
