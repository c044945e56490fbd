//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// File descriptors in somebody else's process.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DESCRIPTOR_H
#define MNEME_LIB_RUNTIME_DESCRIPTOR_H

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace mneme {

/// Small numbers are the program's: it chooses them itself, and prints to 1 and
/// 2 although it has closed them.
/// \returns \p Fd, which may be -1, under a large number where there is one;
/// leaves errno.
inline int moveAway(int Fd) {
  constexpr int First = 500;
  int Before = errno;
  int Moved = Fd < 0 ? -1 : fcntl(Fd, F_DUPFD_CLOEXEC, First);
  if (Moved >= 0)
    close(Fd);
  errno = Before;
  return Moved < 0 ? Fd : Moved;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DESCRIPTOR_H
