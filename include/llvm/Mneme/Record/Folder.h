//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How those that write into a folder of recordings keep out of each other's
/// way, and what they call their files.
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

/// Waits for the lock of folder \p Dir, which everybody holds who changes
/// kernel files or removes something. Launchers wait for it while the
/// application waits for them: hold it shortly.
Expected<LockedFile> lockFolder(StringRef Dir);

/// A folder below one of recordings for files that are not complete yet. While
/// one is in use, nothing is removed from the recordings.
Expected<PrivateFolder> createStagingFolder(StringRef Below);
bool isStagingFolderName(StringRef Name);

/// The names of a launch's snapshots and of a kernel's bitcode.
std::string snapshotName(bool Epilogue, StringRef StaticHash,
                         StringRef DynamicHash);
std::string moduleName(StringRef StaticHash);

/// Whether recording makes files of this name, but for kernel files.
bool isArtifact(StringRef Name);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_FOLDER_H
