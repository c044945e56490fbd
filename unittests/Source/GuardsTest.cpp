//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Guards.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
class GuardsTest : public testing::Test {
protected:
  LLVMContext Context;
  std::unique_ptr<Module> Recorded = parse("define void @k(ptr %P) {\n"
                                           "  ret void\n}\n");

  std::unique_ptr<Module> parse(StringRef Text) {
    SMDiagnostic D;
    std::unique_ptr<Module> M = parseAssemblyString(Text, D, Context);
    EXPECT_TRUE(M) << D.getMessage().str();
    return M;
  }
  GuardFindings find(StringRef Text) {
    return findGuarded(*parse(Text), *Recorded);
  }
  /// The findings for a kernel with this body.
  GuardFindings findBody(StringRef Body, StringRef Rest = "") {
    return find(
        ("define void @k(ptr %P) {\n" + Body + "\n  ret void\n}\n" + Rest)
            .str());
  }
};
} // namespace

TEST_F(GuardsTest, AcceptsOrdinaryCode) {
  GuardFindings F = findBody("  store i32 1, ptr %P",
                             "@T = internal addrspace(4) constant i32 7\n"
                             "@S = internal addrspace(3) global i32 undef\n");
  EXPECT_THAT(F.Refusals, IsEmpty());
  EXPECT_THAT(F.Suspicions, IsEmpty());
}

TEST_F(GuardsTest, RefusesConstantAddresses) {
  for (StringRef Body :
       {"  store i32 1, ptr inttoptr (i64 4096 to ptr)",
        "  store i32 1, ptr getelementptr (i8, ptr null, i64 4096)",
        "  %Q = inttoptr i64 4096 to ptr\n  store i32 1, ptr %Q"})
    EXPECT_THAT(findBody(Body).Refusals, ElementsAre("a constant address"));
}

TEST_F(GuardsTest, RefusesStateAssemblyAndCalls) {
  EXPECT_THAT(find("module asm \"foo\"").Refusals,
              ElementsAre("assembly outside of functions"));
  EXPECT_THAT(find("@N = internal addrspace(1) global i32 0").Refusals,
              ElementsAre("the variable 'N' keeps its value between launches"));
  EXPECT_THAT(
      findBody("  %M = call ptr @malloc(i64 8)", "declare ptr @malloc(i64)\n")
          .Refusals,
      ElementsAre("a call to the device runtime's 'malloc'"));
  EXPECT_THAT(findBody("  call void @f()", "declare void @f()\n").Refusals,
              ElementsAre("a call to the undefined function 'f'"));
}

TEST_F(GuardsTest, SuspectsClocksAssemblyAndPointers) {
  EXPECT_THAT(findBody("  %C = call i64 @llvm.nvvm.read.ptx.sreg.clock64()",
                       "declare i64 @llvm.nvvm.read.ptx.sreg.clock64()\n")
                  .Suspicions,
              ElementsAre(HasSubstr("clock64")));
  EXPECT_THAT(
      findBody("  call void asm sideeffect \"exit;\", \"\"()").Suspicions,
      ElementsAre("it has the inline assembly 'exit;'"));
  EXPECT_THAT(findBody("  %I = ptrtoint ptr %P to i64\n"
                       "  %Q = inttoptr i64 %I to ptr")
                  .Suspicions,
              ElementsAre("it computes a pointer from an integer"));
}

TEST_F(GuardsTest, AcceptsWhatTheRecordedKernelHas) {
  Recorded = parse("module asm \"foo\"\n"
                   "@N = internal addrspace(1) global i32 0\n");
  EXPECT_THAT(find("module asm \"foo\"\n"
                   "@N = internal addrspace(1) global i32 0\n")
                  .Refusals,
              IsEmpty());
}
