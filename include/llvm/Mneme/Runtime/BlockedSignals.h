//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Keeps signals from a thread for a while, in the runtimes and in the tools.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_BLOCKEDSIGNALS_H
#define LLVM_MNEME_RUNTIME_BLOCKEDSIGNALS_H

#include <pthread.h>
#include <signal.h>

namespace llvm {
namespace mneme {

/// Blocks all signals of the calling thread during its lifetime. Threads that
/// are started meanwhile block them, too: the application's signal handlers
/// must not run on Mneme's threads.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t All;
    sigfillset(&All);
    pthread_sigmask(SIG_SETMASK, &All, &Before);
  }
  BlockedSignals(const BlockedSignals &) = delete;
  BlockedSignals &operator=(const BlockedSignals &) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &Before, nullptr); }

private:
  sigset_t Before;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RUNTIME_BLOCKEDSIGNALS_H
