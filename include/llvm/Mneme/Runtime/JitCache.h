//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The cache of the JIT on disk, for the applications and for the compile
/// server, and the identity of the toolchain that its keys contain. No LLVM
/// here. Nothing in a file is trusted: a damaged or foreign one is as if it
/// were missing.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_JITCACHE_H
#define LLVM_MNEME_RUNTIME_JITCACHE_H

#include "llvm/Mneme/Runtime/JitExchange.h"

#include <cstdint>
#include <map>
#include <string>
#include <time.h>
#include <vector>

namespace mneme {

/// Returns the 16 bytes of the XXH3-128 (canonical).
std::string jitDigest(const void *Bytes, size_t Size);
inline std::string jitDigest(const std::string &Bytes) {
  return jitDigest(Bytes.data(), Bytes.size());
}

enum class JitFile { Facts, Code, Toolchain };

/// Returns the name of the file for a key.
std::string jitFileName(const std::string &Key, JitFile Kind);
/// Returns true for a name that jitFileName() may have returned for \p Kind.
bool isJitFileName(const std::string &Name, JitFile Kind);

/// Returns the contents of a file.
std::string jitFileBytes(const std::string &Key, const std::string &Contents);
enum class JitRead { Found, Missing, Damaged };
/// Reads the contents for \p Key. A file that is not the user's or root's, or
/// no regular file, counts as damaged. Marks the file as used. Throws
/// std::bad_alloc.
JitRead readJitFile(const std::string &Folder, const std::string &Key,
                    JitFile Kind, std::string &Contents);

/// Returns 16 bytes that identify the features of this CPU.
std::string cpuIdentity();

/// The files that the identity of a toolchain depends on. If none has changed,
/// neither has the identity.
struct JitToolchain {
  struct File {
    std::string Path;
    uint64_t Device, Inode, Size, Modified; ///< Nanoseconds.
  };
  std::string Identity; ///< 16 bytes.
  std::vector<File> Files;

  /// Adds a file. \returns false if it does not exist.
  bool add(const std::string &Path);
  bool isCurrent() const;
  std::string encode() const;
  static bool decode(const std::string &Bytes, JitToolchain &Result);
};

/// The paths that compilers and linkers have looked up for a library. If
/// nothing has changed there, neither has the library.
struct JitInputs {
  struct File {
    /// May be relative to the folder of the source. If it ends in a slash, the
    /// names in the folder count.
    std::string Path;
    std::string Digest; ///< Empty: there was nothing.
    /// If that of the file is the same, so is the digest. May be empty.
    std::string Stamp;
    /// As described (mnemeFileIdentity()); empty if it was decoded.
    std::string Identity = {};
    /// Returns false if the digest says something else.
    bool isRead() const { return Digest.size() == 16; }
  };
  std::vector<File> Files;
  using Digests = std::map<std::string, std::string>; ///< By stamps.

  /// Adds a path that existed, or did not if \p Found is false. If that has
  /// changed by now, or the file cannot be read or has changed, isCurrent()
  /// always returns false.
  /// \param Identity  of the file as it was read (mnemeFileIdentity()); may be
  /// empty. It has not changed then if it did not after \p Read, which is a time
  /// of CLOCK_REALTIME_COARSE, as those of files.
  /// \param Known  need not be computed again. Others are added.
  void add(const std::string &Path, const std::string &Folder,
           const timespec &Read, bool Found, const std::string &Identity,
           Digests &Known);
  bool isCurrent(const std::string &Folder) const;
  std::string encode() const;
  static bool decode(const std::string &Bytes, JitInputs &Result);
};

/// Returns the key of the inputs of a source, with the identity of the
/// toolchain (16 bytes). The key of the library has those appended.
/// \param Folder  the current one: other folders may have other files.
std::string makeSourceKey(const std::string &Identity, const JitSource &S,
                          const std::string &Folder);

/// Returns whether \p Bytes begin like an ELF shared library.
bool isSharedLibrary(const std::string &Bytes);

/// Returns the key of the file with the toolchain of a server on this machine.
/// \param CudaPath  of the toolkit, or empty; only if the target has kernels
/// of a GPU.
std::string makeToolchainKey(const std::string &Server,
                             const std::string &CudaPath, JitTarget Target);

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_JITCACHE_H
