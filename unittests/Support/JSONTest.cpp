//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

TEST(JSONTest, CountsOnlyBracketsThatAreOpen) {
  EXPECT_FALSE(isNestedTooDeep(std::string(64, '[')));
  EXPECT_TRUE(isNestedTooDeep(std::string(65, '[')));
  EXPECT_TRUE(isNestedTooDeep("{\"a\":" + std::string(64, '{')));
  EXPECT_FALSE(isNestedTooDeep("\"\\\"" + std::string(100, '[') + "\""));
  std::string Flat;
  for (unsigned I = 0; I != 100; ++I)
    Flat += "[]";
  EXPECT_FALSE(isNestedTooDeep(Flat));
}

TEST(JSONTest, ParsesWhatIsFlatEnough) {
  EXPECT_THAT_EXPECTED(parseJSON("[1]"), HasValue(json::Value(json::Array{1})));
  EXPECT_THAT_EXPECTED(parseJSON("[1"), Failed());
  EXPECT_THAT_EXPECTED(parseJSON("{\n  \"a\": b}"),
                       FailedWithMessage("2:8: invalid JSON value"));
  EXPECT_THAT_EXPECTED(parseJSON(std::string(1000000, '[')),
                       FailedWithMessage("1:1: nested too deeply"));
}

std::string locate(StringRef Text, ArrayRef<StringRef> Path, StringRef Key) {
  return toString(locateKey(Text, Path, make_error<KeyError>(Key, "here")));
}

TEST(JSONTest, LocatesKeys) {
  StringRef Text = "{\"a\": \"b\", \"c\": {\"a\": [{\"b\": 1}],\n"
                   "\"b\": {}, \"\\u0064\\\"\": 2}, \"b\": 3}";
  EXPECT_EQ(locate(Text, {}, "a"), "1:2: here");
  EXPECT_EQ(locate(Text, {}, "c"), "1:12: here");
  EXPECT_EQ(locate(Text, {"c"}, "a"), "1:18: here");
  EXPECT_EQ(locate(Text, {"c"}, "b"), "2:1: here");
  EXPECT_EQ(locate(Text, {"c"}, "d\""), "2:10: here");
  EXPECT_EQ(locate(Text, {}, "b"), "2:26: here");
  EXPECT_EQ(locate(Text, {"a"}, "b"), "here");
  EXPECT_EQ(locate(Text, {"c"}, "c"), "here");
  EXPECT_EQ(toString(locateKey(Text, {}, createStringError("other"))), "other");
}

} // namespace
