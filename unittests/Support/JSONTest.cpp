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
  EXPECT_THAT_EXPECTED(parseJSON(std::string(1000000, '[')),
                       FailedWithMessage("nested too deeply"));
}

} // namespace
