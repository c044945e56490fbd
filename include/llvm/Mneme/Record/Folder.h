//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Synchronization of the writers of a recording folder, and the names of their
/// files.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_FOLDER_H
#define LLVM_MNEME_RECORD_FOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

/// Waits for the lock of folder \p Dir. Changing kernel files or removing files
/// requires this lock. Recording applications wait for it, so hold it only
/// briefly.
Expected<LockedFile> lockFolder(StringRef Dir);

/// Creates a folder for incomplete files below a recording folder. No
/// recordings are removed while a staging folder is in use.
Expected<PrivateFolder> createStagingFolder(StringRef Below);
/// Returns true if \p Name is the name of a staging folder.
bool isStagingFolderName(StringRef Name);

/// Return the file names of a launch's snapshots and of a kernel's bitcode.
std::string snapshotName(bool Epilogue, StringRef StaticHash,
                         StringRef DynamicHash);
std::string moduleName(StringRef StaticHash);
/// Returns what an image is: "PTX", "cubin" or, for "gfx90a", "code object".
StringRef getImageKind(bool IsPTX, StringRef Arch);
/// Returns "RecordedImage_<static hash>.cubin", or ".ptx", or ".co".
std::string imageName(StringRef StaticHash, bool IsPTX, StringRef Arch);

/// Returns true if \p Name is the name of a file that recording creates, other
/// than a kernel file.
bool isArtifact(StringRef Name);

/// Returns true if \p Name is the name of a file of recordings, including
/// kernel files. A tool that writes a file of this name may overwrite a
/// recording.
bool isRecordingFile(StringRef Name);

/// Fails if the file name of \p Path, the value of \p Option ("--output-ll"),
/// is that of a file of recordings.
Error checkOutputFile(StringRef Option, StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_FOLDER_H
