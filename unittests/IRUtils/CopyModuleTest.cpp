//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static std::string print(const Module &M) {
  std::string Text;
  raw_string_ostream OS(Text);
  M.print(OS, nullptr, /*ShouldPreserveUseListOrder=*/true);
  return Text;
}

TEST(CopyModuleTest, IsTheSameWithoutTheOriginal) {
  auto Context = std::make_unique<LLVMContext>();
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M = parseAssemblyString(R"(
%struct.Pair = type { i32, i32 }
@v = global %struct.Pair zeroinitializer
define i32 @f(i32 %x) {
  %a = add i32 %x, 1
  %b = sub i32 %x, 2
  %c = mul i32 %x, %b
  %r = xor i32 %a, %c
  ret i32 %r
  uselistorder i32 %x, { 1, 0, 2 }
}
)",
                                                  Diagnostic, *Context);
  ASSERT_TRUE(M);
  std::string Text = print(*M);
  ASSERT_NE(Text.find("uselistorder i32 %x"), Text.npos);
  LLVMContext Other;
  std::unique_ptr<Module> Copy = copyModule(*M, Other);
  EXPECT_EQ(&Copy->getContext(), &Other);
  M.reset();
  Context.reset();
  EXPECT_EQ(print(*Copy), Text);
}
