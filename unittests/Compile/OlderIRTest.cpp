//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/OlderIR.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;
using testing::Not;

namespace {

class OlderIRTest : public testing::Test {
protected:
  LLVMContext Context;

  std::unique_ptr<Module> parse(StringRef Text) {
    SMDiagnostic Diagnostic;
    std::unique_ptr<Module> M = parseAssemblyString(Text, Diagnostic, Context);
    EXPECT_TRUE(M) << Diagnostic.getMessage().str();
    return M;
  }

  std::string print(StringRef Text, unsigned Major) {
    std::unique_ptr<Module> M = parse(Text);
    Expected<std::string> Older = printForOlderLLVM(*M, Major);
    EXPECT_THAT_EXPECTED(Older, Succeeded());
    // This LLVM reads what older ones do.
    LLVMContext Other;
    SMDiagnostic Diagnostic;
    EXPECT_TRUE(parseAssemblyString(*Older, Diagnostic, Other))
        << Diagnostic.getMessage().str() << *Older;
    return *Older;
  }
};

TEST_F(OlderIRTest, AttributesGoByVersion) {
  StringRef Text = "define void @f(ptr captures(none) dead_on_return %p, "
                   "float nofpclass(nan) %x) memory(argmem: read, errnomem: "
                   "write) { ret void }";
  EXPECT_THAT(print(Text, 21), HasSubstr("ptr captures(none) %p"));
  EXPECT_THAT(print(Text, 20), HasSubstr("ptr %p, float nofpclass(nan) %x"));
  EXPECT_THAT(print(Text, 16), HasSubstr("ptr %p, float %x"));
  EXPECT_THAT(print(Text, 21),
              HasSubstr("memory(argmem: read, errnomem: write)"));
  // Other memory has errno.
  EXPECT_THAT(print(Text, 20),
              HasSubstr("memory(write, argmem: read, inaccessiblemem: none)"));
}

TEST_F(OlderIRTest, FlagsGoByVersion) {
  StringRef Text = R"(define i1 @f(ptr %p, i32 %a, double %d) {
  %o = or disjoint i32 %a, 1
  %z = zext nneg i32 %o to i64
  %t = trunc nuw i64 %z to i8
  %g = getelementptr inbounds nuw i8, ptr %p, i64 %z
  %u = getelementptr nuw i8, ptr %g, i64 1
  store i8 %t, ptr %u
  %x = fptrunc nnan double %d to float
  %c = icmp samesign ult i32 %o, %a
  ret i1 %c
})";
  std::string In20 = print(Text, 20);
  for (StringRef Kept : {"or disjoint i32", "zext nneg i32", "trunc nuw i64",
                         "getelementptr inbounds nuw i8",
                         "getelementptr nuw i8", "icmp samesign"})
    EXPECT_THAT(In20, HasSubstr(Kept.str()));
  EXPECT_THAT(In20, HasSubstr("fptrunc double"));
  std::string In16 = print(Text, 16);
  for (StringRef Left :
       {"or i32", "zext i32", "trunc i64", "icmp ult",
        "getelementptr inbounds i8, ptr %p", "getelementptr i8, ptr %g"})
    EXPECT_THAT(In16, HasSubstr(Left.str()));
}

TEST_F(OlderIRTest, ConstantsHaveTheirOldForm) {
  StringRef Text = R"(@a = global [4 x i8] zeroinitializer
@b = global ptr getelementptr inbounds nuw (i8, ptr @a, i64 2)
@c = global ptr getelementptr inbounds inrange(-2, 2) (i8, ptr @a, i64 2)
@s = global [18 x i8] c"<2 x i8> splat (i8"
@v = global <2 x i32> splat (i32 7)
@w = global <3 x float> splat (float 1.0)
@p = global i64 ptrtoaddr (ptr @a to i64))";
  std::string In18 = print(Text, 18);
  EXPECT_THAT(In18, HasSubstr("@b = global ptr getelementptr inbounds (i8"));
  EXPECT_THAT(In18, HasSubstr("@c = global ptr getelementptr inbounds (i8"));
  EXPECT_THAT(In18, HasSubstr("c\"<2 x i8> splat (i8\""));
  EXPECT_THAT(In18, HasSubstr("@v = global <2 x i32> <i32 7, i32 7>"));
  EXPECT_THAT(In18, HasSubstr("<float 1.000000e+00, float 1.000000e+00, float "
                              "1.000000e+00>"));
  EXPECT_THAT(In18, HasSubstr("ptrtoint (ptr @a to i64)"));
  std::string In21 = print(Text, 21);
  EXPECT_THAT(In21, HasSubstr("inbounds nuw (i8"));
  EXPECT_THAT(In21, HasSubstr("splat (i32 7)"));
  EXPECT_THAT(In21, HasSubstr("ptrtoint (ptr @a to i64)"));
}

TEST_F(OlderIRTest, IntrinsicsHaveTheirOldForm) {
  StringRef Text = R"(target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.lifetime.start.p0(ptr)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
define i32 @f() {
  %p = alloca i32
  call void @llvm.lifetime.start.p0(ptr %p)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 3)
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %x
})";
  std::string In20 = print(Text, 20);
  EXPECT_THAT(In20, HasSubstr("call void @llvm.nvvm.barrier0()"));
  EXPECT_THAT(In20, HasSubstr("call void @llvm.nvvm.barrier.n(i32 3)"));
  EXPECT_THAT(In20, HasSubstr("start.p0(i64 -1, ptr %p)"));
  EXPECT_THAT(In20,
              HasSubstr("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"));
  EXPECT_THAT(In20, Not(HasSubstr("tid.y")));
  EXPECT_THAT(print(Text, 21),
              HasSubstr("call void @llvm.nvvm.barrier.cta.sync.aligned.all("));
}

TEST_F(OlderIRTest, KernelAttributesBecomeAnnotations) {
  StringRef Text = R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() #0 { ret void }
attributes #0 = { "nvvm.maxntid"="64,2" "nvvm.minctasm"="3" "target-features"="+ptx88,+sm_90" })";
  std::string In20 = print(Text, 20);
  EXPECT_THAT(In20, HasSubstr("!{ptr @k, !\"maxntidx\", i32 64}"));
  EXPECT_THAT(In20, HasSubstr("!{ptr @k, !\"maxntidy\", i32 2}"));
  EXPECT_THAT(In20, HasSubstr("!{ptr @k, !\"minctasm\", i32 3}"));
  EXPECT_THAT(In20, HasSubstr("\"target-features\"=\"+sm_90\""));
  EXPECT_THAT(print(Text, 21), HasSubstr("\"nvvm.maxntid\"=\"64,2\""));
}

TEST_F(OlderIRTest, WhatHasNoOldFormIsNamed) {
  std::unique_ptr<Module> M = parse(
      "define void @f(ptr %p) {\n"
      "  %o = atomicrmw fmaximum ptr %p, float 1.0 monotonic\n  ret void\n}");
  EXPECT_THAT_EXPECTED(printForOlderLLVM(*M, 21), Succeeded());
  EXPECT_THAT_EXPECTED(
      printForOlderLLVM(*M, 19),
      FailedWithMessage("LLVM 19 has no 'atomicrmw fmaximum'"));
  EXPECT_THAT_EXPECTED(
      printForOlderLLVM(*M, 14),
      FailedWithMessage(testing::StartsWith(
          "no IR can be written for LLVM 14: LLVM 16 is the oldest one")));
}

} // namespace
