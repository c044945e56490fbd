//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Messages of the runtime to the user. A message that cannot be written does
/// not affect the application, for example if stderr is a file at its size
/// limit or a closed pipe.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_MESSAGE_H
#define MNEME_LIB_RUNTIME_BASE_MESSAGE_H

#include "FileSize.h"
#include "Shortage.h"

#include <cstdarg>
#include <cstdio>
#include <memory>
#include <new>

namespace mneme {

/// Prints to stderr, unbuffered. A long message is truncated if memory is
/// short.
__attribute__((format(printf, 1, 2))) inline void tell(const char *Format,
                                                       ...) {
  Uncancelled Here;
  int Before = errno;
  char Short[512];
  std::unique_ptr<char[]> Long;
  va_list Args, Again;
  va_start(Args, Format);
  va_copy(Again, Args);
  int N = vsnprintf(Short, sizeof(Short), Format, Args);
  size_t Size = N > 0 ? N : 0;
  const char *Text = Short;
  if (Size >= sizeof(Short)) {
    Long.reset(new (std::nothrow) char[Size + 1]);
    if (Long) {
      vsnprintf(Long.get(), Size + 1, Format, Again);
      Text = Long.get();
    } else {
      Size = sizeof(Short) - 1;
      Short[Size - 1] = '\n';
    }
  }
  va_end(Again);
  va_end(Args);
  writeAll(STDERR_FILENO, Text, Size);
  errno = Before;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_MESSAGE_H
