//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Waiting for processes that this one has started.
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

/// Lets this process wait for its children, even where what started it ignores
/// the ends of its own, as daemons do: that is inherited, and then nobody can
/// tell how a child ended.
void expectChildren();

/// Takes that back, in a process that becomes another program.
void restoreChildSignals();

/// The status of what is no child, or no more: it has ended somehow.
constexpr int UnknownStatus = -1;

/// How a process with the status of waitpid() has ended, as what follows its
/// name: "died of signal 11 (Segmentation fault)", "ended the process with exit
/// code 3".
std::string describeExit(int Status);

/// Waits until \p Child has ended, whatever signals come. \returns its status,
/// or UnknownStatus; its number may be another process's then.
int waitForChild(pid_t Child);

/// The same for at most \p Seconds. Unset if it has not ended then.
std::optional<int> waitForChild(pid_t Child, double Seconds);

/// Asks \p IsOver, at least once, until it says so or \p Seconds are over; with
/// pauses between that grow to some milliseconds. \returns its last answer.
bool waitUntil(function_ref<bool()> IsOver, double Seconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_CHILDPROCESS_H
