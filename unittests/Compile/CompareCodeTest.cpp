//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/CompareCode.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;
using testing::StartsWith;

namespace {
class CompareCodeTest : public testing::Test {
protected:
  void SetUp() override {
    if (auto Ptxas = findPtxas(""); !Ptxas)
      GTEST_SKIP() << toString(Ptxas.takeError());
  }

  /// Kernel k, which adds \p Addend to \p Global and loads \p Constant, in a
  /// module with \p Before in front of it.
  std::string assemble(StringRef Before, StringRef Global = "counter",
                       StringRef Constant = "scale", StringRef Addend = "1",
                       AssembleOptions O = {}) {
    std::string PTX = formatv(R"(.version 8.8
.target sm_90
.address_size 64
{0}
.visible .const .align 4 .b8 scale[64];
.visible .const .align 4 .b8 shift[64];
.visible .global .align 4 .u32 counter;
.visible .global .align 4 .u32 other;
.visible .entry k(.param .u64 p, .param .u32 i) {{
  .reg .b64 %d<6>;
  .reg .b32 %r<6>;
  ld.param.u64 %d1, [p];
  ld.param.u32 %r1, [i];
  ld.const.u32 %r2, [{2}+4];
  add.u32 %r2, %r2, %r1;
  st.global.u32 [%d1], %r2;
  mov.b64 %d2, {1};
  atom.global.add.u32 %r3, [%d2], {3};
  st.global.u32 [%d1+4], %r3;
  ret;
}
)",
                              Before, Global, Constant, Addend);
    O.Arch = "sm_90";
    std::string Log;
    auto Cubin = assemblePTX(PTX, O, Log);
    EXPECT_THAT_EXPECTED(Cubin, Succeeded());
    return Cubin ? std::string(Cubin->begin(), Cubin->end()) : "";
  }

  static CodeComparison compare(StringRef A, StringRef B) {
    auto C = compareKernelCode(A, B, "k");
    EXPECT_THAT_EXPECTED(C, Succeeded());
    return C ? *C : CodeComparison();
  }
};
} // namespace

TEST_F(CompareCodeTest, Same) {
  CodeComparison C = compare(assemble(""), assemble(""));
  EXPECT_TRUE(C.Identical);
  EXPECT_FALSE(C.Relocated);
  EXPECT_FALSE(C.FirstDifference);
}

TEST_F(CompareCodeTest, PlacesOfVariables) {
  // The table of addresses has one more in front.
  std::string Plain = assemble("");
  CodeComparison C =
      compare(Plain, assemble(".visible .global .align 4 .u32 more;"));
  EXPECT_TRUE(C.Identical) << C.Difference;
  EXPECT_TRUE(C.Relocated);
  // Constant memory, too.
  C = compare(Plain, assemble(".visible .const .align 4 .b8 table[256];"));
  EXPECT_TRUE(C.Identical) << C.Difference;
  EXPECT_TRUE(C.Relocated);
}

// The same bytes may mean another variable, where places moved.
TEST_F(CompareCodeTest, OtherVariables) {
  std::string Plain = assemble("");
  CodeComparison C = compare(Plain, assemble("", "other"));
  EXPECT_FALSE(C.Identical);
  EXPECT_EQ(C.Difference, "instruction");
  EXPECT_GT(C.FirstDifference.value_or(0), 0u);
  C = compare(Plain, assemble("", "counter", "shift"));
  EXPECT_FALSE(C.Identical);
  std::string Before = ".visible .global .align 4 .u32 before;";
  std::string First = assemble(Before, "before");
  std::string Swapped = assemble(Before, "before");
  // "before" and "counter" are in the first slot of their modules.
  C = compare(Plain, First);
  EXPECT_FALSE(C.Identical);
  EXPECT_EQ(C.Difference, "instruction");
  EXPECT_TRUE(compare(First, Swapped).Identical);
}

