//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

TEST(PrintableTest, Lines) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("void f<int>(float*) [clone .1]"),
            "void f<int>(float*) [clone .1]");
  EXPECT_EQ(printable("a\x1b[2J\nb\tc\r\x7f"),
            "a\\x1b[2J\\x0ab\\x09c\\x0d\\x7f");
  EXPECT_EQ(printableLines("a\x1b[2J\nb\tc\r"), "a\\x1b[2J\nb\tc\\x0d");
  EXPECT_EQ(printable(StringRef("\0", 1)), "\\x00");
}

TEST(PrintableTest, Messages) {
  std::string Long(2000, 'x');
  EXPECT_EQ(printableMessage("a\x1b[2J\n" + Long + "\n"),
            "a\\x1b[2J\n" + Long + "\n");
  EXPECT_EQ(printableMessage(""), "");
  EXPECT_EQ(printableMessage("got '" + std::string(70000, 'x') +
                             "': expected a number"),
            "got '" + Long.substr(0, 1195) + "[... 68425 bytes ...]" +
                Long.substr(0, 380) + "': expected a number");
}

TEST(PrintableTest, UTF8) {
  EXPECT_EQ(printable("Gr\xc3\xb6\xc3\x9f"
                      "e \xe6\xa0\xb8"),
            "Gr\xc3\xb6\xc3\x9f"
            "e \xe6\xa0\xb8");
  // CSI as one character, and a reversal of what follows.
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "exe"),
            "\\xe2\\x80\\xaeexe");
  // Not UTF-8.
  EXPECT_EQ(printable("\x9b\xff\xc3"), "\\x9b\\xff\\xc3");
  EXPECT_EQ(printable("\xc3(\xe6\xa0"), "\\xc3(\\xe6\\xa0");
}

TEST(PrintableTest, Stream) {
  std::string Text;
  raw_string_ostream To(Text);
  {
    PrintableStream OS(To);
    OS << "a\x1b" << "b\n" << 5;
    for (char C : StringRef("\xe6\xa0\xb8 \xc2\x9b \xe2"))
      OS << C;
    // What came is there already, but for a piece of a character.
    EXPECT_EQ(Text, "a\\x1bb\n5\xe6\xa0\xb8 \\xc2\\x9b ");
  }
  EXPECT_EQ(Text, "a\\x1bb\n5\xe6\xa0\xb8 \\xc2\\x9b \\xe2");
}

TEST(PrintableTest, JSONMeansTheSame) {
  json::Value V(
      json::Object{{"x", "a\x1b\xc2\x9b\x7f\xf3\xa0\x80\x81\xe6\xa0\xb8"}});
  std::string Text;
  raw_string_ostream To(Text);
  PrintableStream(To, PrintableStream::Syntax::JSON) << formatv("{0:2}", V);
  EXPECT_EQ(
      Text,
      "{\n  \"x\": \"a\\u001b\\u009b\\u007f\xf3\xa0\x80\x81\xe6\xa0\xb8\"\n}");
  EXPECT_EQ(cantFail(json::parse(Text)), V);
}
