//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferBounds.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Support/SourceMgr.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;

namespace {

/// %i is 0 to 1023, and %n is 1000.
constexpr StringLiteral BoundedKernelBegin = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%pair = type { i64, ptr }
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define ptx_kernel void @kernel(ptr %x, i32 %n, ptr byval(%pair) %s) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul nuw nsw i32 %b, %d
  %i = add nuw nsw i32 %m, %t
  %member = getelementptr %pair, ptr %s, i64 0, i32 1
  %y = load ptr, ptr %member
)";

/// Returns the arguments whose buffers a kernel leaves: %x is the begin of 4096
/// bytes, %y is 4096 bytes behind the begin of 8192.
std::set<unsigned> outside(StringRef Body) {
  LLVMContext Context;
  SMDiagnostic Err;
  std::unique_ptr<Module> M = parseAssemblyString(
      (BoundedKernelBegin + Body + "\n  ret void\n}\n").str(), Err, Context);
  if (!M) {
    ADD_FAILURE() << Err.getMessage().str() << ": "
                  << Err.getLineContents().str();
    return {};
  }
  SpecializeOptions Launch;
  Launch.Kernel = "kernel";
  Launch.Args[1] = 1000;
  Launch.Grid = {8, 1, 1};
  Launch.Block = {128, 1, 1};
  Launch.Ranges = true;
  return findOutside(*M, Launch, {{0, 0, 0, 4096}, {2, 8, 4096, 8192}});
}

/// Stores 4 bytes at the element with an index.
std::set<unsigned> store(StringRef Pointer, StringRef Index,
                         StringRef Before = "") {
  return outside((Before + "\n%j = sext i32 " + Index +
                  " to i64\n%p = getelementptr i32, ptr " + Pointer +
                  ", i64 %j\nstore i32 1, ptr %p")
                     .str());
}

TEST(BufferBounds, AccessesInTheBuffer) {
  EXPECT_THAT(store("%x", "%i"), ElementsAre());
  EXPECT_THAT(store("%x", "1023"), ElementsAre());
  EXPECT_THAT(store("%y", "-1024"), ElementsAre());
  EXPECT_THAT(store("%y", "%i"), ElementsAre());
}

TEST(BufferBounds, ConstantOffsets) {
  EXPECT_THAT(store("%x", "1024"), ElementsAre(0));
  EXPECT_THAT(store("%x", "-1"), ElementsAre(0));
  EXPECT_THAT(store("%y", "1024"), ElementsAre(2));
  EXPECT_THAT(store("%y", "-1025"), ElementsAre(2));
}

TEST(BufferBounds, AnIndexAndAConstant) {
  EXPECT_THAT(store("%x", "%k", "%k = add i32 %i, 1024"), ElementsAre(0));
  EXPECT_THAT(store("%x", "%k", "%k = add i32 %i, -1024"), ElementsAre(0));
  // Some threads may stay in the buffer.
  EXPECT_THAT(store("%x", "%k", "%k = add i32 %i, 1000"), ElementsAre());
}

TEST(BufferBounds, AnIndexAndAScalar) {
  EXPECT_THAT(store("%x", "%k", "%l = add i32 %i, %n\n%k = add i32 %l, 24"),
              ElementsAre(0));
}

TEST(BufferBounds, AnAccessThatReachesOverTheEnd) {
  EXPECT_THAT(outside("%p = getelementptr i8, ptr %x, i64 4092\n"
                      "store i64 1, ptr %p"),
              ElementsAre(0));
  EXPECT_THAT(
      outside("%p = getelementptr i8, ptr %x, i64 5000\n"
              "call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 4, i1 0)"),
      ElementsAre(0));
}

TEST(BufferBounds, AnotherAddressSpace) {
  EXPECT_THAT(
      outside("%g = addrspacecast ptr %x to ptr addrspace(1)\n"
              "%p = getelementptr i8, ptr addrspace(1) %g, i64 5000\n"
              "%r = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic"),
      ElementsAre(0));
}

TEST(BufferBounds, ALoop) {
  StringRef Loop = "br label %loop\nloop:\n"
                   "%k = phi i32 [ 1024, %0 ], [ %next, %loop ]\n"
                   "%p = getelementptr i32, ptr %x, i32 %k\n"
                   "store i32 1, ptr %p\n"
                   "%next = add nuw nsw i32 %k, 1\n"
                   "%more = icmp ult i32 %next, 2048\n"
                   "br i1 %more, label %loop, label %done\ndone:";
  EXPECT_THAT(outside(Loop), ElementsAre(0));
}

TEST(BufferBounds, CodeThatTheLaunchDoesNotExecute) {
  EXPECT_THAT(outside("%big = icmp ugt i32 %n, 5000\n"
                      "br i1 %big, label %far, label %done\nfar:\n"
                      "%p = getelementptr i8, ptr %x, i64 5000\n"
                      "store i32 1, ptr %p\nbr label %done\ndone:"),
              ElementsAre());
}

} // namespace
