//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How long the driver has kept the writer's thread.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_WRITERCLOCK_H
#define MNEME_LIB_RUNTIME_GPUTAP_WRITERCLOCK_H

#include <atomic>
#include <cstdint>

namespace mneme {

/// Only the writer's time in the driver is limited: its time on the host ends
/// with the disk's work. Thread-safe, without a lock.
class WriterClock {
public:
  /// Makes the calling thread the writer.
  static void enterWriter();
  /// Whether the calling thread is the writer.
  static bool isWriter();

  /// The writer comes to the host, or goes to the driver. Calls of other
  /// threads have no effect.
  void noteOnHost(bool Is);
  /// Called when a thread begins to wait for the writer: the writer's time in
  /// the driver counts from now on.
  void restart();
  /// Whether the writer has been in the driver for \p Limit nanoseconds. Never
  /// with a limit of 0.
  bool isOverdue(uint64_t Limit) const;

private:
  /// When the writer last came to the host or left it.
  std::atomic<uint64_t> LastSign{0};
  std::atomic<bool> OnHost{false};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_WRITERCLOCK_H
