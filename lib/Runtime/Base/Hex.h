//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_HEX_H
#define MNEME_LIB_RUNTIME_BASE_HEX_H

#include <cstddef>
#include <string>

namespace mneme {

/// Returns two lower-case hexadecimal digits per byte.
inline std::string hexDigits(const void *Bytes, size_t Size) {
  static const char Digits[] = "0123456789abcdef";
  std::string S;
  for (size_t I = 0; I != Size; ++I) {
    unsigned char C = static_cast<const unsigned char *>(Bytes)[I];
    S += Digits[C >> 4];
    S += Digits[C & 15];
  }
  return S;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_HEX_H
