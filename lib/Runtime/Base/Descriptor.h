//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// File descriptors that Mneme opens in the application's process.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_DESCRIPTOR_H
#define MNEME_LIB_RUNTIME_BASE_DESCRIPTOR_H

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace mneme {

/// Calls \p Once(bytes done, bytes left), which behaves like write(2) or
/// read(2), until \p Size bytes are transferred. \returns false, with errno, if
/// a call fails or transfers nothing.
template <typename Fn> bool transferAll(size_t Size, Fn Once) {
  for (size_t Done = 0; Done != Size;) {
    ssize_t N = Once(Done, Size - Done);
    if (N < 0 && errno == EINTR)
      continue;
    if (N <= 0)
      return false;
    Done += N;
  }
  return true;
}

/// Moves \p Fd to a large number. Small numbers belong to the program: it may
/// assign them itself, and it may print to 1 and 2 after closing them.
/// \returns the new descriptor, or \p Fd, which may be -1, if there is none.
/// Preserves errno.
inline int moveAway(int Fd) {
  constexpr int First = 500;
  int Before = errno;
  int Moved = Fd < 0 ? -1 : fcntl(Fd, F_DUPFD_CLOEXEC, First);
  if (Moved >= 0)
    close(Fd);
  errno = Before;
  return Moved < 0 ? Fd : Moved;
}

/// Closes its descriptor when destroyed.
class OwnedDescriptor {
public:
  explicit OwnedDescriptor(int Fd) : Fd(Fd) {}
  OwnedDescriptor(const OwnedDescriptor &) = delete;
  OwnedDescriptor &operator=(const OwnedDescriptor &) = delete;
  ~OwnedDescriptor() {
    if (Fd >= 0)
      close(Fd);
  }
  operator int() const { return Fd; }

private:
  int Fd;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_DESCRIPTOR_H
