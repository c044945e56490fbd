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

/// Returns the size of the UTF-8 character at \p Text; 0 if a terminal may
/// interpret it, or if it is not well-formed.
inline size_t printableBytes(const char *Text, size_t Size) {
  auto At = [&](size_t I) { return static_cast<unsigned char>(Text[I]); };
  unsigned char First = At(0);
  if (First < 0x80)
    return First == '\n' || First == '\t' || (First >= ' ' && First != 0x7f);
  size_t Bytes = First >= 0xf0 ? 4 : First >= 0xe0 ? 3 : 2;
  if (First < 0xc2 || First > 0xf4 || Bytes > Size)
    return 0;
  for (size_t I = 1; I != Bytes; ++I)
    if ((At(I) & 0xc0) != 0x80)
      return 0;
  // U+0080 to U+009F are control characters.
  return First == 0xc2 && At(1) < 0xa0 ? 0 : Bytes;
}

/// Writes \p Text with "\x1b" for bytes that are not printable to \p To, unless
/// that is null. \returns the number of bytes.
inline size_t escapeControls(const char *Text, size_t Size, char *To) {
  size_t Written = 0;
  auto Put = [&](char C) {
    if (To)
      To[Written] = C;
    ++Written;
  };
  for (size_t I = 0; I != Size;) {
    size_t Bytes = printableBytes(Text + I, Size - I);
    for (size_t End = I + Bytes; I != End; ++I)
      Put(Text[I]);
    if (Bytes)
      continue;
    unsigned char C = Text[I++];
    for (char Digit :
         {'\\', 'x', "0123456789abcdef"[C / 16], "0123456789abcdef"[C % 16]})
      Put(Digit);
  }
  return Written;
}

/// Prints to stderr, unbuffered. Escapes control characters, which names from
/// files may have. A long message is truncated if memory is short.
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
  std::unique_ptr<char[]> Escaped;
  if (size_t Needed = escapeControls(Text, Size, nullptr); Needed != Size) {
    Escaped.reset(new (std::nothrow) char[Needed]);
    static constexpr char NoMemory[] = "mneme: a message is lost: no memory\n";
    Size = Escaped ? escapeControls(Text, Size, Escaped.get())
                   : sizeof(NoMemory) - 1;
    Text = Escaped ? Escaped.get() : NoMemory;
  }
  writeAll(STDERR_FILENO, Text, Size);
  errno = Before;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_MESSAGE_H
