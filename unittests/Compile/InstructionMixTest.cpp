//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/InstructionMix.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

/// As nvdisasm writes it, with more kinds of lines than one kernel has.
static const StringRef Disassembly = R"(
	.target	sm_90

//--------------------- .text._Z1kPf              --------------------------
	.section	.text._Z1kPf,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=12"
	.align	128
        .global         _Z1kPf
        .size           _Z1kPf,(.L_x_4 - _Z1kPf)
_Z1kPf:
.text._Z1kPf:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   ISETP.GE.AND P0, PT, R0, UR4, PT ;
        /*0020*/               @P0 EXIT ;
.L_x_1:
        /*0030*/              @!P1 LDG.E.64.CONSTANT R2, desc[UR6][R2.64] ;
        /*0040*/                   LDG.E R4, desc[UR6][R4.64] ;
        /*0050*/              @UP0 UIADD3 UR4, UR4, 0x1, URZ ;
        /*0060*/         {         FFMA R2, R2, R4, R5 ;
        /*0068*/                   FFMA.FTZ R2, R2, R4, R5 }
                                                 /* 0x001fc800078e00ff */
        /*00a0*/                   EXIT;
.L_x_2:
        /*00b0*/                   BRA `(.L_x_2);
        /*00c0*/                   NOP;
        /*00d0*/                   NOP;
.L_x_4:

//--------------------- .text._Z1kPfi             --------------------------
	.section	.text._Z1kPfi,"ax",@progbits
        /*0000*/                   DADD R2, R2, R4 ;
//--------------------- .nv.constant0._Z1kPfi     --------------------------
	.section	.nv.constant0._Z1kPfi,"a",@progbits
        /*0000*/ 	.byte	0x00, 0x00
)";

TEST(InstructionMixTest, CountsOpcodes) {
  InstructionMix Expected = {{"LDC", 1},  {"ISETP", 1},  {"EXIT", 2},
                             {"LDG", 2},  {"UIADD3", 1}, {"FFMA", 2},
                             {"BRA", 1}};
  EXPECT_EQ(parseInstructionMix(Disassembly, "_Z1kPf"), Expected);
}

TEST(InstructionMixTest, OnlyOfTheKernel) {
  InstructionMix Expected = {{"DADD", 1}};
  EXPECT_EQ(parseInstructionMix(Disassembly, "_Z1kPfi"), Expected);
  EXPECT_TRUE(parseInstructionMix(Disassembly, "_Z1k").empty());
  EXPECT_TRUE(parseInstructionMix(Disassembly, "").empty());
}

TEST(InstructionMixTest, OtherText) {
  EXPECT_TRUE(parseInstructionMix("", "k").empty());
  for (StringRef Line : {"/*", "/**/ FADD", "/*zz*/ FADD", "/*0*/", "/*0*/ @P0",
                         "/*0*/ {", "/*0*/ ;", "FADD R0, R0 ;"}) {
    std::string Text = ("\t.section\t.text.k,\"ax\"\n" + Line).str();
    EXPECT_TRUE(parseInstructionMix(Text, "k").empty()) << Line.str();
  }
}

TEST(InstructionMixTest, NoDisassembler) {
  EXPECT_THAT_EXPECTED(
      readInstructionMix("", "k", "/nonexistent"),
      FailedWithMessage(HasSubstr("no bin/nvdisasm in '/nonexistent'")));
}
