//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Content digests. All of them are XXH3, which the runtime inside the
/// application can compute without LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_DIGEST_H
#define LLVM_MNEME_SUPPORT_DIGEST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// XXH3-128 in canonical (big-endian) byte order.
using Digest128 = std::array<uint8_t, 16>;

/// Returns the XXH3-128 of \p Bytes.
Digest128 digest128(StringRef Bytes);
/// Returns the XXH3-64 of \p Bytes.
uint64_t digest64(StringRef Bytes);

/// Returns 32 lower-case hexadecimal digits.
std::string toHexString(const Digest128 &D);
/// Returns 16 lower-case hexadecimal digits.
std::string toHexString(uint64_t D);

/// Parse the digits of toHexString(); return nothing on malformed input.
std::optional<Digest128> parseDigest128(StringRef Hex);
std::optional<uint64_t> parseDigest64(StringRef Hex);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_DIGEST_H
