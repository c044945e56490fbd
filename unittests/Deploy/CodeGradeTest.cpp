//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeGrade.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;

namespace {

constexpr StringLiteral KernelBegin = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%pair = type { ptr, i32, ptr }
%nested = type { i32, { ptr, i32 } }
@g = addrspace(1) global i32 0
@h = addrspace(1) global i32 0
@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @g to ptr), ptr addrspacecast (ptr addrspace(1) @h to ptr)], section "llvm.metadata"
declare i1 @llvm.nvvm.isspacep.global(ptr)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare void @llvm.assume(i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal i32 @page(ptr %p) noinline {
  %n = ptrtoint ptr %p to i64
  %s = lshr i64 %n, 12
  %r = trunc i64 %s to i32
  ret i32 %r
}
define internal i1 @same(ptr %p, ptr %q) noinline {
  %r = icmp eq ptr %p, %q
  ret i1 %r
}
define internal i32 @load(ptr %p) noinline {
  %r = load i32, ptr %p
  ret i32 %r
}
define ptx_kernel void @kernel(ptr %out, ptr %x, ptr %y, i32 %n, ptr byval(%pair) %s, %nested %d) {
  %member = getelementptr %pair, ptr %s, i64 0, i32 2
  %a = load ptr, ptr %s
  %b = load ptr, ptr %member
  %xn = ptrtoint ptr %x to i64
  %yn = ptrtoint ptr %y to i64
  %an = ptrtoint ptr %a to i64
  %i = zext i32 %n to i64
  %xi = getelementptr inbounds i32, ptr %x, i64 %i
  %yi = getelementptr inbounds i32, ptr %y, i64 %i
)";

MemoryUse use(StringRef Body) {
  LLVMContext Context;
  SMDiagnostic Err;
  std::unique_ptr<Module> M = parseAssemblyString(
      (KernelBegin + Body + "\n  ret void\n}\n").str(), Err, Context);
  if (!M) {
    ADD_FAILURE() << Err.getMessage().str() << ": "
                  << Err.getLineContents().str();
    return {};
  }
  return findMemoryUse(*M, "kernel");
}

/// Returns the arguments whose addresses a kernel with these instructions
/// computes with. The instructions leave a result in %r.
std::set<unsigned> numbers(StringRef Body, StringRef Type = "i1") {
  return use((Body + "\n  store " + Type + " %r, ptr %out\n").str()).Numbers;
}

TEST(CodeGrade, PlacesAreNoNumbers) {
  EXPECT_THAT(numbers("%r = load i32, ptr %xi", "i32"), ElementsAre());
  EXPECT_THAT(numbers("%r = call i32 @load(ptr %xi)", "i32"), ElementsAre());
  EXPECT_THAT(numbers("%r = load i32, ptr %a", "i32"), ElementsAre());
  EXPECT_THAT(numbers("call void @llvm.memset.p0.i64(ptr %x, i8 0, i64 4, i1 0)"
                      "\n%r = icmp eq i32 %n, 0"),
              ElementsAre());
  EXPECT_THAT(numbers("%r = atomicrmw add ptr %x, i32 %n monotonic", "i32"),
              ElementsAre());
  EXPECT_THAT(numbers("%m = and i64 %xn, -16\n%p = inttoptr i64 %m to ptr\n"
                      "%r = load i32, ptr %p",
                      "i32"),
              ElementsAre());
}

TEST(CodeGrade, GuardsKnowSomeOfAnAddress) {
  EXPECT_THAT(numbers("%r = icmp eq ptr %x, null"), ElementsAre());
  EXPECT_THAT(numbers("%r = icmp ne i64 %an, 0"), ElementsAre());
  EXPECT_THAT(numbers("%r = and i64 %xn, 15", "i64"), ElementsAre());
  EXPECT_THAT(numbers("%r = trunc i64 %xn to i8", "i8"), ElementsAre());
  EXPECT_THAT(numbers("%r = icmp eq ptr %x, %y"), ElementsAre());
  EXPECT_THAT(numbers("%r = icmp eq ptr %a, %b"), ElementsAre());
  EXPECT_THAT(numbers("%r = icmp ne ptr %x, %b"), ElementsAre());
  EXPECT_THAT(numbers("%r = icmp ult ptr %xi, %x"), ElementsAre());
  EXPECT_THAT(
      numbers("%m = ptrtoint ptr %xi to i64\n%r = sub i64 %m, %xn", "i64"),
      ElementsAre());
  EXPECT_THAT(numbers("%r = call i1 @llvm.nvvm.isspacep.global(ptr %x)"),
              ElementsAre());
}

TEST(CodeGrade, ALoopToTheEndOfItsBufferIsKnown) {
  EXPECT_THAT(use("br label %loop\nloop:\n"
                  "%p = phi ptr [ %x, %0 ], [ %next, %loop ]\n"
                  "store i32 0, ptr %p\n"
                  "%next = getelementptr inbounds i32, ptr %p, i64 1\n"
                  "%more = icmp ult ptr %next, %xi\n"
                  "br i1 %more, label %loop, label %done\ndone:")
                  .Numbers,
              ElementsAre());
}

TEST(CodeGrade, TheOrderOfBuffersIsANumber) {
  EXPECT_THAT(numbers("%r = icmp ugt ptr %y, %x"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("%r = icmp ugt i64 %yn, %xn"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("%r = icmp eq ptr %yi, %x"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("%m = sub i64 %xn, %yn\n%r = icmp sgt i64 %m, 0"),
              ElementsAre(1, 2));
  EXPECT_THAT(numbers("%c = icmp ult ptr %x, %y\n"
                      "%p = select i1 %c, ptr %x, ptr %y\n"
                      "%r = load i32, ptr %p",
                      "i32"),
              ElementsAre(1, 2));
  EXPECT_THAT(numbers("%r = icmp ugt ptr %a, %b"), ElementsAre(4));
}

TEST(CodeGrade, BitsOfAnAddressAreANumber) {
  EXPECT_THAT(numbers("%r = lshr i64 %xn, 12", "i64"), ElementsAre(1));
  EXPECT_THAT(numbers("%r = and i64 %xn, 8191", "i64"), ElementsAre(1));
  EXPECT_THAT(numbers("%m = and i64 %xn, 4096\n%r = icmp eq i64 %m, 0"),
              ElementsAre(1));
  EXPECT_THAT(numbers("%r = icmp ugt i64 %xn, 140000000000000"),
              ElementsAre(1));
  EXPECT_THAT(numbers("%p = call ptr @llvm.ptrmask.p0.i64(ptr %x, i64 -4096)\n"
                      "%m = ptrtoint ptr %p to i64\n%r = sub i64 %xn, %m",
                      "i64"),
              ElementsAre(1));
  EXPECT_THAT(numbers("%m = and i64 %xn, 4096\n"
                      "%p = getelementptr i8, ptr %y, i64 %m\n"
                      "%r = load i32, ptr %p",
                      "i32"),
              ElementsAre(1));
  EXPECT_THAT(numbers("%r = mul i64 %an, 2654435761", "i64"), ElementsAre(4));
}

TEST(CodeGrade, OnlyLowBitsMayBeMasked) {
  EXPECT_THAT(numbers("%m = and i64 %xn, -4096\n%p = inttoptr i64 %m to ptr\n"
                      "%r = load i32, ptr %p",
                      "i32"),
              ElementsAre(1));
  EXPECT_THAT(numbers("%m = or i64 %xn, 4095\n%p = inttoptr i64 %m to ptr\n"
                      "%r = load i8, ptr %p",
                      "i8"),
              ElementsAre(1));
  EXPECT_THAT(numbers("call void @llvm.assume(i1 true) [\"align\"(ptr %x, i64 "
                      "4096)]\n%r = and i64 %xn, 4095",
                      "i64"),
              ElementsAre(1));
}

TEST(CodeGrade, StepsThatMayWrapAroundLeadAnywhere) {
  EXPECT_THAT(numbers("%p = getelementptr i8, ptr %x, i64 -140000000000000\n"
                      "%r = icmp ult ptr %p, %x"),
              ElementsAre(1));
}

TEST(CodeGrade, PartsOfStructuresAreAddresses) {
  EXPECT_THAT(numbers("%m = getelementptr i8, ptr %s, i64 8\n"
                      "%w = load i128, ptr %m\n%t = lshr i128 %w, 76\n"
                      "%r = trunc i128 %t to i64",
                      "i64"),
              ElementsAre(4));
  EXPECT_THAT(numbers("%m = getelementptr i8, ptr %s, i64 4\n"
                      "%w = load i64, ptr %m\n%r = lshr i64 %w, 12",
                      "i64"),
              ElementsAre(4));
  EXPECT_THAT(numbers("%m = getelementptr i64, ptr %s, i64 %i\n"
                      "%w = load i64, ptr %m\n%r = lshr i64 %w, 12",
                      "i64"),
              ElementsAre(4));
  // Upper halves.
  EXPECT_THAT(numbers("%m = getelementptr i8, ptr %s, i64 4\n"
                      "%o = getelementptr i8, ptr %s, i64 20\n"
                      "%v = load i32, ptr %m\n%w = load i32, ptr %o\n"
                      "%r = icmp eq i32 %v, %w"),
              ElementsAre(4));
  EXPECT_THAT(numbers("%m = extractvalue %nested %d, 1\n"
                      "%p = extractvalue { ptr, i32 } %m, 0\n"
                      "%w = ptrtoint ptr %p to i64\n%r = lshr i64 %w, 12",
                      "i64"),
              ElementsAre(5));
  EXPECT_THAT(numbers("%m = getelementptr i8, ptr %s, i64 8\n"
                      "%r = load i32, ptr %m",
                      "i32"),
              ElementsAre());
}

TEST(CodeGrade, AssemblyMayUseAPlaceOnly) {
  EXPECT_THAT(numbers("%r = call i32 asm \"ld.global.u32 $0, [$1];\", \"=r,l\""
                      "(ptr %x)",
                      "i32"),
              ElementsAre());
  // As Triton writes it.
  EXPECT_THAT(numbers("%r = call i32 asm \"@$2 ld.global.b32 { $0 }, [ $1 + 0 "
                      "];\", \"=r,l,b\"(ptr %x, i1 true)",
                      "i32"),
              ElementsAre());
  EXPECT_THAT(numbers("%r = call i64 asm \"{ld.global.u32 t, [$1]; shr.u64 $0, "
                      "$1, 12;}\", \"=l,l\"(i64 %xn)",
                      "i64"),
              ElementsAre(1));
  EXPECT_THAT(use("call void asm sideeffect \"st.global.u64 [$0], $1;\", "
                  "\"l,l\"(ptr %out, ptr %x)")
                  .Numbers,
              ElementsAre(1));
}

TEST(CodeGrade, ListsOfTheLinkerUseNoVariables) {
  MemoryUse U = use("%r = load i32, ptr addrspace(1) @g\n"
                    "store i32 %r, ptr %out");
  EXPECT_EQ(U.Variables.size(), 1u);
  EXPECT_EQ(U.Variables.count("g"), 1u);
}

TEST(CodeGrade, AddressesOfVariablesAreNumbers) {
  auto Computes = [](StringRef Body) {
    return use(Body).ComputesWithVariables;
  };
  EXPECT_FALSE(Computes("%v = load i32, ptr addrspace(1) @g\n"
                        "store i32 %v, ptr %out"));
  EXPECT_TRUE(Computes("%w = ptrtoint ptr addrspace(1) @g to i64\n"
                       "%v = lshr i64 %w, 12\nstore i64 %v, ptr %out"));
  EXPECT_TRUE(Computes("%v = icmp ult ptr addrspace(1) @g, @h\n"
                       "store i1 %v, ptr %out"));
}

TEST(CodeGrade, WhatLeavesTheKernelIsANumber) {
  EXPECT_THAT(numbers("%r = call i1 @same(ptr %yi, ptr %x)"),
              ElementsAre(1, 2));

  EXPECT_THAT(numbers("%r = call i32 @page(ptr %x)", "i32"), ElementsAre(1));
  EXPECT_THAT(use("store ptr %x, ptr %out").Numbers, ElementsAre(1));
  EXPECT_THAT(use("store i64 %xn, ptr %out").Numbers, ElementsAre(1));
  EXPECT_THAT(use("store ptr %a, ptr %out").Numbers, ElementsAre(4));
  EXPECT_THAT(use("%l = alloca [4 x i64]\n"
                  "%p = getelementptr i64, ptr %l, i64 %i\n"
                  "store i64 %xn, ptr %p\n%r = load i64, ptr %l\n"
                  "store i64 %r, ptr %out")
                  .Numbers,
              ElementsAre(1));
}

TEST(CodeGrade, PointersThatAreLoadedHaveNoGuards) {
  auto Loads = [](StringRef Body) { return use(Body).LoadsPointers; };
  EXPECT_FALSE(Loads("%v = load i32, ptr %a\nstore i32 %v, ptr %out"));
  EXPECT_TRUE(Loads("%p = load ptr, ptr %x\n%v = load i32, ptr %p\n"
                    "store i32 %v, ptr %out"));
  // As numbers, and put together from two arguments.
  EXPECT_TRUE(Loads("%w = load i64, ptr %x\n%p = inttoptr i64 %w to ptr\n"
                    "%v = load i32, ptr %p\nstore i32 %v, ptr %out"));
  EXPECT_TRUE(Loads("%w = shl i64 %i, 32\n%q = or i64 %w, %i\n"
                    "%p = inttoptr i64 %q to ptr\n%v = load i32, ptr %p\n"
                    "store i32 %v, ptr %out"));
}

TEST(CodeGrade, AssemblyLoadsPointers) {
  auto Loads = [](StringRef Body) { return use(Body).LoadsPointers; };
  // To LLVM, assembly without a clobber accesses no memory.
  EXPECT_TRUE(Loads("%w = call i64 asm \"ld.global.cs.s64 $0, [$1];\", "
                    "\"=l,l\"(ptr %x)\n%q = add i64 %w, %i\n"
                    "%p = inttoptr i64 %q to ptr\n%v = load i32, ptr %p\n"
                    "store i32 %v, ptr %out"));
  EXPECT_TRUE(Loads("%p = call ptr asm \"ld.global.u64 $0, [$1];\", "
                    "\"=l,l\"(ptr %x)\n%v = load i32, ptr %p\n"
                    "store i32 %v, ptr %out"));
  EXPECT_FALSE(Loads("%w = call i64 asm \"ld.global.cs.s64 $0, [$1];\", "
                     "\"=l,l\"(ptr %x)\n"
                     "call void asm \"st.global.cs.s64 [$0], $1;\", "
                     "\"l,l,~{memory}\"(ptr %out, i64 %w)"));
}

TEST(CodeGrade, OnlyBytesThatAreReadCount) {
  MemoryUse U = use("%r = load i32, ptr %a\nstore i32 %r, ptr %out");
  EXPECT_THAT(U.Read[4], ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(U.Members[4], ElementsAre(0, 16));
  // The place in the structure is not known.
  EXPECT_FALSE(use("%p = getelementptr i8, ptr %s, i64 %i\n"
                   "%r = load i8, ptr %p\nstore i8 %r, ptr %out")
                   .Read.count(4));
}

} // namespace
