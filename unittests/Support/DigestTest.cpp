//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Digest.h"
#include "gtest/gtest.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace llvm;
using namespace llvm::mneme;

namespace {

// The runtime uses the xxhash library, the tools use LLVM's copy.
TEST(DigestTest, AgreesWithXXHash) {
  for (size_t N : {0, 1, 17, 129, 241, 4096, 100000}) {
    std::string S;
    for (size_t I = 0; I < N; ++I)
      S.push_back(static_cast<char>(I * 31 + N));
    XXH128_canonical_t C;
    XXH128_canonicalFromHash(&C, XXH3_128bits(S.data(), S.size()));
    Digest128 D = digest128(S);
    EXPECT_EQ(memcmp(D.data(), C.digest, 16), 0) << N;
    EXPECT_EQ(digest64(S), XXH3_64bits(S.data(), S.size())) << N;
  }
}

TEST(DigestTest, HexRoundTrip) {
  Digest128 D = digest128("kernel");
  std::string Hex = toHexString(D);
  EXPECT_EQ(Hex.size(), 32u);
  EXPECT_EQ(parseDigest128(Hex), D);
  EXPECT_EQ(parseDigest64(toHexString(uint64_t(0x0123456789abcdef))),
            0x0123456789abcdefu);
  EXPECT_EQ(toHexString(uint64_t(0x0123456789abcdef)), "0123456789abcdef");
}

TEST(DigestTest, RefusesWhatIsNoDigest) {
  EXPECT_FALSE(parseDigest128(""));
  EXPECT_FALSE(parseDigest128(std::string(31, 'a')));
  EXPECT_FALSE(parseDigest128(std::string(31, 'a') + "g"));
  EXPECT_FALSE(parseDigest64(std::string(17, '0')));
}

} // namespace
