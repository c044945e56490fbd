//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writing in an application that has a limit on the size of its files.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_RUNTIME_FILESIZE_H
#define LLVM_MNEME_LIB_RUNTIME_FILESIZE_H

#include <cerrno>
#include <csignal>
#include <ctime>
#include <unistd.h>

namespace mneme {

/// write(2), but beyond the limit it is EFBIG and no SIGXFSZ: the application,
/// whose own files may all be small, would end.
inline ssize_t writeWithinLimit(int Fd, const void *From, size_t Size) {
  sigset_t Limit, Before;
  sigemptyset(&Limit);
  sigaddset(&Limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &Limit, &Before);
  ssize_t N = ::write(Fd, From, Size);
  int Error = errno;
  // The signal is for the thread that wrote. Where the application blocks it,
  // it may wait for its own.
  if (N < 0 && Error == EFBIG && !sigismember(&Before, SIGXFSZ)) {
    timespec Now = {};
    while (sigtimedwait(&Limit, nullptr, &Now) < 0 && errno == EINTR)
      ;
  }
  pthread_sigmask(SIG_SETMASK, &Before, nullptr);
  errno = Error;
  return N;
}

} // namespace mneme

#endif // LLVM_MNEME_LIB_RUNTIME_FILESIZE_H