TEST_F(CompareCodeTest, OtherCode) {
  CodeComparison C =
      compare(assemble(""), assemble("", "counter", "scale", "2"));
  EXPECT_FALSE(C.Identical);
  EXPECT_EQ(C.Difference, "instruction");
  EXPECT_TRUE(C.FirstDifference);
}

TEST_F(CompareCodeTest, Options) {
  AssembleOptions O;
  O.Level = 1;
  O.Extra = {"--fmad=false"};
  std::string Options =
      readPtxasOptions(assemble("", "counter", "scale", "1", O));
  EXPECT_THAT(Options, HasSubstr("-O 1"));
  EXPECT_THAT(Options, HasSubstr("-arch sm_90"));
  EXPECT_THAT(Options, HasSubstr("fmad"));
  EXPECT_EQ(readPtxasOptions("nothing"), "");
  EXPECT_THAT(readPtxasBuild(assemble("")), StartsWith("cuda_"));
  EXPECT_EQ(readPtxasBuild("nothing"), "");
}

TEST_F(CompareCodeTest, Library) {
  if (!hasPTXCompilerLibrary()) {
    EXPECT_THAT(toString(checkPTXCompiler(PTXCompiler::Library, "")),
                HasSubstr("not built in"));
    GTEST_SKIP() << "nvPTXCompiler is not built in";
  }
  AssembleOptions O;
  for (unsigned Level = 0; Level != 4; ++Level)
    for (bool Debug : {false, true}) {
      O.Level = Level;
      O.Debug = Debug;
      O.Compiler = PTXCompiler::Ptxas;
      std::string Program = assemble("", "counter", "scale", "1", O);
      O.Compiler = PTXCompiler::Library;
      CodeComparison C =
          compare(Program, assemble("", "counter", "scale", "1", O));
      EXPECT_TRUE(C.Identical);
      EXPECT_FALSE(C.Relocated);
    }
  std::string Log;
  O.Arch = "sm_90";
  auto Cubin = assemblePTX("nonsense", O, Log);
  EXPECT_THAT(toString(Cubin.takeError()), HasSubstr("nvPTXCompiler failed: "));
}

TEST_F(CompareCodeTest, Damage) {
  std::string Good = assemble("");
  EXPECT_THAT_EXPECTED(compareKernelCode(Good, Good, "none"),
                       FailedWithMessage("the GPU image has no kernel 'none'"));
  auto Read = [&](StringRef Bytes) {
    if (auto C = compareKernelCode(Bytes, Good, "k"); !C)
      consumeError(C.takeError());
    if (auto C = compareKernelCode(Good, Bytes, "k"); !C)
      consumeError(C.takeError());
    readPtxasOptions(Bytes);
  };
  for (size_t Size = 0; Size < Good.size(); Size += 7)
    Read(StringRef(Good).take_front(Size));
  for (size_t I = 0; I < Good.size(); ++I) {
    std::string Damaged = Good;
    Damaged[I] ^= 1 << (I % 8);
    Read(Damaged);
  }
}

TEST(AppComparisonTest, JSON) {
  AppComparison C;
  C.App = "app";
  C.Copies = 2;
  C.Options = "-O 3";
  C.Code.Identical = true;
  C.Code.Relocated = true;
  C.Resources.Registers = 40;
  json::Value V = toJSON(C);
  EXPECT_EQ(*V.getAsObject()->getString("relocations"), "equal");
  EXPECT_TRUE(V.getAsObject()->getNull("first_difference"));
  AppComparison Back;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(V, Back, Root));
  EXPECT_EQ(toJSON(Back), V);
  C.Code.Identical = C.Code.Relocated = false;
  C.Code.Difference = "size";
  C.Code.FirstDifference = 0x40;
  ASSERT_TRUE(fromJSON(toJSON(C), Back, Root));
  EXPECT_EQ(toJSON(Back), toJSON(C));
}
