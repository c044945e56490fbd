//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/Mneme/Reduce/Promises.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr char IR[] = R"(
define ptx_kernel void @k(ptr noalias nonnull align 4 %p, ptr byval([2 x i32]) align 4 %s, i32 noundef %n) memory(argmem: readwrite) {
  %q = getelementptr inbounds i32, ptr %p, i32 %n
  %v = load i32, ptr %q, align 4, !tbaa !0, !range !3
  %a = add nsw i32 %v, 1
  %c = call i32 @f(i32 noundef %a), !noundef !4
  store i32 %c, ptr %q, align 4, !tbaa !0
  ret void
}
declare noundef i32 @f(i32 noundef) willreturn
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2}
!2 = !{!"root"}
!3 = !{i32 0, i32 10}
!4 = !{}
)";

namespace {
class PromisesTest : public testing::Test {
protected:
  PromisesTest() {
    SMDiagnostic D;
    M = parseAssemblyString(IR, D, Context);
  }
  std::string drop(Promises Which) {
    Changed = dropPromises(*M, Which);
    EXPECT_FALSE(verifyModule(*M, &errs()));
    std::string Text;
    raw_string_ostream OS(Text);
    M->print(OS, nullptr);
    return Text;
  }
  LLVMContext Context;
  std::unique_ptr<Module> M;
  bool Changed = false;
};
} // namespace

static bool has(StringRef Text, StringRef Part) { return Text.contains(Part); }

TEST_F(PromisesTest, Flags) {
  ASSERT_TRUE(M);
  std::string Text = drop(Promises::Flags);
  EXPECT_TRUE(Changed);
  for (StringRef Gone : {"nsw", "inbounds"})
    EXPECT_FALSE(has(Text, Gone)) << Text;
  for (StringRef Kept : {"noalias", "!tbaa", "!range", "noundef"})
    EXPECT_TRUE(has(Text, Kept)) << Text;
  drop(Promises::Flags);
  EXPECT_FALSE(Changed);
}

TEST_F(PromisesTest, Attributes) {
  ASSERT_TRUE(M);
  std::string Text = drop(Promises::Attributes);
  EXPECT_TRUE(Changed);
  for (StringRef Gone : {"noalias", "nonnull", "noundef", "!tbaa", "!range",
                         "memory(", "willreturn"})
    EXPECT_FALSE(has(Text, Gone)) << Text;
  // How arguments are passed stays, and what values promise.
  for (StringRef Kept : {"byval([2 x i32])", "nsw", "inbounds", "ptx_kernel"})
    EXPECT_TRUE(has(Text, Kept)) << Text;
  drop(Promises::Attributes);
  EXPECT_FALSE(Changed);
}
