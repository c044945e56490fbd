//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace llvm;
using ::mneme::JitFacts;
using ::mneme::JitRequest;
using ::mneme::JitTarget;

namespace {

MnemeJitField makeField(uint32_t Kind, uint32_t Arg, uint32_t Offset = 0,
                        uint32_t Size = 4) {
  MnemeJitField F = {};
  F.Kind = Kind;
  F.Arg = F.Place = Arg;
  F.Offset = Offset;
  F.Size = Size;
  F.Count = 1;
  F.CountArg = F.CountPlace = MNEME_JIT_NO_ARG;
  return F;
}

class FactsTest : public testing::Test {
protected:
  FactsTest() {
    Q.Target = JitTarget::Cuda;
    Q.Specialize = ::mneme::JitArgs | ::mneme::JitBlock | ::mneme::JitBounds;
  }

  JitFacts find(StringRef Body) {
    SMDiagnostic Problem;
    std::string Text = (R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
declare void @unknown(ptr)
%s = type { i32, i32, [4 x i32] }
)" + Body)
                           .str();
    std::unique_ptr<Module> M = parseAssemblyString(Text, Problem, Context);
    if (!M) {
      Problem.print("FactsTest", errs());
      return {};
    }
    return llvm::mneme::findFacts(*M, "k", Q);
  }

