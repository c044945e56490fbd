//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The connection to the launcher that stays the application's parent: it
/// compiles kernels for us and keeps the recording database. Opened at the
/// first request.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_LAUNCHERLINK_H
#define MNEME_LIB_RUNTIME_CORE_LAUNCHERLINK_H

#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <mutex>
#include <string>
#include <sys/types.h>

namespace mneme {

/// What a runtime says of itself.
struct RuntimeFacts {
  const char *Device; ///< "host", "cuda"
  /// What compiled kernels may refer to; none where kernels are not compiled
  /// for us.
  const MnemeHostSymbol *Symbols;
  size_t NumSymbols;
};

/// Each runtime has its own.
RuntimeFacts runtimeFacts();

class LauncherLink {
public:
  static LauncherLink &get();

  /// Not connected yet.
  LauncherLink() = default;
  /// Has greeted the peer of \p Socket, which it will close.
  explicit LauncherLink(int Socket);
  LauncherLink(const LauncherLink &) = delete;
  LauncherLink &operator=(const LauncherLink &) = delete;
  ~LauncherLink() { hangUp(); }

  /// Sends a request and waits for its answer, of \p MaxAnswer bytes at most.
  /// \returns an empty string, or what went wrong: the launcher's own words, or
  /// why it cannot be reached. After the connection broke, every request fails
  /// at once. Throws std::bad_alloc, and can be called again, where the answer
  /// does not fit into memory.
  std::string request(uint32_t Type, const WireWriter &Body,
                      std::string &Answer, uint64_t MaxAnswer = MaxShortAnswer);

  /// The same for a request that must not need memory: \p Body has \p Size
  /// bytes, and nobody wants to know the answer.
  void notify(uint32_t Type, const void *Body, size_t Size);

  /// A reader behind the error string that every answer begins with.
  static WireReader reader(const std::string &Answer) {
    WireReader R(Answer.data(), Answer.size());
    R.str();
    return R;
  }

  /// Says hello unless that was done. \returns as request().
  std::string connect();

  /// Where to put snapshots for the launcher to take; empty when nothing is to
  /// be recorded. After connect().
  const std::string &directory() const { return Directory; }

  /// Where the launcher takes them to.
  const std::string &database() const { return Database; }

  /// Whether [Address, Address + Size) lies where compiled kernels may be put.
  bool ownsCode(uint64_t Address, uint64_t Size) const {
    return Address >= CodeBase && Size <= CodeSize &&
           Address - CodeBase <= CodeSize - Size;
  }

  bool connected() const { return Fd >= 0; }

private:
  std::string open();
  void own(int TheFd);
  std::string greet();
  std::string exchange(uint32_t Type, const WireWriter &Body,
                       std::string &Answer, uint64_t MaxAnswer);
  const char *send(uint32_t Type, const void *Body, size_t Size,
                   MnemeWireHeader &Answer);
  std::string whyUnusable();
  std::string fail(const std::string &Why);
  void hangUp();
  bool isOurs() const;

  std::mutex Lock;
  int Fd = -1;
  struct {
    dev_t Device;
    ino_t File;
  } Socket = {};
  int Pid = 0; ///< Of the process that connected.
  std::string Broken;
  std::string Directory, Database;
  uint64_t CodeBase = 0, CodeSize = 0;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_LAUNCHERLINK_H
