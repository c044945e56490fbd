//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The connection to the launcher, the application's parent process, which
/// compiles kernels for the runtime and maintains the recording database.
/// Opened at the first request.
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

/// A runtime's description of itself.
struct RuntimeFacts {
  const char *Device; ///< "host", "cuda" or "hip".
  /// Symbols that compiled kernels may refer to; none if the launcher does not
  /// compile kernels for the runtime.
  const MnemeHostSymbol *Symbols;
  size_t NumSymbols;
};

/// Defined by each runtime.
RuntimeFacts runtimeFacts();

class LauncherLink {
public:
  static LauncherLink &get();

  /// Starts unconnected.
  LauncherLink() = default;
  /// Takes a connection whose handshake is complete, and will close \p Socket.
  explicit LauncherLink(int Socket);
  LauncherLink(const LauncherLink &) = delete;
  LauncherLink &operator=(const LauncherLink &) = delete;
  ~LauncherLink() { hangUp(); }

  /// Sends a request and waits for its answer of at most \p MaxAnswer bytes.
  /// \returns an empty string, or an error message: the launcher's own, or the
  /// reason why it cannot be reached. After the connection has failed, every
  /// request fails at once. Throws std::bad_alloc if the answer does not fit
  /// into memory; the function can then be called again.
  std::string request(uint32_t Type, const WireWriter &Body,
                      std::string &Answer, uint64_t MaxAnswer = MaxShortAnswer);

  /// Sends a request of \p Size bytes without allocating, and ignores the
  /// answer.
  void notify(uint32_t Type, const void *Body, size_t Size);

  /// Returns a reader positioned after the error string that begins every
  /// answer.
  static WireReader reader(const std::string &Answer) {
    WireReader R(Answer.data(), Answer.size());
    R.str();
    return R;
  }

  /// Performs the handshake unless that was done. \returns as request().
  std::string connect();

  /// Folder for snapshots that the launcher will take over; empty if nothing is
  /// to be recorded. Valid after connect().
  const std::string &directory() const { return Directory; }

  /// Folder to which the launcher moves them.
  const std::string &database() const { return Database; }

  /// Returns true if [Address, Address + Size) is in the range for compiled
  /// kernels.
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
