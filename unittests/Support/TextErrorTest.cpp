//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

TEST(TextErrorTest, OffsetsAreLinesAndColumns) {
  auto At = [](size_t Offset) {
    return toString(makeTextError("ab\n\ncd", Offset, "x"));
  };
  EXPECT_EQ(At(0), "1:1: x");
  EXPECT_EQ(At(2), "1:3: x");
  EXPECT_EQ(At(3), "2:1: x");
  EXPECT_EQ(At(5), "3:2: x");
  EXPECT_EQ(At(6), "3:3: x");
}

std::string quote(StringRef Text, Error E, unsigned FirstLine = 1) {
  return toString(quoteText("file", Text, std::move(E), FirstLine));
}

TEST(TextErrorTest, QuotesTheLine) {
  EXPECT_EQ(quote("a\nb c\nd", make_error<TextError>(2, 3, "bad")),
            "file:2:3: bad\nb c\n  ^");
  EXPECT_EQ(quote("\tb\r\n", make_error<TextError>(1, 2, "bad")),
            "file:1:2: bad\n        b\n        ^");
  EXPECT_EQ(quote("b", make_error<TextError>(1, 2, "bad"), 7),
            "file:7:2: bad\nb\n ^");
  EXPECT_EQ(quote("a b", createStringError("bad")), "file:1:1: bad\na b\n^");
}

TEST(TextErrorTest, QuotesNoEmptyOrEndlessLine) {
  EXPECT_EQ(quote("", make_error<TextError>(1, 1, "bad")), "file:1:1: bad");
  EXPECT_EQ(quote(std::string(5000, 'a'), make_error<TextError>(1, 9, "bad")),
            "file:1:9: bad");
}

TEST(TextErrorTest, SuccessStays) {
  EXPECT_THAT_ERROR(quoteText("file", "a", Error::success()), Succeeded());
}

} // namespace
