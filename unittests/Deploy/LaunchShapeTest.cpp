//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

constexpr StringLiteral Prologue = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.warpsize()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.clock()
declare float @llvm.sqrt.f32(float)
declare i32 @unknown(i32)
@shared = internal addrspace(3) global [64 x i32] undef
define internal i32 @half(i32 %v) noinline {
  %r = lshr i32 %v, 1
  ret i32 %r
}
define internal i32 @blockDim() alwaysinline {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  ret i32 %n
}
define ptx_kernel void @kernel(ptr %out, ptr %in, i32 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %start = mul i32 %ctaid, %ntid
  %i = add i32 %start, %tid
  %to = getelementptr i32, ptr %out, i32 %i
)";

/// Returns the reason for a kernel with these instructions after the index %i
/// and the address %to.
std::string dependence(StringRef Body) {
  LLVMContext Context;
  SMDiagnostic Err;
  std::string Text = (Prologue + Body + "\n  ret void\n}\n").str();
  std::unique_ptr<Module> M = parseAssemblyString(Text, Err, Context);
  if (!M) {
    ADD_FAILURE() << Err.getMessage().str();
    return "";
  }
  return findShapeDependence(*M, "kernel");
}

constexpr StringLiteral ThreadIndex =
    "threadIdx.x is used other than in the global index";

TEST(LaunchShapeTest, TheGlobalIndexIsFree) {
  EXPECT_EQ("", dependence("store i32 %i, ptr %to"));
  EXPECT_EQ("", dependence("%h = call i32 @half(i32 %i)\n"
                           "store i32 %h, ptr %to"));
  EXPECT_EQ("", dependence("%f = sitofp i32 %i to float\n"
                           "%s = call float @llvm.sqrt.f32(float %f)\n"
                           "store float %s, ptr %to"));
}

TEST(LaunchShapeTest, TheGlobalIndexMayBeWide) {
  EXPECT_EQ("", dependence("%t64 = zext i32 %tid to i64\n"
                           "%c64 = zext i32 %ctaid to i64\n"
                           "%n64 = zext i32 %ntid to i64\n"
                           "%s64 = mul i64 %n64, %c64\n"
                           "%i64 = add i64 %t64, %s64\n"
                           "store i64 %i64, ptr %to"));
}

TEST(LaunchShapeTest, TheNumberOfThreadsIsFree) {
  EXPECT_EQ("", dependence("%g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()\n"
                           "%all = mul i32 %g, %ntid\n"
                           "%next = add i32 %i, %all\n"
                           "store i32 %next, ptr %to"));
}

TEST(LaunchShapeTest, OtherUsesOfRegisters) {
  EXPECT_EQ(ThreadIndex, dependence("store i32 %tid, ptr %to"));
  EXPECT_EQ("blockIdx.x is used other than in the global index",
            dependence("store i32 %ctaid, ptr %to"));
  EXPECT_EQ("blockDim.x is used other than in the global index",
            dependence("store i32 %ntid, ptr %to"));
  EXPECT_EQ("gridDim.x is used other than in the global index",
            dependence("%g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()\n"
                       "store i32 %g, ptr %to"));
  EXPECT_NE("", dependence("store i32 %start, ptr %to"));
}

TEST(LaunchShapeTest, BlockDimThroughInlining) {
  EXPECT_EQ("blockDim.x is used other than in the global index",
            dependence("%b = call i32 @blockDim()\n"
                       "store i32 %b, ptr %to"));
}

TEST(LaunchShapeTest, AnIndexOfMixedAxes) {
  EXPECT_NE("", dependence("%y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()\n"
                           "%j = add i32 %start, %y\n"
                           "store i32 %j, ptr %to"));
  EXPECT_NE("", dependence("%y = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()\n"
                           "%j = mul i32 %ctaid, %y\n"
                           "%k = add i32 %j, %tid\n"
                           "store i32 %k, ptr %to"));
}

TEST(LaunchShapeTest, ANarrowIndex) {
  EXPECT_NE("", dependence("%c = trunc i32 %ctaid to i16\n"
                           "%b = trunc i32 %ntid to i16\n"
                           "%t = trunc i32 %tid to i16\n"
                           "%m = mul i16 %c, %b\n"
                           "%w = zext i16 %m to i32\n"
                           "%j = add i32 %w, %tid\n"
                           "store i32 %j, ptr %to"));
}

TEST(LaunchShapeTest, SharedMemory) {
  EXPECT_EQ("uses shared memory",
            dependence("%p = getelementptr i32, ptr addrspace(3) @shared, "
                       "i32 0\n"
                       "store i32 %i, ptr addrspace(3) %p\n"
                       "%v = load i32, ptr addrspace(3) %p\n"
                       "store i32 %v, ptr %to"));
}

// The IR has no variable if the source names an address by a number.
TEST(LaunchShapeTest, SharedMemoryByNumber) {
  EXPECT_EQ("uses shared memory",
            dependence("store i32 %i, ptr addrspace(3) null\n"));
  EXPECT_EQ("uses shared memory",
            dependence("store i32 %i, ptr addrspacecast (ptr addrspace(3) "
                       "inttoptr (i64 16 to ptr addrspace(3)) to ptr)\n"));
}

TEST(LaunchShapeTest, AtomicsOfSeveralTypes) {
  EXPECT_EQ("", dependence("atomicrmw add ptr %to, i32 1 monotonic\n"
                           "atomicrmw add ptr %to, i32 2 monotonic\n"));
  EXPECT_EQ("the results of its atomics depend on their order",
            dependence("atomicrmw add ptr %to, i32 1 monotonic\n"
                       "atomicrmw add ptr %to, i64 2 monotonic\n"));
}

