//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The server of `llvm-mneme-replay serve`: evaluates configurations for a
/// client in another language, and reads IR and memory for it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SERVE_SERVE_H
#define LLVM_MNEME_SERVE_SERVE_H

#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Study/Study.h"

namespace llvm {
namespace mneme {

/// The version of the messages (Serve/Messages.def).
inline constexpr uint32_t ServeProtocolVersion = 1;

struct ServeOptions {
  /// The recorded launches and the machine. Without record ids, all launches of
  /// the kernel.
  FarmOptions Farm;
  /// Path of a Unix socket to create; empty: the client is at standard input
  /// and output. Only this user can connect.
  std::string Listen;
  /// Parse a study and return a preset. Without them, clients can define spaces
  /// only by options and parameters.
  std::function<Expected<Study>(StringRef Text)> ParseStudy;
  std::function<Expected<Study>(StringRef Name)> GetPreset;
  /// Receives messages that no client can receive.
  std::function<void(StringRef)> Message;
};

/// Serves until the client at standard input and output, or the last client of
/// the socket, has closed its connection. All processes then end. Call it in a
/// process with one thread that has not used a GPU. Fails on errors in the
/// recording, the socket, and messages that are not of the protocol.
Error runServer(ServeOptions Options);

/// Returns the tables that clients may generate code from: settings, metrics,
/// verdicts, failures, samplers, and the versions.
json::Object describeTables();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SERVE_SERVE_H
