//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {
/// The folder of a search that has written no best.json.
class MissingBestFile : public testing::Test {
protected:
  PrivateFolder Folder = cantFail(PrivateFolder::createTemporary());

  void write(StringRef Name, StringRef Text) {
    ASSERT_THAT_ERROR(writeFileAtomically(Folder.pathOf(Name), Text),
                      Succeeded());
  }
  Error read() { return readBestFile(Folder.pathOf("best.json")).takeError(); }
};
} // namespace

TEST_F(MissingBestFile, IsRefusedIfTheSearchHasNoWinner) {
  write("history.jsonl", "");
  write("report.json", R"({"winner": null})");
  Error E = read();
  EXPECT_TRUE(E.isA<PackRefusal>());
  EXPECT_THAT(toString(std::move(E)),
              HasSubstr("the search has no winner: no candidate is "
                        "significantly faster"));
}

TEST_F(MissingBestFile, SaysThatTheSearchHasNotFinished) {
  write("history.jsonl", "");
  Error E = read();
  EXPECT_FALSE(E.isA<PackRefusal>());
  EXPECT_THAT(toString(std::move(E)),
              HasSubstr("the search in its folder has not finished"));
}

TEST_F(MissingBestFile, IsAMissingFileElsewhere) {
  write("report.json", "no JSON");
  EXPECT_THAT(toString(read()), HasSubstr("No such file"));
}
