//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../lib/Bisect/PTXText.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr char Sample[] = R"(// { a comment }
.version 8.8
.target sm_90
.address_size 64
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.visible .func  (.param .b32 func_retval0) twice(
	.param .b32 twice_param_0
)
{
	.reg .b32 	%r<3>;
	ld.param.b32 	%r1, [twice_param_0];
	shl.b32 	%r2, %r1, 1;
	st.param.b32 	[func_retval0], %r2;
	ret;
}
.visible .entry kernel(
	.param .u64 kernel_param_0
)
{
	.local .align 8 .b8 	__local_depot0[16];
	.reg .b64 	%SP;
	.reg .pred 	%p<2>;
	.reg .b32 	%r<5>, %n;
	.reg .b64 	%rd<2>;
	mov.b64 	%SP, __local_depot0;
	ld.param.b64 	%rd1, [kernel_param_0];
	mov.u32 	%r1, %tid.x;
	.loc	1 24 0 // no semicolon
	setp.eq.b32 	%p1, %r1, 0;
	@%p1 bra 	$L__BB1_2;
// %bb.1:
	{ // callseq 0, 0
	.param .b32 param0;
	st.param.b32 	[param0], %r1;
	.param .b32 retval0;
	call.uni (retval0), twice, (param0);
	ld.param.b32 	%r2, [retval0];
	}
	st.global.b32 	[%rd1+4], %r2;
$L__BB1_2:
	ret;
}
)";

static PTXText parse() { return cantFail(PTXText::parse(Sample)); }

/// Parses a kernel with these statements.
static PTXText parseBody(StringRef Body) {
  return cantFail(PTXText::parse((".version 8.0\n.target sm_90\n"
                                  ".address_size 64\n"
                                  ".visible .entry kernel()\n{\n" +
                                  Body + "}\n")
                                     .str()));
}

static size_t locate(const PTXText &P, StringRef Start) {
  for (size_t I = 0; I != P.statements().size(); ++I)
    if (P.textOf(P.statements()[I]).starts_with(Start))
      return I;
  ADD_FAILURE() << "no statement " << Start.str();
  return 0;
}

TEST(PTXText, HasFunctionsAndBlocks) {
  PTXText P = parse();
  ASSERT_EQ(P.functions().size(), 2u);
  EXPECT_EQ(P.functions()[0].Name, "twice");
  EXPECT_FALSE(P.functions()[0].IsEntry);
  EXPECT_EQ(P.functions()[0].NumBlocks, 1u);
  EXPECT_EQ(P.functions()[1].Name, "kernel");
  EXPECT_TRUE(P.functions()[1].IsEntry);
  EXPECT_EQ(P.functions()[1].NumBlocks, 3u);
  EXPECT_EQ(P.functions()[1].bits("%SP"), 64u);
  EXPECT_EQ(P.functions()[1].bits("%n"), 32u);
  EXPECT_EQ(P.functions()[1].bits("%r5"), 0u);
  EXPECT_EQ(P.functions()[1].bits("%p1"), 1u);
  const PTXStatement &Call = P.statements()[locate(P, "{ // callseq")];
  EXPECT_EQ(Call.What, PTXStatement::Group);
  EXPECT_EQ(Call.Block, 1u);
  EXPECT_EQ(P.statements()[locate(P, "$L__BB1_2")].Block, 2u);
}

TEST(PTXText, HasRegisters) {
  PTXText P = parse();
  const PTXStatement &Shift = P.statements()[locate(P, "shl.b32")];
  EXPECT_EQ(Shift.Line, 12u);
  EXPECT_EQ(Shift.Defs, std::vector<std::string>{"%r2"});
  EXPECT_EQ(Shift.Uses, std::vector<std::string>{"%r1"});
  const PTXStatement &Store = P.statements()[locate(P, "st.global")];
  EXPECT_TRUE(Store.Defs.empty());
  EXPECT_EQ(Store.Uses, (std::vector<std::string>{"%rd1", "%r2"}));
  const PTXStatement &Branch = P.statements()[locate(P, "@%p1 bra")];
  EXPECT_EQ(Branch.Opcode, "bra");
  EXPECT_EQ(Branch.Uses, std::vector<std::string>{"%p1"});
  // A special register is none of the function's.
  EXPECT_TRUE(P.statements()[locate(P, "mov.u32")].Uses.empty());
}

