//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/TextTable.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static std::string print(const TextTable &Table) {
  std::string Text;
  raw_string_ostream OS(Text);
  Table.print(OS, "lr");
  return Text;
}

TEST(TextTableTest, AlignsColumns) {
  TextTable Table({"kernel", "launches"});
  Table.add({"saxpy", "12"});
  EXPECT_EQ(print(Table), "kernel  launches\n"
                          "saxpy         12\n");
}

TEST(TextTableTest, ShortensLongNamesInTheMiddle) {
  TextTable Table({"kernel", "launches"});
  Table.add({"void elementwise<" + std::string(4000, 'x') + ">(int, Last)",
             "12"});
  Table.add({"short", "3"});
  Table.fit(40);
  EXPECT_EQ(print(Table), "kernel                          launches\n"
                          "void elementwi...x>(int, Last)        12\n"
                          "short                                  3\n");
}

TEST(TextTableTest, KeepsNamesThatFit) {
  TextTable Table({"kernel", "launches"});
  Table.add({std::string(30, 'k'), "12"});
  Table.fit(40);
  EXPECT_NE(print(Table).find(std::string(30, 'k')), std::string::npos);
}

TEST(TextTableTest, KeepsTheStartOfNamesInANarrowTerminal) {
  TextTable Table({"kernel", "launches"});
  Table.add({std::string(60, 'k'), std::string(60, '1')});
  Table.fit(40);
  EXPECT_NE(print(Table).find("kkkkkkkkkkk...kkkkkkkkkk  "), std::string::npos);
}

TEST(TextTableTest, ShortensTextInItsMiddle) {
  EXPECT_EQ(shorten("0123456789", 10), "0123456789");
  EXPECT_EQ(shorten("0123456789", 9), "012...789");
  EXPECT_EQ(shorten("0123456789", 4), "0...");
}
