//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writing reports.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_REPORTFILE_H
#define MNEME_LIB_RUNTIME_BASE_REPORTFILE_H

#include "Descriptor.h"
#include "Message.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace mneme {

/// Replaces %p by the process's number.
inline std::string expand(std::string Path) {
  for (size_t At; (At = Path.find("%p")) != std::string::npos;)
    Path.replace(At, 2, std::to_string(getpid()));
  return Path;
}

/// Writes a file that is never seen half written. \returns false with errno.
/// May throw.
inline bool writeFile(const std::string &Path, const std::string &Text) {
  struct stat Status;
  // A pipe, device or link stays one.
  bool InPlace = !lstat(Path.c_str(), &Status) && !S_ISREG(Status.st_mode);
  std::string Part =
      InPlace ? Path : Path + "." + std::to_string(getpid()) + ".tmp";
  // Does not wait for the reader of a FIFO.
  OwnedDescriptor Fd(moveAway(
      ::open(Part.c_str(),
             O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666)));
  if (Fd < 0)
    return false;
  fcntl(Fd, F_SETFL, O_WRONLY);
  if (writeAll(Fd, Text.data(), Text.size()) &&
      (InPlace || !rename(Part.c_str(), Path.c_str())))
    return true;
  int Error = errno;
  if (!InPlace)
    unlink(Part.c_str());
  errno = Error;
  return false;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_REPORTFILE_H
