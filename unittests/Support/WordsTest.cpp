//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Words.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Words, Split) {
  EXPECT_THAT(splitWords(""), IsEmpty());
  EXPECT_THAT(splitWords(" a  b\n"), ElementsAre("a", "b"));
  EXPECT_THAT(splitWords(R"(a="b c" 'd "e' f\ g)"),
              ElementsAre("a=b c", "d \"e", "f g"));
  // Nobody has closed it.
  EXPECT_THAT(splitWords("a 'b c"), ElementsAre("a", "b c"));
}

TEST(Words, Quote) {
  EXPECT_EQ(quoteWord("--a=b/c.d"), "--a=b/c.d");
  EXPECT_EQ(quoteWord(""), "''");
  EXPECT_EQ(quoteWord("default<O3>"), "'default<O3>'");
  EXPECT_EQ(quoteWord("a $b `c` \"d\""), "'a $b `c` \"d\"'");
  EXPECT_EQ(quoteWord("x'y"), R"("x'y")");
  EXPECT_EQ(quoteWord(R"('$a`b`"\)"), R"("'\$a\`b\`\"\\")");
  EXPECT_EQ(quoteCommand({"a", "b c", "", "x'y"}), R"(a 'b c' '' "x'y")");
}

TEST(Words, RoundTrip) {
  std::vector<std::string> Words;
  for (int C = 1; C != 256; ++C)
    for (const char *Beside : {"", "x", "'", "\\", "\""})
      Words.push_back(std::string(Beside) + char(C) + Beside);
  EXPECT_EQ(splitWords(quoteCommand(Words)), Words);
}

TEST(Words, Count) {
  EXPECT_EQ(formatCount(0, "kernel"), "0 kernels");
  EXPECT_EQ(formatCount(1, "launch"), "1 launch");
  EXPECT_EQ(formatCount(2, "launch"), "2 launches");
  EXPECT_EQ(formatCount(2, "process"), "2 processes");
}

TEST(Words, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(uint64_t(3) << 40), "3.0 TiB");
  EXPECT_EQ(formatBytes(uint64_t(3) << 50), "3072.0 TiB");
}
