//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

namespace {

constexpr const char *Text = R"(
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
@table = addrspace(4) externally_initialized constant [2 x i16] [i16 1, i16 -2], align 4
@state = addrspace(1) externally_initialized global { i8, double, ptr } { i8 7, double 1.0, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @text to ptr), i64 2) }, align 8
@text = addrspace(1) constant [4 x i8] c"abc\00"
@kept = addrspace(1) constant i32 9
@tile = internal addrspace(3) global [8 x i32] undef
@elsewhere = external addrspace(1) global i32
%register = type { i8 }
@blockDim = extern_weak addrspace(1) global %register, align 1
define void @helper() {
  store i16 0, ptr addrspacecast (ptr addrspace(1) @state to ptr)
  ret void
}
define ptx_kernel void @both(ptr %p) {
  %v = load i32, ptr addrspace(1) @kept
  %w = load i32, ptr addrspace(1) @elsewhere
  call void @helper()
  ret void
}
declare void @get(ptr)
define ptx_kernel void @one(ptr %p) {
  call void @get(ptr addrspacecast (ptr addrspace(1) @blockDim to ptr))
  %v = load i16, ptr addrspace(4) @table
  ret void
}
)";

struct HostVariablesTest : ::testing::Test {
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> parse(StringRef IR) {
    auto M = parseAssemblyString(IR, Diagnostic, Context);
    EXPECT_TRUE(M) << Diagnostic.getMessage().str();
    return M;
  }
};

TEST_F(HostVariablesTest, FindsWhatLivesInDeviceMemory) {
  auto M = parse(Text);
  ASSERT_TRUE(M);
  std::vector<HostVariable> V = findHostVariables(*M);
  ASSERT_EQ(V.size(), 3u);
  EXPECT_EQ(V[0].Name, "table");
  EXPECT_EQ(V[0].Size, 4u);
  EXPECT_TRUE(V[0].Constant);
  EXPECT_EQ(V[1].Name, "state");
  EXPECT_EQ(V[1].Size, 24u);
  EXPECT_FALSE(V[1].Constant);
  // A constant, but other device memory points to it.
  EXPECT_EQ(V[2].Name, "text");
}

TEST_F(HostVariablesTest, FindsWhatAKernelReaches) {
  auto M = parse(Text);
  ASSERT_TRUE(M);
  EXPECT_EQ(findReachedVariables(*M, "both"),
            (std::vector<std::string>{"state", "text", "elsewhere"}));
  EXPECT_EQ(findReachedVariables(*M, "one"),
            (std::vector<std::string>{"table"}));
  EXPECT_TRUE(findReachedVariables(*M, "nothing").empty());
}

TEST_F(HostVariablesTest, WritesInitializers) {
  auto M = parse(Text);
  ASSERT_TRUE(M);
  auto Contents = evaluateInitializers(*M, [](StringRef Name) -> uint64_t {
    return Name == "text" ? 0x1000 : 0;
  });
  ASSERT_THAT_EXPECTED(Contents, Succeeded());
  ASSERT_EQ(Contents->size(), 3u);
  EXPECT_EQ((*Contents)[0], std::string("\x01\x00\xfe\xff", 4));
  const std::string &State = (*Contents)[1];
  ASSERT_EQ(State.size(), 24u);
  double D;
  uint64_t P;
  std::memcpy(&D, State.data() + 8, 8);
  std::memcpy(&P, State.data() + 16, 8);
  EXPECT_EQ(State[0], 7);
  EXPECT_EQ(D, 1.0);
  EXPECT_EQ(P, 0x1002u);
  EXPECT_EQ((*Contents)[2], std::string("abc\0", 4));
}

TEST_F(HostVariablesTest, RefusesUnknownAddresses) {
  auto M = parse(Text);
  ASSERT_TRUE(M);
  auto Contents = evaluateInitializers(*M, [](StringRef) { return 0; });
  ASSERT_FALSE(bool(Contents));
  EXPECT_EQ(toString(Contents.takeError()),
            "initializer of 'state' refers to 'text', which has no address");
}

} // namespace
