//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {

class ExternalToolsTest : public testing::Test {
protected:
  unittest::TempDir Dir{"external-tools", /*Unique=*/true};
  std::vector<std::unique_ptr<unittest::TempFile>> Files;

  /// A shell script.
  std::string write(StringRef Name, const Twine &Body) {
    Files.push_back(std::make_unique<unittest::TempFile>(
        Dir.path(Name), "", ("#!/bin/sh\n" + Body).str()));
    EXPECT_FALSE(
        sys::fs::setPermissions(Files.back()->path(), sys::fs::all_all));
    return Files.back()->path().str();
  }

  std::string writeOpt(StringRef Name, StringRef Version,
                       StringRef Overview = "llvm .bc -> .bc modular optimizer "
                                            "and analysis printer") {
    return write(Name, "case $1 in\n--version) echo 'Debian LLVM version " +
                           Version + "';;\n--help) echo 'OVERVIEW: " +
                           Overview + "';;\nesac\n");
  }
};

TEST_F(ExternalToolsTest, ProgramsSayWhatTheyAre) {
  struct {
    std::string Path;
    ToolKind Kind;
    StringRef Version, Key;
    unsigned Major;
  } Programs[] = {
      {writeOpt("a", "23.1.0git"), ToolKind::Opt, "23.1.0git", "opt_tool", 23},
      {writeOpt("b", "9.0.1", "llvm system compiler"), ToolKind::Llc, "9.0.1",
       "llc_tool", 9},
      {write("c", "echo 'Ubuntu clang version 18.1.3 (1)'"), ToolKind::Clang,
       "18.1.3", "opt_tool", 18},
      {write("d", "echo 'ptxas: NVIDIA (R) Ptx optimizing assembler\n"
                  "Cuda compilation tools, release 12.4, V12.4.131'"),
       ToolKind::Ptxas, "12.4.131", "ptxas", 12}};
  for (const auto &P : Programs) {
    Expected<ToolInfo> Tool = identifyTool(P.Path);
    ASSERT_THAT_EXPECTED(Tool, Succeeded()) << P.Path;
    EXPECT_EQ(Tool->Kind, P.Kind);
    EXPECT_EQ(Tool->Path, P.Path);
    EXPECT_EQ(Tool->Version, P.Version);
    EXPECT_EQ(Tool->Major, P.Major);
    EXPECT_EQ(getToolConfigKey(Tool->Kind), P.Key);
  }
}

TEST_F(ExternalToolsTest, PathsHoldInOtherFolders) {
  writeOpt("a", "22.1.0");
  SmallString<128> Old;
  ASSERT_FALSE(sys::fs::current_path(Old));
  ASSERT_FALSE(sys::fs::set_current_path(Dir.path()));
  Expected<ToolInfo> Tool = identifyTool("./a");
  ASSERT_FALSE(sys::fs::set_current_path(Old));
  ASSERT_THAT_EXPECTED(Tool, Succeeded());
  EXPECT_TRUE(sys::path::is_absolute(Tool->Path)) << Tool->Path;
}

TEST_F(ExternalToolsTest, OthersAreRefused) {
  auto Refused = [](StringRef Path) {
    return toString(identifyTool(Path).takeError());
  };
  EXPECT_THAT(Refused(Dir.path("none").str()),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(Refused(Dir.path().str()),
              HasSubstr("is not an executable file"));
  EXPECT_EQ(Refused("no-such-opt"),
            "'no-such-opt': No such file or directory");
  EXPECT_THAT(Refused(write("silent", "exit 0")),
              HasSubstr("is neither an opt, a clang, an llc nor a ptxas"));
  EXPECT_EQ(Refused(write("fails", "echo no license; exit 3")),
            "fails failed: no license");
  EXPECT_THAT(Refused(writeOpt("linker", "22.1.0", "llvm linker")),
              HasSubstr("is neither an opt"));
  EXPECT_THAT_EXPECTED(
      identifyTool(writeOpt("e", "22.1.0"), {ToolKind::Llc, ToolKind::Ptxas},
                   "--llc-tool"),
      FailedWithMessage(HasSubstr("is an opt, of version 22.1.0")));
}

TEST_F(ExternalToolsTest, ChangedProgramsHaveAnotherIdentity) {
  std::string A = writeOpt("a", "22.1.0");
  std::string Before = getToolIdentity(A);
  EXPECT_EQ(getToolIdentity(A), Before);
  // The same program elsewhere may find other files beside it.
  EXPECT_NE(getToolIdentity(writeOpt("b", "22.1.0")), Before);
  writeOpt("a", "22.1.11");
  EXPECT_NE(getToolIdentity(A), Before);
  EXPECT_EQ(getToolIdentity("/no/such/opt"), "/no/such/opt");
}

TEST_F(ExternalToolsTest, KeysHaveProgramsByTheirIdentity) {
  std::string A = writeOpt("a", "22.1.0");
  CompileOptions O;
  std::set<std::string> Keys = {getKey(O)};
  for (std::string CompileOptions::*Member :
       {&CompileOptions::OptTool, &CompileOptions::LlcTool,
        &CompileOptions::Ptxas}) {
    CompileOptions With;
    With.*Member = A;
    EXPECT_TRUE(Keys.insert(getKey(With)).second);
  }
  O.OptTool = A;
  writeOpt("a", "22.1.11");
  EXPECT_TRUE(Keys.insert(getKey(O)).second);
}

} // namespace