TEST(LaunchShapeTest, Communication) {
  EXPECT_EQ(
      "uses llvm.nvvm.barrier.cta.sync.aligned.all",
      dependence("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"));
  EXPECT_EQ("uses llvm.nvvm.shfl.sync.idx.i32",
            dependence("%s = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, "
                       "i32 %i, i32 0, i32 31)\n"
                       "store i32 %s, ptr %to"));
  EXPECT_EQ("uses llvm.nvvm.read.ptx.sreg.laneid",
            dependence("%l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
                       "store i32 %l, ptr %to"));
  EXPECT_EQ("uses llvm.nvvm.read.ptx.sreg.clock",
            dependence("%l = call i32 @llvm.nvvm.read.ptx.sreg.clock()\n"
                       "store i32 %l, ptr %to"));
  EXPECT_EQ("", dependence("%w = call i32 @llvm.nvvm.read.ptx.sreg.warpsize()\n"
                           "store i32 %w, ptr %to"));
}

TEST(LaunchShapeTest, Atomics) {
  constexpr StringLiteral Order =
      "the results of its atomics depend on their order";
  EXPECT_EQ("", dependence("atomicrmw add ptr %out, i32 %i monotonic"));
  EXPECT_EQ("", dependence("atomicrmw sub ptr %out, i32 1 monotonic\n"
                           "atomicrmw add ptr %in, i32 %i monotonic"));
  EXPECT_EQ(Order, dependence("atomicrmw fadd ptr %out, float 1.0 monotonic"));
  EXPECT_EQ(Order, dependence("%o = atomicrmw add ptr %out, i32 1 monotonic\n"
                              "store i32 %o, ptr %to"));
  EXPECT_EQ(Order, dependence("atomicrmw xchg ptr %out, i32 %i monotonic"));
  EXPECT_EQ(Order, dependence("atomicrmw add ptr %out, i32 %i monotonic\n"
                              "atomicrmw max ptr %out, i32 7 monotonic"));
  EXPECT_EQ(Order, dependence("%p = cmpxchg ptr %out, i32 0, i32 %i monotonic "
                              "monotonic"));
  EXPECT_EQ(Order, dependence("fence seq_cst"));
  // Of the block in which the launch was recorded, there may be several.
  EXPECT_EQ("", dependence("atomicrmw add ptr %out, i32 %i "
                           "syncscope(\"device\") monotonic"));
  EXPECT_EQ(Order, dependence("atomicrmw add ptr %out, i32 %i "
                              "syncscope(\"block\") monotonic"));
}

TEST(LaunchShapeTest, UnknownCode) {
  EXPECT_EQ("calls 'unknown', of which the code is unknown",
            dependence("%u = call i32 @unknown(i32 %i)"));
  EXPECT_EQ("inline assembly",
            dependence("%a = call i32 asm \"mov.u32 $0, %smid;\", \"=r\"()\n"
                       "store i32 %a, ptr %to"));
  EXPECT_EQ("calls through a pointer", dependence("call void %in()"));
  EXPECT_EQ("accesses volatile memory",
            dependence("store volatile i32 %i, ptr %to"));
}

/// Returns the reason for a kernel that stores the result of this PTX.
std::string dependenceOfAsm(StringRef Text, StringRef Prefix = "") {
  return dependence(("%a = call i32 asm " + Prefix + " \"" + Text +
                     "\", \"=r,r\"(i32 %i)\n"
                     "store i32 %a, ptr %to")
                        .str());
}

// libdevice contains such code.
TEST(LaunchShapeTest, AssemblyThatComputes) {
  EXPECT_EQ("", dependenceOfAsm("bfind.shiftamt.u32 $0, $1;"));
  EXPECT_EQ("", dependenceOfAsm("sub.rn.f32 $0,$1,$1;"));
  EXPECT_EQ("", dependenceOfAsm("{\\0A\\09.reg .u32 a, b;\\0A\\09"
                                "mad.lo.cc.u32  a, $1, $1, $1;\\0A\\09"
                                "madc.hi.u32    $0, $1, a,  0; \\0A\\09}"));
}

TEST(LaunchShapeTest, OtherAssembly) {
  for (StringRef Text :
       {"mov.u32 $0, %tid.x;", "mov.u32 $0, %laneid;", "ld.u32 $0, [$1];",
        "add.u32 $0, $1, $1; bar.sync 0;", "add: bar.sync 0;",
        "{ add.u32 $0, $1, $1; { bar.sync 0; } }", "activemask.b32 $0;",
        "shfl.sync.idx.b32 $0, $1, 0, 31, -1;", "{ mov.u32 $0, $1;",
        "{ .shared .u32 a; mov.u32 $0, a; }", "@p add.u32 $0, $1, $1;",
        "mov.u32 $0, $1\\0Abar.sync 0;"})
    EXPECT_EQ("inline assembly", dependenceOfAsm(Text)) << Text.str();
  EXPECT_EQ("inline assembly",
            dependenceOfAsm("mov.u32 $0, $1;", "sideeffect"));
}

TEST(LaunchShapeTest, FindsRegisters) {
  LLVMContext Context;
  SMDiagnostic Err;
  std::unique_ptr<Module> M =
      parseAssemblyString((Prologue + "  ret void\n}\n").str(), Err, Context);
  ASSERT_TRUE(M);
  using R = LaunchRegister;
  std::set<std::pair<R, unsigned>> Expected{
      {R::ThreadIndex, 0}, {R::BlockIndex, 0}, {R::BlockSize, 0}};
  EXPECT_EQ(Expected, findLaunchRegisters(*M));
}

} // namespace
