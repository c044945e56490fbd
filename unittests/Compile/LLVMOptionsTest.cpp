//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/Mneme/Compile/LLVMOptions.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;

// Options as passes have them.
static cl::opt<unsigned> Limit("mneme-test-limit", cl::init(7));
static cl::opt<bool> Flag("mneme-test-flag", cl::init(true));
static cl::opt<std::string> Text("mneme-test-text", cl::init("as it was"));
static cl::list<std::string> Names("mneme-test-names", cl::CommaSeparated);
static cl::list<unsigned> Numbers("mneme-test-numbers");
static cl::alias Other("mneme-test-other", cl::desc("Alias"),
                       cl::aliasopt(Limit));

static std::string check(std::vector<LLVMOption> Options) {
  return toString(checkLLVMOptions(Options));
}

TEST(LLVMOptionsTest, ParsesAndPrints) {
  auto Parse = [](StringRef Text) { return cantFail(parseLLVMOption(Text)); };
  EXPECT_EQ(Parse("-unroll-threshold=500"),
            (LLVMOption{"unroll-threshold", "500"}));
  EXPECT_EQ(Parse("--a=b=c"), (LLVMOption{"a", "b=c"}));
  EXPECT_EQ(Parse("flag"), (LLVMOption{"flag", ""}));
  EXPECT_EQ(toString(Parse("a=b")), "-a=b");
  EXPECT_EQ(toString(Parse("-flag")), "-flag");
  EXPECT_THAT_EXPECTED(
      parseLLVMOption("-=5"),
      FailedWithMessage(
          "invalid LLVM option '-=5': must be -NAME or -NAME=VALUE"));
}

TEST(LLVMOptionsTest, LaterOnesTakeTheirPlace) {
  std::vector<LLVMOption> Options = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  overrideLLVMOptions(Options, {{"a", "4"}, {"c", "5"}, {"a", "6"}});
  EXPECT_THAT(Options, ElementsAre(LLVMOption{"b", "2"}, LLVMOption{"a", "4"},
                                   LLVMOption{"c", "5"}, LLVMOption{"a", "6"}));
}

TEST(LLVMOptionsTest, SetsAndUndoes) {
  {
    LLVMOptionScope Scope;
    ASSERT_THAT_ERROR(Scope.enter({{"mneme-test-limit", "500"},
                                   {"mneme-test-flag", "false"},
                                   {"mneme-test-text", "x y"},
                                   {"mneme-test-names", "a,b"},
                                   {"mneme-test-numbers", "1"},
                                   {"mneme-test-numbers", "2"}}),
                      Succeeded());
    EXPECT_EQ(Limit, 500u);
    EXPECT_EQ(Limit.getNumOccurrences(), 1);
    EXPECT_FALSE(Flag);
    EXPECT_EQ(Text, "x y");
    EXPECT_THAT(std::vector<std::string>(Names), ElementsAre("a", "b"));
    EXPECT_THAT(std::vector<unsigned>(Numbers), ElementsAre(1, 2));
  }
  EXPECT_EQ(Limit, 7u);
  EXPECT_EQ(Limit.getNumOccurrences(), 0);
  EXPECT_TRUE(Flag);
  EXPECT_EQ(Text, "as it was");
  EXPECT_TRUE(Names.empty());
  EXPECT_TRUE(Numbers.empty());
}

TEST(LLVMOptionsTest, TheLastOneCounts) {
  LLVMOptionScope Scope;
  ASSERT_THAT_ERROR(
      Scope.enter({{"mneme-test-limit", "1"}, {"mneme-test-limit", "2"}}),
      Succeeded());
  EXPECT_EQ(Limit, 2u);
  EXPECT_EQ(Limit.getNumOccurrences(), 1);
}

TEST(LLVMOptionsTest, AnAliasIsUndone) {
  {
    LLVMOptionScope Scope;
    ASSERT_THAT_ERROR(Scope.enter({{"mneme-test-other", "12"}}), Succeeded());
    EXPECT_EQ(Limit, 12u);
  }
  EXPECT_EQ(Limit, 7u);
  EXPECT_EQ(Limit.getNumOccurrences(), 0);
}

TEST(LLVMOptionsTest, RefusesWhatLLVMWould) {
  EXPECT_EQ(check({{"mneme-test-limt", "1"}}),
            "LLVM has no option 'mneme-test-limt'; did you mean "
            "'mneme-test-limit'?");
  EXPECT_EQ(check({{"like-nothing-at-all", ""}}),
            "LLVM has no option 'like-nothing-at-all'");
  EXPECT_EQ(check({{"mneme-test-limit", "many"}}),
            "invalid value 'many' for LLVM's option 'mneme-test-limit'");
  EXPECT_EQ(check({{"mneme-test-limit", ""}}),
            "LLVM's option 'mneme-test-limit' needs a value");
  // It would end this process.
  EXPECT_EQ(check({{"version", ""}}),
            "'version' is not an option of a compilation");
}

TEST(LLVMOptionsTest, AnErrorLeavesNothingSet) {
  LLVMOptionScope Scope;
  EXPECT_THAT_ERROR(Scope.enter({{"mneme-test-limit", "500"},
                                 {"mneme-test-flag", "perhaps"}}),
                    Failed());
  EXPECT_EQ(Limit, 7u);
  EXPECT_EQ(Limit.getNumOccurrences(), 0);
  EXPECT_TRUE(Flag);
}

TEST(LLVMOptionsTest, LeavesTheCommandLineAlone) {
  Limit.addOccurrence(0, "mneme-test-limit", "9");
  EXPECT_EQ(check({{"mneme-test-limit", "500"}}),
            "LLVM's option 'mneme-test-limit' was set on the command line "
            "already");
  EXPECT_EQ(check({{"mneme-test-flag", "false"}}), "");
  EXPECT_EQ(Limit, 9u);
  Limit.reset();
}

TEST(LLVMOptionsTest, SomeLast) {
  for (StringRef Name : {"opt-bisect-limit", "regalloc", "debug-only"})
    EXPECT_TRUE(isLasting({Name.str(), "x"})) << Name.str();
  EXPECT_TRUE(isLasting({"mneme-test-names", "a,b"}));
  for (StringRef Name : {"mneme-test-limit", "unroll-threshold", "nothing"})
    EXPECT_FALSE(isLasting({Name.str(), "1"})) << Name.str();
  // Another LLVM may have renamed them.
  for (StringRef Name : {
#define LASTING_OPTION(Name) Name,
#include "llvm/Mneme/Compile/LastingOptions.def"
       })
    if (Name != "debug-only") // with assertions only
      EXPECT_TRUE(cl::getRegisteredOptions().count(Name)) << Name.str();
}

TEST(LLVMOptionsTest, CheckingSetsNothing) {
  EXPECT_EQ(check({{"opt-bisect-limit", "0"}}), "");
  EXPECT_FALSE(getGlobalPassGate().isEnabled());
}