  LLVMContext Context;
  JitRequest Q;
};

TEST_F(FactsTest, ScalarsThatAreUsed) {
  Q.Fields = {makeField(MNEME_JIT_VALUE, 0), makeField(MNEME_JIT_VALUE, 1),
              makeField(MNEME_JIT_VALUE, 9)};
  // As clang writes it: both are stored, one is read.
  JitFacts F = find(R"(
define ptx_kernel void @k(i32 %a, i32 %b, ptr %p) {
  %a.addr = alloca i32
  %b.addr = alloca i32
  store i32 %a, ptr %a.addr
  store i32 %b, ptr %b.addr
  %x = load i32, ptr %a.addr
  store i32 %x, ptr %p
  ret void
})");
  EXPECT_EQ(1u, F.Fields);
  ASSERT_EQ(1u, F.Refused.size());
  EXPECT_EQ(2u, F.Refused[0].first);
}

TEST_F(FactsTest, PartsOfStructs) {
  Q.Fields = {
      makeField(MNEME_JIT_VALUE, 0, 0), makeField(MNEME_JIT_VALUE, 0, 4),
      makeField(MNEME_JIT_VALUE, 0, 8), makeField(MNEME_JIT_VALUE, 1, 0)};
  JitFacts F = find(R"(
define ptx_kernel void @k(ptr byval(%s) %s, ptr byval(%s) %t, ptr %p, i32 %i) {
  %y = getelementptr %s, ptr %s, i32 0, i32 1
  %v = load i32, ptr %y
  store i32 %v, ptr %p
  %e = getelementptr %s, ptr %t, i32 0, i32 2, i32 %i
  %w = load i32, ptr %e
  store i32 %w, ptr %p
  ret void
})");
  // An index that is unknown may lead anywhere.
  EXPECT_EQ(0b1010u, F.Fields);
  EXPECT_TRUE(F.Refused.empty());
}

TEST_F(FactsTest, ArraysThatAreWritten) {
  Q.Fields = {makeField(MNEME_JIT_ARRAY, 0), makeField(MNEME_JIT_ARRAY, 1),
              makeField(MNEME_JIT_ARRAY, 2), makeField(MNEME_JIT_ARRAY, 3)};
  JitFacts F = find(R"(
define internal i32 @read(ptr %p) {
  %v = load i32, ptr %p
  ret i32 %v
}
define ptx_kernel void @k(ptr %a, ptr %b, ptr %c, ptr %d) {
  %v = call i32 @read(ptr %a)
  store i32 %v, ptr %b
  call void @unknown(ptr %c)
  ret void
})");
  // %b is not read. The store comes after the read of %a.
  EXPECT_EQ(0b0001u, F.Fields);
  ASSERT_EQ(1u, F.Refused.size());
  EXPECT_EQ(2u, F.Refused[0].first);
}

/// Returns a kernel or function that runs Before, and then reads *%p.
std::string readAfter(StringRef Before, StringRef Attributes = "",
                      StringRef Convention = "") {
  return ("@g = external global i32\n"
          "@shared = internal addrspace(3) global i32 poison\n"
          "declare i32 @vprintf(ptr, ptr)\n"
          "declare noalias ptr @malloc(i64) allockind(\"alloc,uninitialized\") "
          "\"alloc-family\"=\"malloc\"\n"
          "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"
          "define internal void @touch(i32 %n) noinline {\n"
          "  store i32 %n, ptr @g\n  ret void\n}\n"
          "define internal i32 @pure(i32 %n) noinline {\n"
          "  %r = mul i32 %n, 3\n  ret i32 %r\n}\n"
          "define " +
          Convention + " void @k(ptr " + Attributes +
          " %p, ptr %q, ptr noalias %out, i32 %n) {\n  " + Before +
          "\n  %v = load i32, ptr %p\n  store i32 %v, ptr %out\n"
          "  ret void\n}\n")
      .str();
}

TEST_F(FactsTest, ContentsThatChangeBeforeTheyAreRead) {
  Q.Target = JitTarget::Function;
  Q.Fields = {makeField(MNEME_JIT_ARRAY, 0)};
  auto IsConstant = [&](const std::string &Body) {
    JitFacts F = find(Body);
    EXPECT_EQ(F.Fields == 1, F.Refused.empty());
    return F.Fields == 1;
  };
  auto Why = [&](const std::string &Body) {
    JitFacts F = find(Body);
    return F.Refused.empty() ? "" : F.Refused[0].second;
  };
  EXPECT_TRUE(IsConstant(readAfter("")));
  EXPECT_EQ("the code may write to it", Why(readAfter("store i16 7, ptr %p")));
  // Through another pointer, a variable, a function.
  EXPECT_EQ("the code may write to it through another pointer; if not, give "
            "jit_immutable, or declare it __restrict__",
            Why(readAfter("store i32 %n, ptr %q")));
  EXPECT_FALSE(IsConstant(readAfter("store i32 %n, ptr @g")));
  EXPECT_EQ("a call of 'touch' may write to it; if not, give jit_immutable, or "
            "declare it __restrict__",
            Why(readAfter("call void @touch(i32 %n)")));
  EXPECT_FALSE(IsConstant(readAfter("call void @unknown(ptr %q)")));
  EXPECT_FALSE(IsConstant(readAfter("call void %q()")));
  EXPECT_FALSE(IsConstant(readAfter("fence seq_cst")));
  // Bytes behind those that are read.
  EXPECT_TRUE(IsConstant(readAfter(
      "%e = getelementptr i32, ptr %p, i64 1\n  store i32 %n, ptr %e")));
  // No write, or to other memory.
  EXPECT_TRUE(IsConstant(readAfter("%r = call i32 @pure(i32 %n)")));
  EXPECT_TRUE(IsConstant(
      readAfter("%a = alloca i32\n  store volatile i32 %n, ptr %a")));
  EXPECT_TRUE(
      IsConstant(readAfter("%r = call i32 @vprintf(ptr @g, ptr null)")));
  EXPECT_TRUE(IsConstant(
      readAfter("%m = call ptr @malloc(i64 8)\n  store i32 %n, ptr %m")));
  EXPECT_TRUE(IsConstant(readAfter("store i32 %n, ptr %q", "noalias")));
  EXPECT_TRUE(IsConstant(readAfter("call void @unknown(ptr %q)", "noalias")));
  EXPECT_FALSE(IsConstant(readAfter("call void @unknown(ptr %p)", "noalias")));
  // The pointer is known elsewhere: the code may read through that.
  EXPECT_FALSE(IsConstant(readAfter("store ptr %p, ptr @g")));
  // A promise of the program.
  Q.Fields[0].Flags = MNEME_JIT_IMMUTABLE;
  EXPECT_TRUE(IsConstant(readAfter("store i32 %n, ptr %q")));
  EXPECT_FALSE(IsConstant(readAfter("store i16 7, ptr %p")));
}

TEST_F(FactsTest, OtherThreadsOfAKernelWrite) {
  Q.Fields = {makeField(MNEME_JIT_ARRAY, 0)};
  auto IsConstant = [&](StringRef Before, StringRef Attributes = "") {
    return find(readAfter(Before, Attributes, "ptx_kernel")).Fields == 1;
  };
  StringRef Barrier =
      "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n  ";
  EXPECT_TRUE(IsConstant(Barrier));
  EXPECT_TRUE(IsConstant("fence seq_cst"));
  EXPECT_TRUE(IsConstant(
      ("store i32 %n, ptr addrspace(3) @shared\n  " + Barrier).str()));
  EXPECT_FALSE(IsConstant(("store i32 %n, ptr %q\n  " + Barrier).str()));
  EXPECT_TRUE(
      IsConstant(("store i32 %n, ptr %q\n  " + Barrier).str(), "noalias"));
}

TEST_F(FactsTest, PointersWithoutContents) {
  Q.Target = JitTarget::Function;
  Q.Fields = {makeField(MNEME_JIT_ARRAY, 0)};
  JitFacts F = find(R"(
define i1 @k(ptr %p, ptr %q) {
  store i32 1, ptr %q
  %same = icmp eq ptr %p, %q
  ret i1 %same
})");
  EXPECT_EQ(0u, F.Fields);
  EXPECT_TRUE(F.Refused.empty());
}

TEST_F(FactsTest, HowValuesAreShown) {
  Q.Target = JitTarget::Function;
  Q.Fields = {
      makeField(MNEME_JIT_VALUE, 1),    makeField(MNEME_JIT_VALUE, 2, 0, 1),
      makeField(MNEME_JIT_VALUE, 3),    makeField(MNEME_JIT_VALUE, 4, 0, 8),
      makeField(MNEME_JIT_VALUE, 5, 4), makeField(MNEME_JIT_ARRAY, 6, 0, 8)};
  JitFacts F = find(R"(
define void @k(ptr sret(%s) %r, i32 %a, i8 zeroext %b, float %c, ptr %d, ptr byval(%s) %e, ptr %f) {
  %x = load double, ptr %f
  store i32 %a, ptr %r
  store i8 %b, ptr %r
  store float %c, ptr %r
  store ptr %d, ptr %r
  %y = getelementptr %s, ptr %e, i32 0, i32 1
  %w = load i32, ptr %y
  store i32 %w, ptr %r
  store double %x, ptr %r
  ret void
})");
  EXPECT_EQ(1u, F.FirstArg);
  EXPECT_EQ(0b111111u, F.Fields);
  EXPECT_EQ((std::string{::mneme::JitShownSigned, ::mneme::JitShownUnsigned,
                         ::mneme::JitShownFloat, ::mneme::JitShownBytes,
                         ::mneme::JitShownSigned, ::mneme::JitShownFloat}),
            F.Shown);
}

TEST_F(FactsTest, PartsOfClosures) {
  Q.Fields = {makeField(MNEME_JIT_POINTEE, 0, 0),
              makeField(MNEME_JIT_POINTEE, 0, 4),
              makeField(MNEME_JIT_POINTEE, 0, 8)};
  JitFacts F = find(R"(
define void @k(ptr %this, ptr %p) {
  %v = load i32, ptr %this
  %y = getelementptr %s, ptr %this, i32 0, i32 1
  %w = load i32, ptr %y
  %x = add i32 %v, %w
  store i32 %x, ptr %y
  ret void
})");
  EXPECT_EQ(0b001u, F.Fields);
  ASSERT_EQ(1u, F.Refused.size());
  EXPECT_EQ(1u, F.Refused[0].first);
}

TEST_F(FactsTest, Dimensions) {
  const char *Kernel = R"(
define ptx_kernel void @k(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %a = add i32 %t, %n
  %b = add i32 %a, %g
  store i32 %b, ptr %p
  ret void
})";
  JitFacts F = find(Kernel);
  EXPECT_EQ(1u, F.Block);
  EXPECT_EQ(0u, F.Grid);
  EXPECT_EQ(1u, F.Bounds);
  Q.Specialize = ::mneme::JitGrid;
  F = find(Kernel);
  EXPECT_EQ(0u, F.Block);
  EXPECT_EQ(2u, F.Grid);
  EXPECT_EQ(0u, F.Bounds);
  Q.Specialize = ::mneme::JitRanges;
  F = find(Kernel);
  EXPECT_EQ(1u, F.Block);
  EXPECT_EQ(0u, F.Grid);
  // The host device has no registers to save.
  Q.Target = JitTarget::Host;
  Q.Specialize = ::mneme::JitBounds;
  EXPECT_EQ(0u, find(Kernel).Bounds);
}

TEST_F(FactsTest, NothingWithoutArguments) {
  Q.Fields = {makeField(MNEME_JIT_VALUE, 0)};
  Q.Specialize = 0;
  JitFacts F = find(R"(
define ptx_kernel void @k(i32 %a, ptr %p) {
  store i32 %a, ptr %p
  ret void
})");
  EXPECT_EQ(0u, F.Fields);
}

} // namespace
