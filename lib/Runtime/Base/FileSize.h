//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions to write files in an application that may have a file size limit.
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

/// Like write(2), but exceeding the file size limit is the error EFBIG instead
/// of SIGXFSZ, which would end an application whose own files may all be small.
/// Likewise, a closed pipe is an error instead of SIGPIPE.
inline ssize_t writeWithinLimit(int Fd, const void *From, size_t Size) {
  sigset_t Ours, Before;
  sigemptyset(&Ours);
  sigaddset(&Ours, SIGXFSZ);
  sigaddset(&Ours, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &Ours, &Before);
  ssize_t N = ::write(Fd, From, Size);
  int Error = errno;
  // The signal is directed to the thread that wrote. If the application blocks
  // it, leave it pending: the application may be waiting for a signal of its
  // own.
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

/// Writes all bytes. \returns false, with errno, on failure.
inline bool writeAll(int Fd, const char *P, size_t Size) {
  return transferAll(Size, [&](size_t Done, size_t Left) {
    return writeWithinLimit(Fd, P + Done, Left);
  });
}

/// Creates \p Path + \p Ending, or a similar file if that exists: processes
/// with the same number in different containers may share a folder. Sets
/// \p Path to the file's path. \returns the descriptor, or -1 with errno.
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

/// Describes errno. The message names the folder instead of the file, because
/// it is printed once and applies to later files, too.
inline std::string describeFailure(const char *What,
                                   const std::string &Folder) {
  return std::string("cannot ") + What + " a file in '" + Folder +
         "': " + strerror(errno);
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_FILESIZE_H
