//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Message.h"
#include "gtest/gtest.h"

#include <string>

using namespace ::mneme;

namespace {

std::string printed(const std::string &Name) {
  testing::internal::CaptureStderr();
  tell("mneme: '%s'\n\tx\n", Name.c_str());
  return testing::internal::GetCapturedStderr();
}

TEST(MessageTest, EscapesControls) {
  auto Expect = [](const std::string &Name, const std::string &Shown) {
    EXPECT_EQ(printed(Name), "mneme: '" + Shown + "'\n\tx\n");
  };
  Expect("znver4", "znver4");
  Expect("\x1b[31mA\r\x7f", "\\x1b[31mA\\x0d\\x7f");
  Expect("Gr\xc3\xb6\xc3\x9f"
         "e \xe6\xa0\xb8 \xf0\x9f\x98\x80",
         "Gr\xc3\xb6\xc3\x9f"
         "e \xe6\xa0\xb8 \xf0\x9f\x98\x80");
  // CSI as one character, and what is not UTF-8.
  Expect("\xc2\x9b"
         "2J",
         "\\xc2\\x9b2J");
  Expect("\x9b\xff\xc3(\xe6\xa0", "\\x9b\\xff\\xc3(\\xe6\\xa0");
  Expect(std::string(600, '\x1b'), [] {
    std::string All;
    for (int I = 0; I != 600; ++I)
      All += "\\x1b";
    return All;
  }());
}

} // namespace
