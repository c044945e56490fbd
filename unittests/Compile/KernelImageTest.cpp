//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/KernelImage.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral PTX = R"(
// .entry comment(
.version 8.7
.target sm_90a
.address_size 64
.visible .global .align 16 .b8 Table[16] = {1, 2, 3};
.global .u32 Local;
.common .global .align 8 .u64 Shared;
.visible .const .align 4 .f32 Scale[2][3];
.visible .entry addAll(
	.param .u64 addAll_param_0
)
{
	.reg .b32 %r<2>;
	ret;
}
.visible .entry add(
	.param .u64 .ptr .global .align 1 add_param_0,
	.param .u8 add_param_1, // a small one
	.param .align 4 .b8 add_param_2[20],
	.param .f64 add_param_3
)
.reqntid 128
{
	ret;
}
.visible .entry none()
{
	ret;
}
)";

static bool runs90(StringRef Arch) { return Arch == "sm_90"; }

static KernelImage select(StringRef Kernel) {
  return cantFail(selectKernelImage(PTX, Kernel, "sm_90", runs90));
}

TEST(KernelImage, SelectsPTXByTheKernelsName) {
  KernelImage Image = select("add");
  EXPECT_TRUE(Image.IsPTX);
  EXPECT_EQ(Image.Arch, "sm_90a");
  EXPECT_THAT_EXPECTED(selectKernelImage(PTX, "ad", "sm_90", runs90),
                       FailedWithMessage("the PTX has no kernel 'ad'"));
  EXPECT_THAT_EXPECTED(
      selectKernelImage("no image", "add", "sm_90", runs90),
      FailedWithMessage("the image of kernel 'add' is neither a cubin nor PTX "
                        "nor a fat binary"));
}

TEST(KernelImage, ReadsParametersOfPTX) {
  auto Params = cantFail(readParameters(select("add"), "add"));
  ASSERT_TRUE(Params);
  ASSERT_EQ(Params->size(), 4u);
  const ImageParam Expected[] = {{0, 8, true}, {8, 1}, {12, 20}, {32, 8}};
  for (size_t I = 0; I != 4; ++I) {
    EXPECT_EQ((*Params)[I].Offset, Expected[I].Offset) << I;
    EXPECT_EQ((*Params)[I].Size, Expected[I].Size) << I;
    EXPECT_EQ((*Params)[I].IsPointer, Expected[I].IsPointer) << I;
  }
  auto None = cantFail(readParameters(select("none"), "none"));
  ASSERT_TRUE(None);
  EXPECT_TRUE(None->empty());
}

TEST(KernelImage, ReadsVariablesOfPTX) {
  std::vector<ImageSymbol> Found = cantFail(readVariables(select("add")));
  ASSERT_EQ(Found.size(), 3u);
  EXPECT_EQ(Found[0].Name, "Table");
  EXPECT_EQ(Found[0].Size, 16u);
  EXPECT_FALSE(Found[0].IsConstant);
  EXPECT_EQ(Found[1].Name, "Shared");
  EXPECT_EQ(Found[1].Size, 8u);
  EXPECT_EQ(Found[2].Name, "Scale");
  EXPECT_EQ(Found[2].Size, 24u);
  EXPECT_TRUE(Found[2].IsConstant);
}

TEST(KernelImage, RejectsDamagedImages) {
  EXPECT_THAT_EXPECTED(selectKernelImage("\x7f"
                                         "ELF damaged",
                                         "add", "sm_90", runs90),
                       Failed());
  EXPECT_THAT_EXPECTED(selectKernelImage(StringRef("\x50\xed\x55\xba\1\0\x10\0"
                                                   "\xff\xff\xff\xff\0\0\0\0",
                                                   16),
                                         "add", "sm_90", runs90),
                       Failed());
}

TEST(KernelImage, CompressedBundlesOfVersion1HaveNoSize) {
  StringRef Header("CCOB\x01\0\x01\0\x10\0\0\0\1\2\3\4\5\6\7\10", 20);
  EXPECT_THAT_EXPECTED(
      selectKernelImage(Header, "add", "gfx90a",
                        [](StringRef) { return true; }),
      FailedWithMessage("the code object is in a compressed bundle of version "
                        "1, which does not have its size: compress it with a "
                        "newer clang"));
}
