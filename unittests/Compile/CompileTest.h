//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For tests that compile a kernel "k" from its text.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_COMPILE_COMPILETEST_H
#define LLVM_MNEME_UNITTESTS_COMPILE_COMPILETEST_H

#include "llvm/AsmParser/Parser.h"
#include "llvm/Config/Targets.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace llvm {
namespace mneme {

inline std::unique_ptr<Module> parseModule(StringRef Text,
                                           LLVMContext &Context) {
  SMDiagnostic Err;
  std::unique_ptr<Module> M = parseAssemblyString(Text, Err, Context);
  EXPECT_TRUE(M) << Err.getMessage().str();
  return M;
}

inline CompileOptions makeOptions() {
  CompileOptions O;
  O.Kernel = "k";
  return O;
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_COMPILE_COMPILETEST_H
