//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Waits for child processes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_CHILDPROCESS_H
#define LLVM_MNEME_SUPPORT_CHILDPROCESS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>
#include <sys/types.h>

namespace llvm {
namespace mneme {

/// Lets this process wait for its children even if it inherited an ignored
/// SIGCHLD, for example from a daemon. Otherwise, exit statuses of children are
/// lost.
void expectChildren();

/// Undoes expectChildren(), in a process about to execute another program.
void restoreChildSignals();

/// The status of a process that is not a child (any more): it has ended in an
/// unknown way.
constexpr int UnknownStatus = -1;

/// Describes how a process with this waitpid() status ended, as text that
/// follows its name: "died of signal 11 (Segmentation fault)", "ended the
/// process with exit code 3".
std::string describeExit(int Status);

/// Waits for \p Child to end, regardless of signals. \returns its status, or
/// UnknownStatus. The process id may be reused afterwards.
int waitForChild(pid_t Child);

/// Waits for at most \p Seconds. Returns nothing on timeout.
std::optional<int> waitForChild(pid_t Child, double Seconds);

/// Polls \p IsOver at least once until it returns true or \p Seconds have
/// passed. Pauses between calls grow to some milliseconds. \returns its last
/// result.
bool waitUntil(function_ref<bool()> IsOver, double Seconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_CHILDPROCESS_H
