//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Folders and locks in places where other users can plant links: temporary
/// folders, shared folders of recordings. The last component of a path that is
/// locked or removed is never followed when it is a symbolic link.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_FOLDERS_H
#define LLVM_MNEME_SUPPORT_FOLDERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>

namespace llvm {
namespace mneme {

/// Removes a file, a symbolic link (not its target), or a folder with all that
/// it contains. Success if \p Path does not exist.
Error removeTree(StringRef Path);

/// Is \p Path a folder, rather than a link to one?
bool isRealFolder(StringRef Path);

/// An open file or folder that is locked until it is destroyed, or nothing.
class LockedFile {
public:
  LockedFile() = default;
  LockedFile(LockedFile &&Other) : FD(std::exchange(Other.FD, -1)) {}
  LockedFile &operator=(LockedFile &&Other) {
    std::swap(FD, Other.FD);
    return *this;
  }
  ~LockedFile();
  /// \p Flags and \p Operation: of open and flock. Follows no link, and does not
  /// wait for the other end of a FIFO. Empty, with errno, on failure.
  static LockedFile open(const std::string &Path, int Flags, int Operation);
  /// Locks a folder if no process has locked it.
  static LockedFile tryFolder(const std::string &Path);
  /// Waits for the lock of a file, which it creates if it does not exist.
  static Expected<LockedFile> wait(const std::string &Path);
  explicit operator bool() const { return FD >= 0; }
  /// False once the file has been removed.
  bool isLinked() const;

private:
  int FD = -1;
};

/// Removes the files and folders in \p Dir whose name \p IsName accepts, which
/// belong to this user, and which no process has locked: what killed processes
/// left. Failures are ignored: abandoned files do no harm.
void removeAbandoned(StringRef Dir, function_ref<bool(StringRef Name)> IsName);

/// A new folder that only this user can enter: locked while it is in use,
/// removed with its contents by the destructor, or by removeAbandoned() after
/// this process was killed.
class PrivateFolder {
public:
  /// Empty.
  PrivateFolder() = default;
  /// Creates \p Below/\p Prefix and six characters.
  static Expected<PrivateFolder> create(StringRef Below, StringRef Prefix);
  /// In the system's temporary folder, from which the first call removes those
  /// of killed processes. \p ForSockets: in /tmp if the path would be too long for
  /// a socket in it, or have spaces or colons, which LD_PRELOAD cannot name.
  static Expected<PrivateFolder> createTemporary(bool ForSockets = false);
  PrivateFolder(PrivateFolder &&Other)
      : Path(std::exchange(Other.Path, "")), Lock(std::move(Other.Lock)) {}
  PrivateFolder &operator=(PrivateFolder &&Other) {
    std::swap(Path, Other.Path);
    std::swap(Lock, Other.Lock);
    return *this;
  }
  ~PrivateFolder();

  const std::string &path() const { return Path; }
  std::string pathOf(StringRef Name) const;

  /// Is it a name that create() gives?
  static bool isName(StringRef Name, StringRef Prefix);

private:
  std::string Path;
  LockedFile Lock;
};

/// Creates \p Dir, with its parents, unless it exists. Error unless it then is
/// a folder, not a link to one, that belongs to this user and that no other
/// user can write to. The contents of a \p Secret new one are unreadable for
/// others.
Error makeOwnFolder(StringRef Dir, bool Secret = false);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_FOLDERS_H
