//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writing files in an application, which may have a limit on their size.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_FILESIZE_H
#define MNEME_LIB_RUNTIME_BASE_FILESIZE_H

#include "Descriptor.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace mneme {

/// write(2), but beyond the limit it is EFBIG and no SIGXFSZ: the application,
/// whose own files may all be small, would end. Nor is it SIGPIPE where nobody
/// reads.
inline ssize_t writeWithinLimit(int Fd, const void *From, size_t Size) {
  sigset_t Ours, Before;
  sigemptyset(&Ours);
  sigaddset(&Ours, SIGXFSZ);
  sigaddset(&Ours, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &Ours, &Before);
  ssize_t N = ::write(Fd, From, Size);
  int Error = errno;
  // The signal is for the thread that wrote. Where the application blocks it,
  // it may wait for its own.
  int Signal = N >= 0           ? 0
               : Error == EFBIG ? SIGXFSZ
               : Error == EPIPE ? SIGPIPE
                                : 0;
  if (Signal && !sigismember(&Before, Signal)) {
    timespec Now = {};
    sigemptyset(&Ours);
    sigaddset(&Ours, Signal);
    while (sigtimedwait(&Ours, nullptr, &Now) < 0 && errno == EINTR)
      ;
  }
  pthread_sigmask(SIG_SETMASK, &Before, nullptr);
  errno = Error;
  return N;
}

/// Writes all of it. \returns false, with errno, when that fails.
inline bool writeAll(int Fd, const char *P, size_t Size) {
  return transferAll(Size, [&](size_t Done, size_t Left) {
    return writeWithinLimit(Fd, P + Done, Left);
  });
}

/// Creates \p Path + \p Ending, or another file where that is taken: processes
/// in several containers may share a folder, and have the same number. \p Path
/// becomes that file's. \returns the descriptor, or -1 with errno.
inline int createNew(std::string &Path, const char *Ending = "") {
  const std::string Stem = std::move(Path);
  Path = Stem + Ending;
  for (unsigned Number = 1;; ++Number) {
    int Fd =
        ::open(Path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (Fd >= 0 || errno != EEXIST)
      return moveAway(Fd);
    Path = Stem + "." + std::to_string(Number) + Ending;
  }
}

/// What went wrong, as errno says. Not with which file: what is wrong with one
/// is with the next, and is said once.
inline std::string describeFailure(const char *What,
                                   const std::string &Folder) {
  return std::string("cannot ") + What + " a file in '" + Folder +
         "': " + strerror(errno);
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_FILESIZE_H
