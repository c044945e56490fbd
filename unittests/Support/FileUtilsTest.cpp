//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

struct FileUtilsTest : ::testing::Test {
  SmallString<128> Dir;
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("mneme-fileutils", Dir));
  }
  void TearDown() override { sys::fs::remove_directories(Dir); }
  std::string path(StringRef Name) {
    SmallString<128> P(Dir);
    sys::path::append(P, Name);
    return P.str().str();
  }
  size_t count() {
    std::error_code EC;
    size_t N = 0;
    for (sys::fs::directory_iterator I(Dir, EC), E; I != E; I.increment(EC))
      ++N;
    return N;
  }
};

TEST_F(FileUtilsTest, WritesAndReplaces) {
  ASSERT_THAT_ERROR(writeFileAtomically(path("a"), "one"), Succeeded());
  ASSERT_THAT_ERROR(writeFileAtomically(path("a"), "two"), Succeeded());
  auto B = readFile(path("a"));
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_EQ((*B)->getBuffer().str(), "two");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FileUtilsTest, FailureLeavesTheOldFile) {
  ASSERT_THAT_ERROR(writeFileAtomically(path("a"), "one"), Succeeded());
  Error E = writeFileAtomically(path("a"), [](raw_ostream &OS) {
    OS << "half";
    return createStringError("source ran dry");
  });
  EXPECT_EQ(toString(std::move(E)), "'" + path("a") + "': source ran dry");
  auto B = readFile(path("a"));
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_EQ((*B)->getBuffer().str(), "one");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FileUtilsTest, ErrorsNameTheFile) {
  Error E = writeFileAtomically(path("no/such/file"), "x");
  EXPECT_NE(toString(std::move(E)).find("no/such/file"), std::string::npos);
  auto B = readFile(path("absent"));
  ASSERT_FALSE(bool(B));
  EXPECT_NE(toString(B.takeError()).find("absent"), std::string::npos);
}

} // namespace
