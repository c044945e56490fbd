//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Folders and locks in locations where other users can create links: temporary
/// folders, shared recording folders. If the last component of a path to lock
/// or remove is a symbolic link, it is never followed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_FOLDERS_H
#define LLVM_MNEME_SUPPORT_FOLDERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>

namespace llvm {
namespace mneme {

/// Removes a file, a symbolic link (not its target), or a folder and its
/// contents. Succeeds if \p Path does not exist.
Error removeTree(StringRef Path);

/// Returns true if \p Path is a folder and not a symbolic link.
bool isRealFolder(StringRef Path);

/// An open file or folder, locked until destruction, or empty.
class LockedFile {
public:
  LockedFile() = default;
  LockedFile(LockedFile &&Other) : FD(std::exchange(Other.FD, -1)) {}
  LockedFile &operator=(LockedFile &&Other) {
    std::swap(FD, Other.FD);
    return *this;
  }
  ~LockedFile();
  /// Opens and locks a file with \p Flags of open() and \p Operation of
  /// flock(). Does not follow links or wait for the peer of a FIFO. On failure,
  /// returns an empty object and sets errno.
  static LockedFile open(const std::string &Path, int Flags, int Operation);
  /// Locks a folder if it is not locked; otherwise returns an empty object.
  static LockedFile tryFolder(const std::string &Path);
  /// Waits for the lock of a file, creating the file if necessary.
  static Expected<LockedFile> wait(const std::string &Path);
  explicit operator bool() const { return FD >= 0; }
  /// Returns false once the file has been removed.
  bool isLinked() const;

private:
  int FD = -1;
};

/// Removes files and folders in \p Dir that killed processes left: those with a
/// name accepted by \p IsName, owned by this user, and not locked. Ignores
/// failures, as abandoned files are harmless.
void removeAbandoned(StringRef Dir, function_ref<bool(StringRef Name)> IsName);

/// A new folder that only this user can access, locked while in use. The
/// destructor removes it with its contents, and so does the handler of
/// removeOnSignals(); if the process is killed first, removeAbandoned() does.
class PrivateFolder {
public:
  /// Creates an empty object.
  PrivateFolder() = default;
  /// Creates \p Below/\p Prefix with a suffix of six characters.
  static Expected<PrivateFolder> create(StringRef Below, StringRef Prefix);
  /// Creates a folder in the system's temporary folder. The first call removes
  /// those of killed processes. With \p ForSockets, uses /tmp if the path would
  /// be too long for a socket, or contain spaces or colons, which LD_PRELOAD
  /// does not support.
  static Expected<PrivateFolder> createTemporary(bool ForSockets = false);
  /// Removes the temporary folders of killed processes.
  static void removeAbandonedTemporary();
  /// From now on, SIGINT, SIGTERM and SIGHUP remove the folders of this process
  /// before they end it. Ignored signals stay ignored. Call it in main(); a tool
  /// that ends in an orderly way after a signal replaces the handlers.
  static void removeOnSignals();
  /// Removes the folders of this process, which ends now. Can be called in a
  /// signal handler.
  static void removeAll();
  PrivateFolder(PrivateFolder &&Other)
      : Path(std::exchange(Other.Path, "")), Lock(std::move(Other.Lock)),
        Entry(std::exchange(Other.Entry, nullptr)) {}
  PrivateFolder &operator=(PrivateFolder &&Other) {
    std::swap(Path, Other.Path);
    std::swap(Lock, Other.Lock);
    std::swap(Entry, Other.Entry);
    return *this;
  }
  ~PrivateFolder();

  const std::string &path() const { return Path; }
  std::string pathOf(StringRef Name) const;

  /// Returns true if create() may have chosen this name.
  static bool isName(StringRef Name, StringRef Prefix);

private:
  struct Registered;
  std::string Path;
  LockedFile Lock;
  Registered *Entry = nullptr;
};

/// Creates \p Dir and its parents if necessary. Fails unless \p Dir is then a
/// folder, not a symbolic link, owned by this user and not writable for others.
/// With \p Secret, others cannot read the contents of a new folder.
Error makeOwnFolder(StringRef Dir, bool Secret = false);

/// Returns the folder in an environment variable such as XDG_CACHE_HOME, which
/// must be absolute by the specification; unset otherwise.
std::optional<std::string> getUserFolder(StringRef Variable);

/// Returns the default folder for files that are kept between runs: below
/// XDG_CACHE_HOME, or where temporary files are.
std::string getDefaultCacheDir();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_FOLDERS_H
