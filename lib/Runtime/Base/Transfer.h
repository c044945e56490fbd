//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytes through a socket.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_TRANSFER_H
#define MNEME_LIB_RUNTIME_BASE_TRANSFER_H

#include "Descriptor.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

namespace mneme {

/// Sends and receives until a deadline. Does not allocate.
class Transfer {
public:
  Transfer(int Fd, int64_t Seconds) : Fd(Fd), Until(now() + Seconds * 1000) {}

  bool send(const void *Data, size_t Size) {
    return transferAll(Size, [&](size_t Done, size_t Left) {
      return once(POLLOUT, [&] {
        return ::send(Fd, static_cast<const char *>(Data) + Done, Left,
                      MSG_NOSIGNAL | MSG_DONTWAIT);
      });
    });
  }
  bool receive(void *Data, size_t Size) {
    return transferAll(Size, [&](size_t Done, size_t Left) {
      return once(POLLIN, [&] {
        return recv(Fd, static_cast<char *>(Data) + Done, Left, MSG_DONTWAIT);
      });
    });
  }
  /// Returns true if a failed transfer has reached the deadline.
  bool isLate() const { return IsLate; }

private:
  /// Returns a monotonic time in milliseconds.
  static int64_t now() {
    timespec T;
    clock_gettime(CLOCK_MONOTONIC, &T);
    return T.tv_sec * 1000ll + T.tv_nsec / 1000000;
  }
  /// Calls \p Step when it would not block. \returns 0 after the deadline.
  template <typename Fn> ssize_t once(short Events, Fn Step) {
    while (true) {
      pollfd P = {Fd, Events, 0};
      int N = poll(&P, 1, int(std::max<int64_t>(Until - now(), 0)));
      IsLate = !N;
      if (IsLate || (N < 0 && errno != EINTR && errno != EAGAIN))
        return 0;
      ssize_t Moved = N < 0 ? -1 : Step();
      if (Moved >= 0 || (N > 0 && errno != EAGAIN))
        return Moved;
    }
  }

  int Fd;
  int64_t Until;
  bool IsLate = false;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_TRANSFER_H
