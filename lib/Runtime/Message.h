//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the runtime tells the user. Whatever becomes of that, the application
/// goes on: also where its stderr is a file that may not grow, or a pipe that
/// nobody reads.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_MESSAGE_H
#define MNEME_LIB_RUNTIME_MESSAGE_H

#include "FileSize.h"

#include <cstdarg>
#include <cstdio>
#include <string>

namespace mneme {

/// Prints to stderr, at once.
__attribute__((format(printf, 1, 2))) inline void tell(const char *Format,
                                                       ...) {
  int Before = errno;
  va_list Args, Again;
  va_start(Args, Format);
  va_copy(Again, Args);
  int Size = vsnprintf(nullptr, 0, Format, Args);
  std::string Text(Size > 0 ? Size + 1 : 1, '\0');
  vsnprintf(&Text[0], Text.size(), Format, Again);
  va_end(Again);
  va_end(Args);
  writeAll(STDERR_FILENO, Text.data(), Text.size() - 1);
  errno = Before;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_MESSAGE_H
