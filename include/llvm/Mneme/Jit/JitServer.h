//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The JIT's compile server: compiles for all processes of a user, each key
/// once, and writes the cache (Runtime/JitExchange.h). One thread and one poll
/// loop; compilations run in child processes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_JIT_JITSERVER_H
#define LLVM_MNEME_JIT_JITSERVER_H

#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

struct JitServerOptions {
  std::string Socket;
  /// Path of the program that clients start.
  std::string Program;
  /// Compilations at a time; 0: one per core.
  unsigned Jobs = 0;
  /// The server ends when it has had nothing to do for so long.
  double IdleSeconds = 60;
  /// Time limit of a compilation.
  double CompileSeconds = 600;
  /// Gets one byte once the server listens, or another one does; -1: none.
  int ReadyFD = -1;
};

/// Serves. Returns when idle, after SIGTERM, or if another server is listening
/// already.
Error runJitServer(const JitServerOptions &Options);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_JIT_JITSERVER_H
