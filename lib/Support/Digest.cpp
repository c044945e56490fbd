//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Digest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace llvm::mneme;

Digest128 mneme::digest128(StringRef Bytes) {
  XXH128_hash_t H = xxh3_128bits(arrayRefFromStringRef(Bytes));
  Digest128 D;
  support::endian::write64be(D.data(), H.high64);
  support::endian::write64be(D.data() + 8, H.low64);
  return D;
}

uint64_t mneme::digest64(StringRef Bytes) { return xxh3_64bits(Bytes); }

std::string mneme::toHexString(const Digest128 &D) {
  return toHex(D, /*LowerCase=*/true);
}

std::string mneme::toHexString(uint64_t D) {
  uint8_t Bytes[8];
  support::endian::write64be(Bytes, D);
  return toHex(Bytes, /*LowerCase=*/true);
}

std::optional<Digest128> mneme::parseDigest128(StringRef Hex) {
  std::string Bytes;
  if (Hex.size() != 32 || !tryGetFromHex(Hex, Bytes))
    return std::nullopt;
  Digest128 D;
  llvm::copy(Bytes, D.begin());
  return D;
}

std::optional<uint64_t> mneme::parseDigest64(StringRef Hex) {
  std::string Bytes;
  if (Hex.size() != 16 || !tryGetFromHex(Hex, Bytes))
    return std::nullopt;
  return support::endian::read64be(Bytes.data());
}
