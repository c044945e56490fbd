//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::ContainsRegex;
using testing::HasSubstr;

static constexpr StringLiteral Text = R"(
target triple = "nvptx64-nvidia-cuda"
define i32 @f(i32 %x, ptr %p) {
  %y = add i32 %x, 1
  store i32 %y, ptr %p
  ret i32 %y
}
)";

static std::string errorOf(StringRef IR) {
  LLVMContext Context;
  SmallVector<char, 0> Bitcode;
  auto M = readIR({IR, "ir"}, 600, Context, Bitcode);
  return M ? "no error" : toString(M.takeError());
}

TEST(ReadIR, TextAndBitcodeAreRead) {
  LLVMContext Context;
  SmallVector<char, 0> Bitcode, Same;
  auto M = readIR({Text, "name"}, 600, Context, Bitcode);
  ASSERT_THAT_EXPECTED(M, Succeeded());
  EXPECT_EQ((*M)->getModuleIdentifier(), "name");
  ASSERT_TRUE((*M)->getFunction("f"));
  EXPECT_EQ((*M)->getInstructionCount(), 3u);
  // Its target's, as the text has none.
  EXPECT_NE((*M)->getDataLayoutStr(), "");
  EXPECT_EQ(readExactBitcode(Bitcode, "copy", Context)->getInstructionCount(),
            3u);
  auto Again = readIR({toStringRef(Bitcode), "again"}, 600, Context, Same);
  ASSERT_THAT_EXPECTED(Again, Succeeded());
  EXPECT_EQ(Same, Bitcode);
}

TEST(ReadIR, SaysWhatIsWrong) {
  EXPECT_EQ(errorOf("\ndefine nothing"), "2:8: expected type");
  EXPECT_THAT(errorOf("define i32 @f() {\n"
                      "  %x = add i32 %y, 1\n"
                      "  %y = add i32 1, 1\n"
                      "  ret i32 %x\n"
                      "}\n"),
              testing::HasSubstr("invalid IR: Instruction does not dominate"));
  EXPECT_EQ(errorOf(StringRef("BC\xc0\xde", 4)), "Expected a single module");
  // Valid, but bitcode ends names of attributes with a zero.
  EXPECT_THAT(errorOf("define void @f() \"a\\00b\"=\"c\" {\n  ret void\n}\n"),
              testing::HasSubstr("damaged IR: "));
}

TEST(ReadIR, CrashesAndEndlessLoopsAreErrors) {
  auto ErrorOf = [](double Seconds,
                    function_ref<Expected<std::string>(const Module &)> Do) {
    Expected<std::string> R = inspectIR({Text, "ir"}, Seconds, Do);
    return R ? "no error" : toString(R.takeError());
  };
  EXPECT_EQ(ErrorOf(600,
                    [](const Module &) -> Expected<std::string> {
                      ::raise(SIGILL);
                      return "";
                    }),
            "damaged IR: its reader died of signal 4 (Illegal instruction)");
  EXPECT_EQ(ErrorOf(0.01,
                    [](const Module &) -> Expected<std::string> {
                      while (true)
                        ::pause();
                    }),
            "damaged IR: its reader did not end within 0.01 s");
  // LLVM's parser of text recurses.
  EXPECT_THAT(errorOf("%t = type " + std::string(1 << 20, '{')),
              testing::HasSubstr("damaged IR: its reader "));
}

TEST(ReadIR, LargeModulesMayTakeMoreMemory) {
  EXPECT_GE(getIRMemoryLimit(0), uint64_t(1) << 30);
  EXPECT_GT(getIRMemoryLimit(uint64_t(1) << 30), getIRMemoryLimit(1 << 20));
}

/// \returns the text of a module that was read.
static std::string readText(StringRef IR) {
  LLVMContext Context;
  SmallVector<char, 0> Bitcode;
  auto M = readIR({IR, "ir"}, 600, Context, Bitcode);
  if (!M)
    return toString(M.takeError());
  std::string Out;
  raw_string_ostream OS(Out);
  (*M)->print(OS, nullptr);
  return Out;
}

TEST(ReadIR, UpgradesTypedPointers) {
  std::string Out = readText(R"(
%S = type { float*, [2 x %S*], void (i8*, ...)* }
@"odd * name" = global i8* null ; a * in a comment
@text = constant [3 x i8] c"a*b"
declare void @g(%S* byval align 8, float addrspace(1)*, i32 (i8*)**)
define void @f(%S* nocapture byval %s, i32* addrspace(1)* %q, <2 x i8*> %v) {
  %p = load i32*, i32* addrspace(1)* %q
  %e = getelementptr inbounds %S, %S* %s, i32 0, i32 1
  %c = bitcast [2 x %S*]* %e to { i8*, <{ i16, i8* }>* }*
  call void @g(%S* byval %s, float addrspace(1)* null, i32 (i8*)** null)
  ret void
}
)");
  EXPECT_THAT(Out, HasSubstr(" = type { ptr, [2 x ptr], ptr }"));
  EXPECT_THAT(Out, HasSubstr("@\"odd * name\" = global ptr null"));
  EXPECT_THAT(Out, HasSubstr("c\"a*b\""));
  EXPECT_THAT(Out, ContainsRegex("ptr byval\\(%S.*\\) align 8, ptr addrspace\\(1\\), ptr\\)"));
  EXPECT_THAT(Out, HasSubstr("load ptr, ptr addrspace(1) %q"));
  EXPECT_THAT(Out, HasSubstr("<2 x ptr> %v"));
}

TEST(ReadIR, NamesTheVersionOfUnreadableIR) {
  EXPECT_EQ(errorOf("define void @f() {\n  blue\n}\n"
                    "!llvm.ident = !{!0}\n!0 = !{!\"mycc version 99.1\"}\n"),
            "2:3: expected instruction opcode (written by mycc 99.1, this is "
            "LLVM " LLVM_VERSION_STRING ")");
}

TEST(ReadIR, ErrorsInTextWithTypedPointersAreThoseOfTheUpgrade) {
  EXPECT_EQ(errorOf("define void @f(i8* %p) {\n  blue\n}\n"),
            "2:3: expected instruction opcode");
}
