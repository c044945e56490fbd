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
#include "llvm/Support/Error.h"
#include <string>
#include <utility>

namespace llvm {
namespace mneme {

/// An open file that is locked until it goes, or nothing.
class LockedFile {
public:
  LockedFile() = default;
  LockedFile(LockedFile &&Other) : FD(std::exchange(Other.FD, -1)) {}
  LockedFile &operator=(LockedFile &&Other) {
    std::swap(FD, Other.FD);
    return *this;
  }
  ~LockedFile();
  /// \p Flags and \p Operation: of open and flock. The result is nothing, with
  /// errno, where that cannot be.
  static LockedFile open(const std::string &Path, int Flags, int Operation);
  explicit operator bool() const { return FD >= 0; }
  /// Whether nobody has removed it.
  bool isLinked() const;

private:
  int FD = -1;
};

/// Waits for the lock of folder \p Dir, which everybody holds who changes
/// kernel files or removes something. Launchers wait for it while the
/// application waits for them: hold it shortly.
Expected<LockedFile> lockFolder(StringRef Dir);

/// A folder below one of recordings for what is not whole yet. It is locked as
/// long as it is in use; while there is such a one, nothing is removed from
/// the recordings.
class StagingFolder {
public:
  /// None: its path is empty.
  StagingFolder() = default;
  static Expected<StagingFolder> create(StringRef Below);
  StagingFolder(StagingFolder &&Other)
      : Path(std::exchange(Other.Path, "")), Lock(std::move(Other.Lock)) {}
  StagingFolder &operator=(StagingFolder &&Other) {
    std::swap(Path, Other.Path);
    std::swap(Lock, Other.Lock);
    return *this;
  }
  /// Removes it with all that is left there.
  ~StagingFolder();
  const std::string &path() const { return Path; }

  static bool isName(StringRef Name);
  /// Nothing where it is in use, or the file system cannot lock folders.
  static LockedFile tryLock(const std::string &Path);

private:
  std::string Path;
  LockedFile Lock;
};

/// The names of a launch's snapshots and of a kernel's bitcode.
std::string snapshotName(bool Epilogue, StringRef StaticHash,
                         StringRef DynamicHash);
std::string moduleName(StringRef StaticHash);

/// Whether recording makes files of this name, but for kernel files.
bool isArtifact(StringRef Name);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_FOLDER_H
