//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/AsmAccess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

/// Describes the accesses of a call: "load i32 p", ...
static std::string describe(StringRef Call) {
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M =
      parseAssemblyString(("define void @f(ptr %p, i64 %n, i32 %i, float %x, "
                           "i1 %b) {\n" +
                           Call + "\nret void\n}")
                              .str(),
                          Diagnostic, Context);
  if (!M)
    return Diagnostic.getMessage().str();
  std::string Text;
  raw_string_ostream OS(Text);
  for (const Instruction &I : instructions(*M->getFunction("f")))
    if (const auto *C = dyn_cast<CallBase>(&I))
      for (const AsmAccess &A : findAsmAccesses(*C)) {
        OS << (Text.empty() ? "" : ", ") << (A.IsOwn ? "own " : "")
           << (A.IsLoad ? "load " : "") << (A.IsStore ? "store " : "");
        if (A.Ty)
          OS << *A.Ty << " ";
        OS << A.Address->getName();
      }
  return Text;
}

TEST(AsmAccess, LoadsOfCUDAAreUnderstood) {
  EXPECT_EQ(describe("%r = call i32 asm \"ld.global.cs.s32 $0, [$1];\", "
                     "\"=r,l\"(ptr %p)"),
            "load i32 p");
  // A char in a register of 32 bits.
  EXPECT_EQ(describe("%r = call i32 asm \"ld.global.cg.s8 $0, [$1];\", "
                     "\"=r,l\"(ptr %p)"),
            "load i8 p");
  EXPECT_EQ(describe("%r = call { i64, i64 } asm \"ld.global.cg.v2.s64  "
                     "{$0,$1}, [$2];\", \"=l,=l,l\"(ptr %p)"),
            "load <2 x i64> p");
  EXPECT_EQ(describe("%r = call i16 asm \"ld.global.b16 $0, [$1];\", "
                     "\"=h,l\"(i64 %n)"),
            "load i16 n");
}

TEST(AsmAccess, StoresAndAtomicsAreUnderstood) {
  EXPECT_EQ(describe("call void asm \"st.global.cs.f32 [$0], $1;\", "
                     "\"l,f,~{memory}\"(ptr %p, float %x)"),
            "store float p");
  EXPECT_EQ(describe("%r = call float asm sideeffect \"atom.global.add.f32 "
                     "$0, [$1], $2;\", \"=f,l,f\"(ptr %p, float %x)"),
            "load store float p");
  EXPECT_EQ(describe("%r = call i32 asm \"ld.shared.u32 $0, [$1];\", "
                     "\"=r,r\"(i32 %i)"),
            "own load i32 i");
}

TEST(AsmAccess, PredicatesAndOffsetsAreUnderstood) {
  // As Triton writes it.
  EXPECT_EQ(describe("%r = call i32 asm sideeffect \"mov.u32 $0, 0x0;\\0A\\09"
                     "@$2 ld.global.b32 { $0 }, [ $1 + 0 ];\", "
                     "\"=r,l,b\"(ptr %p, i1 %b)"),
            "load i32 p");
  EXPECT_EQ(describe("%r = call i32 asm \"ld.global.b32 $0, [$1+4];\", "
                     "\"=r,l\"(ptr %p)"),
            "load p");
}

TEST(AsmAccess, OtherTextsAccessAllAddresses) {
  EXPECT_EQ(describe("%r = call i32 asm \"{mov.u64 t, $1; ld.global.u32 $0, "
                     "[t];}\", \"=r,l\"(i64 %n)"),
            "load store n");
  EXPECT_EQ(describe("%r = call i32 asm \"global_load_dword $0, $1, off\", "
                     "\"=v,v\"(ptr %p)"),
            "load store p");
  // The address is also an output.
  EXPECT_EQ(describe("%r = call i64 asm \"ld.global.u64 $0, [$1];\", "
                     "\"=l,0\"(i64 %n)"),
            "load store n");
}

TEST(AsmAccess, ArithmeticAccessesNothing) {
  EXPECT_EQ(describe("%r = call i64 asm \"cvta.to.global.u64 $0, $1;\", "
                     "\"=l,l\"(i64 %n)"),
            "");
  EXPECT_EQ(describe("call void asm sideeffect \"\", \"l,~{memory}\"(ptr %p)"),
            "");
}