TEST(PTXText, AdjacentLabelsBeginOneBlock) {
  PTXText P = parseBody(R"(	.reg .b32 	%r<2>;
	mov.u32 	%r1, %tid.x;
$L__BB0_1:
$L__tmp0:
	st.global.b32 	[0], %r1;
$L__BB0_2:
	ret;
)");
  EXPECT_EQ(P.functions()[0].NumBlocks, 3u);
  EXPECT_EQ(P.statements()[locate(P, "$L__BB0_1")].Block, 1u);
  EXPECT_EQ(P.statements()[locate(P, "$L__tmp0")].Block, 1u);
  EXPECT_EQ(P.statements()[locate(P, "st.global")].Block, 1u);
  EXPECT_EQ(P.statements()[locate(P, "ret")].Block, 2u);
}

TEST(PTXText, SomeBarriersHaveResults) {
  PTXText P = parseBody(R"(	.reg .pred 	%p<3>;
	.reg .b32 	%r<4>;
	.reg .b64 	%rd<3>;
	barrier.sync 	%r1, %r2;
	barrier.cta.red.popc.u32 	%r3, %r1, %r2, %p1;
	mbarrier.test_wait.shared.b64 	%p1, [%r1], %rd1;
	mbarrier.try_wait.parity.shared.b64 	%p2, [%r1], %r2;
	mbarrier.arrive.shared.b64 	%rd2, [%r1];
	ret;
)");
  auto Defs = [&](StringRef Start) {
    return P.statements()[locate(P, Start)].Defs;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(Defs("barrier.sync"), Names());
  EXPECT_EQ(Defs("barrier.cta.red"), Names{"%r3"});
  EXPECT_EQ(Defs("mbarrier.test_wait"), Names{"%p1"});
  EXPECT_EQ(Defs("mbarrier.try_wait"), Names{"%p2"});
  EXPECT_EQ(Defs("mbarrier.arrive"), Names{"%rd2"});
}

TEST(PTXText, Isolates) {
  PTXText P = parse();
  BitVector Set(P.statements().size());
  Set.set(locate(P, "shl.b32"));
  std::string Text = P.isolate(Set);
  EXPECT_NE(Text.find(".global .align 4 .b32 mneme_zero;\n.visible .func"),
            std::string::npos);
  EXPECT_NE(Text.find("xor.b32 %mneme_copy0, %r1, %mneme_zero32;\n\t"
                      "shl.b32 \t%r2, %mneme_copy0, 1;\n\t"
                      "xor.b32 %r2, %r2, %mneme_zero32;"),
            std::string::npos)
      << Text;
  // The other function is as it was.
  EXPECT_EQ(StringRef(Text).count("ld.volatile.global.b32"), 1u);
  EXPECT_NE(Text.find("mov.u32 \t%r1, %tid.x;\n"), std::string::npos);
  Set.reset();
  Set.set(locate(P, "@%p1 bra"));
  Text = P.isolate(Set);
  EXPECT_NE(Text.find("xor.pred %mneme_copy0, %p1, %mneme_zero1;\n\t"
                      "@%mneme_copy0 bra"),
            std::string::npos)
      << Text;
  EXPECT_FALSE(P.canIsolate(locate(P, "{ // callseq")));
  EXPECT_FALSE(P.canIsolate(locate(P, ".local")));
}

TEST(PTXText, KeepsWhatIsWanted) {
  PTXText P = parse();
  BitVector All(P.statements().size(), true);
  EXPECT_EQ(P.keep(All), Sample);
  // Without its definition a register is zero, from the beginning.
  BitVector Kept = All;
  Kept.reset(locate(P, "mov.u32"));
  std::string Less = P.keep(Kept);
  EXPECT_NE(Less.find("mov.b32 %r1, 0;\n\tmov.b64 \t%SP"), std::string::npos)
      << Less;
  EXPECT_EQ(Less.find("%tid.x"), std::string::npos);
  // A function that nothing calls goes, too. The last instruction, labels and
  // declarations stay.
  Kept.reset();
  Less = P.keep(Kept);
  EXPECT_EQ(Less.find("twice"), std::string::npos) << Less;
  EXPECT_NE(Less.find("__local_depot0[16];"), std::string::npos);
  EXPECT_NE(Less.find("$L__BB1_2:\n\tret;\n}"), std::string::npos);
  EXPECT_EQ(Less.find("st.global"), std::string::npos);
}

TEST(PTXText, RefusesWhatIsNoPTX) {
  EXPECT_THAT_EXPECTED(PTXText::parse("hello"),
                       FailedWithMessage("malformed PTX: no function"));
  EXPECT_THAT_EXPECTED(PTXText::parse(".entry k() { ret;"),
                       FailedWithMessage("malformed PTX: unbalanced braces"));
}
