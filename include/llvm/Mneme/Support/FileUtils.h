//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes files atomically and reads untrusted files, which must be regular
/// files.
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

/// Returns the path of a file in a folder.
std::string pathIn(StringRef Folder, const Twine &Name);

/// Writes a temporary file next to \p Path, syncs it unless \p Sync is false,
/// and renames it to \p Path. Replaces a symbolic link at \p Path instead of
/// following it. On an error, which names \p Path, the old file is unchanged.
/// Writes directly to a device or a FIFO. Also removes temporary files that
/// killed processes left in the folder.
Error writeFileAtomically(StringRef Path,
                          function_ref<Error(raw_ostream &)> Write,
                          bool Sync = true);
Error writeFileAtomically(StringRef Path, StringRef Contents, bool Sync = true);

/// Searches for the program \p Name as execvp() does.
Expected<std::string> findProgram(StringRef Name);

/// Writes an executable text file atomically.
Error writeScript(StringRef Path, StringRef Text);

/// Waits until a file, or the directory entries of a folder, are on the disk.
Error syncFile(StringRef Path);

/// Opens \p Path for writing, with \p Flags O_TRUNC, O_APPEND or O_EXCL.
/// Creates the file if necessary. Fails for a FIFO without reader.
Expected<int> openToWrite(StringRef Path, int Flags);

/// Opens \p Path for reading. Errors name it. Fails if it is not a regular file
/// (a FIFO may block, a device may be infinite) or exceeds \p MaxSize bytes.
Expected<int> openToRead(StringRef Path, uint64_t MaxSize = UINT64_MAX);

/// Reads a regular file, mapping large ones. Errors name the file.
Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef Path,
                                                 uint64_t MaxSize = UINT64_MAX,
                                                 bool NullTerminated = false);

/// Size limit of text files in bytes: parsing takes up to 20 times the memory.
constexpr uint64_t MaxTextFile = 64 << 20;

/// Size limit of IR files in bytes, which are parsed as a whole.
constexpr uint64_t MaxIRFile = 1 << 30;

/// Reads a file of at most MaxTextFile bytes.
Expected<std::unique_ptr<MemoryBuffer>> readTextFile(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_FILEUTILS_H
