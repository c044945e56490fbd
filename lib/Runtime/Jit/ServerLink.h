//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The connection to the compile server, which is started if none runs. Neither
/// children nor signals of the application are affected: the server is no child
/// of the process.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_SERVERLINK_H
#define MNEME_LIB_RUNTIME_JIT_SERVERLINK_H

#include "JitSettings.h"
#include "llvm/Mneme/Runtime/JitExchange.h"

#include <mutex>
#include <string>

namespace mneme {

struct JitAnswer {
  std::string Facts, Image; ///< Encoded.
  JitOrigin Origin = JitOrigin::Compiled;
  std::string Note; ///< Why the cache was not written, or empty.
};

/// The result of an exchange.
struct LinkStatus {
  enum Kind {
    Ok,
    Refused,  ///< The server's answer is an error: Text.
    NoServer, ///< There is no server, or it has ended: Text.
  } K = Ok;
  std::string Text;
};

/// Thread-safe. Functions may throw std::bad_alloc.
class ServerLink {
public:
  explicit ServerLink(const JitSettings &Settings) : Settings(Settings) {}

  /// Asks for the identity of the toolchain.
  LinkStatus identify(JitTarget Target, std::string &Identity);
  /// \param Body  of the request, as in JitExchange.h.
  LinkStatus compile(JitTarget Target, const std::string &Body,
                     JitAnswer &Answer);
  /// Likewise, of a source.
  LinkStatus build(JitTarget Target, const std::string &Body, JitBuilt &Built);

private:
  LinkStatus connect(JitTarget Target, int &Fd, std::string &Identity);
  LinkStatus open(int &Fd);
  LinkStatus request(JitTarget Target, uint32_t Type, const std::string &Body,
                     std::string &Answer);
  LinkStatus exchange(int Fd, uint32_t Type, const std::string &Body,
                      std::string &Answer);
  LinkStatus start(const std::string &Socket);
  std::string run(const std::string &Socket, int ReadyFd);
  LinkStatus findSocket(std::string &Path);

  const JitSettings &Settings;
  std::mutex Lock;
  unsigned Failures = 0; ///< To start a server.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_SERVERLINK_H
