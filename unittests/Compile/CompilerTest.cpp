//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileTest.h"
#include "llvm/Mneme/Compile/Pipeline.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;
using testing::Not;

namespace {

const char NVPTX[] = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
@table = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@buffer = internal addrspace(3) global [64 x i32] undef
define i32 @square(i32 %x) #0 {
  %m = mul i32 %x, %x
  ret i32 %m
}
define ptx_kernel void @k(ptr %p, i32 %n) #0 {
  %a = alloca i32
  store i32 %n, ptr %a
  %v = load i32, ptr %a
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %s = call i32 @square(i32 %v)
  %t = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %n
  %c = load i32, ptr addrspace(4) %t
  %b = getelementptr [64 x i32], ptr addrspace(3) @buffer, i32 0, i32 %n
  store volatile i32 %c, ptr addrspace(3) %b
  %r = add i32 %s, %d
  store i32 %r, ptr %p
  ret void
}
attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx80" }
)";

const char AMDGPU[] = R"(
target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [64 x i32] undef
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) #0 {
  %b = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %n
  store volatile i32 %n, ptr addrspace(3) %b
  store i32 %n, ptr addrspace(1) %p
  ret void
}
attributes #0 = { "target-cpu"="gfx90a" "amdgpu-flat-work-group-size"="1,256" }
)";

class CompilerTest : public testing::Test {
protected:
  std::unique_ptr<Module> parse(StringRef Text) {
    return parseModule(Text, Context);
  }
  static CompileOptions options(std::optional<std::string> Passes = {}) {
    CompileOptions O = makeOptions();
    O.Passes = std::move(Passes);
    return O;
  }
  std::string createError(const Module &M, CompileOptions O) {
    auto C = KernelCompiler::create(M, std::move(O));
    return C ? "no error" : toString(C.takeError());
  }
  std::string print(const Module &M) {
    std::string Text;
    raw_string_ostream OS(Text);
    M.print(OS, nullptr);
    return Text;
  }

  LLVMContext Context;
};

} // namespace

TEST_F(CompilerTest, RefusesWhatItCannotCompile) {
  auto M = parse(NVPTX);
  CompileOptions O = options();
  O.Kernel = "nobody";
  EXPECT_EQ(createError(*M, O), "the IR has no kernel 'nobody'");
  EXPECT_EQ(createError(*M, options("nosuchpass")),
            "pipeline:1:1: unknown pass name 'nosuchpass'\nnosuchpass\n^");
  EXPECT_THAT(createError(*M, options("function(gvn")),
              HasSubstr("invalid pipeline 'function(gvn'"));
  O = options();
  O.Arch = "sm_42";
  EXPECT_EQ(createError(*M, O), "unknown architecture 'sm_42' for nvptx64");
  O = options();
  O.CodeGenLevel = 7;
  EXPECT_THAT(createError(*M, O), HasSubstr("invalid code generation level 7"));
  O = options();
  O.Plugins = {"/nonexistent.so"};
  EXPECT_THAT(createError(*M, O), HasSubstr("/nonexistent.so"));
  auto Host = parse("target triple = \"x86_64-unknown-linux-gnu\"\n"
                    "define void @k() { ret void }");
  EXPECT_THAT(createError(*Host, options()), HasSubstr("is not a GPU triple"));
  auto NoCPU = parse("target triple = \"nvptx64-nvidia-cuda\"\n"
                     "define void @k() { ret void }");
  EXPECT_THAT(createError(*NoCPU, options()), HasSubstr("has no target-cpu"));
}

// A second round of instcombine would find more to do here, and its check, which
// is for LLVM's tests, would end this process.
TEST_F(CompilerTest, InstCombineNeedsNoFixpoint) {
  auto M = parse(R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %p, i32 %n) "target-cpu"="sm_90" {
entry:
  %low = and i32 %n, 255
  %moved = sub i32 %low, 128
  %half = lshr i32 %moved, 1
  %none = and i32 %low, 0
  %some = icmp ne i32 %none, 0
  br i1 %some, label %then, label %exit
then:
  br label %exit
exit:
  %wide = zext i32 %half to i64
  store i64 %wide, ptr %p
  ret void
}
)");
  auto C = KernelCompiler::create(*M, options("function(instcombine)"));
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  EXPECT_THAT(print(*M), Not(HasSubstr("fixpoint")));
  EXPECT_THAT(print(*M), Not(HasSubstr("icmp")));
}

TEST_F(CompilerTest, LevelsFollowTheApplication) {
  auto M = parse(NVPTX);
  for (auto [Level, CodeGen] : {std::pair("0", 0u),
                                {"1", 1u},
                                {"2", 2u},
                                {"3", 3u},
                                {"s", 2u},
                                {"z", 2u}}) {
    CompileOptions O = options();
    O.OptLevel = Level;
    auto C = KernelCompiler::create(*M, O);
    ASSERT_THAT_EXPECTED(C, Succeeded());
    EXPECT_EQ(C->codeGenLevel(), CodeGen);
    EXPECT_EQ(C->pipeline(), getClangPipeline(Level));
    auto Copy = parse(NVPTX);
    CompileResult R;
    ASSERT_THAT_ERROR(C->optimize(*Copy, R), Succeeded());
    // Level 0 keeps the stack slot, all others remove it.
    bool HasAlloca = print(*Copy).find("alloca") != std::string::npos;
    EXPECT_EQ(HasAlloca, StringRef(Level) == "0") << Level;
  }
}

TEST_F(CompilerTest, RunsTheTextOfThePipeline) {
  auto M = parse(NVPTX);
  auto C = KernelCompiler::create(*M, options("function(sroa)"));
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  EXPECT_THAT(print(*M), Not(HasSubstr("alloca")));
  EXPECT_THAT(print(*M), HasSubstr("call i32 @square"));
  EXPECT_GT(R.OptimizeTime, 0);
  // Passes of the target are known, and so is ours.
  C = KernelCompiler::create(
      *M, options("nvvm-reflect,mneme-specialize<block=8>,always-inline"));
  ASSERT_THAT_EXPECTED(C, Succeeded());
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  EXPECT_THAT(print(*M), Not(HasSubstr("call i32 @llvm.nvvm.read")));
}

TEST_F(CompilerTest, ABrokenPipelineIsAnError) {
  auto M = parse(NVPTX);
  auto C = KernelCompiler::create(*M, options("trigger-verifier-error"));
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  EXPECT_THAT(toString(C->optimize(*M, R)),
              HasSubstr("the pipeline left invalid IR: "));
}

TEST_F(CompilerTest, APipelineThatRemovesTheKernelIsAnError) {
  auto M = parse(NVPTX);
  auto C = KernelCompiler::create(*M, options("internalize,globaldce"));
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  EXPECT_THAT(toString(C->optimize(*M, R)),
              HasSubstr("the pipeline removed kernel 'k': leave out "));
}

TEST_F(CompilerTest, SpecializesBeforeThePipeline) {
  auto M = parse(NVPTX);
  CompileOptions O = options();
  O.Specialize.Args[1] = 3;
  O.Specialize.Block = Dim3{10, 1, 1};
  O.Specialize.MaxThreads = 128;
  auto C = KernelCompiler::create(*M, O);
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  EXPECT_THAT(print(*M), HasSubstr("store i32 19, ptr %p")); // 3 * 3 + 10
  Expected<std::string> PTX = C->emitAssembly(*M);
  ASSERT_THAT_EXPECTED(PTX, Succeeded());
  EXPECT_THAT(*PTX, HasSubstr(".maxntid 128"));
  EXPECT_THAT(*PTX, HasSubstr(".version 8.0"));
}

TEST_F(CompilerTest, AnotherArchitecture) {
  auto M = parse(NVPTX);
  CompileOptions O = options();
  O.Arch = "sm_80";
  auto C = KernelCompiler::create(*M, O);
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  Expected<std::string> PTX = C->emitAssembly(*M);
  ASSERT_THAT_EXPECTED(PTX, Succeeded());
  EXPECT_THAT(*PTX, HasSubstr(".target sm_80"));
}

TEST_F(CompilerTest, EmittingLeavesTheModuleAlone) {
  auto M = parse(NVPTX);
  auto C = KernelCompiler::create(*M, options());
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  std::string Text = print(*M);
  Expected<std::string> First = C->emitAssembly(*M);
  ASSERT_THAT_EXPECTED(First, Succeeded());
  EXPECT_EQ(print(*M), Text);
  EXPECT_THAT_EXPECTED(C->emitAssembly(*M), HasValue(*First));
}

TEST_F(CompilerTest, BackEndErrorsAreErrors) {
  if (!LLVM_HAS_AMDGPU_TARGET)
    GTEST_SKIP() << "LLVM has no AMDGPU";
  auto M = parse(R"(
target triple = "amdgcn-amd-amdhsa"
declare void @external(i32)
define amdgpu_kernel void @k() "target-cpu"="gfx90a" {
  call void asm sideeffect "no such instruction", ""()
  ret void
}
)");
  auto C = KernelCompiler::create(*M, options(""));
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  EXPECT_THAT(toString(C->emitImage(*M, R)), HasSubstr("invalid instruction"));
}

TEST_F(CompilerTest, AMDGPUResources) {
  if (!LLVM_HAS_AMDGPU_TARGET)
    GTEST_SKIP() << "LLVM has no AMDGPU";
  auto M = parse(AMDGPU);
  auto C = KernelCompiler::create(*M, options());
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  ASSERT_THAT_ERROR(C->emitImage(*M, R), Succeeded());
  EXPECT_FALSE(R.Image.empty());
  EXPECT_GT(R.CodegenTime, 0);
  EXPECT_GT(R.Resources.Registers.value_or(0), 0u);
  EXPECT_GT(R.Resources.ScalarRegisters.value_or(0), 0u);
  EXPECT_EQ(R.Resources.SpillStores, 0u);
  EXPECT_EQ(R.Resources.ScalarSpills, 0u);
  EXPECT_EQ(R.Resources.Shared, 256u);
  EXPECT_EQ(R.Resources.Local, 0u);
  EXPECT_EQ(R.Resources.MaxThreads, 256u);
  EXPECT_GT(R.Resources.CodeSize.value_or(0), 0u);
  StringRef Image(R.Image.data(), R.Image.size());
  EXPECT_THAT_EXPECTED(
      readResources(Image, "other"),
      FailedWithMessage("the GPU image has no kernel 'other'"));
}

TEST_F(CompilerTest, RemarksOfAllStagesOnce) {
  if (!LLVM_HAS_AMDGPU_TARGET)
    GTEST_SKIP() << "LLVM has no AMDGPU";
  CompileOptions O = options("default<O2>");
  // Of the pipeline that is run to number its passes there are none.
  O.SkipPasses = "1";
  auto M = parse(AMDGPU);
  auto C = KernelCompiler::create(*M, O);
  ASSERT_THAT_EXPECTED(C, Succeeded());
  std::string Text;
  raw_string_ostream OS(Text);
  CompileResult R;
  R.Remarks = &OS;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  EXPECT_EQ(StringRef(Text).count("asm-printer"), 0u);
  size_t OfPipeline = Text.size();
  ASSERT_THAT_ERROR(C->emitImage(*M, R), Succeeded());
  EXPECT_EQ(StringRef(Text).count("InstructionCount"), 1u);
  size_t OfAll = Text.size();
  // The same code again.
  ASSERT_THAT_EXPECTED(C->emitAssembly(*M, &R), Succeeded());
  EXPECT_EQ(Text.size(), OfAll);
  R.Image.clear();
  ASSERT_THAT_EXPECTED(C->emitAssembly(*M, &R), Succeeded());
  EXPECT_EQ(Text.size() - OfAll, OfAll - OfPipeline);
}

TEST_F(CompilerTest, NVPTXResources) {
  if (auto Ptxas = findPtxas(""); !Ptxas)
    GTEST_SKIP() << toString(Ptxas.takeError());
  auto M = parse(NVPTX);
  auto C = KernelCompiler::create(*M, options());
  ASSERT_THAT_EXPECTED(C, Succeeded());
  CompileResult R;
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  ASSERT_THAT_ERROR(C->emitImage(*M, R), Succeeded());
  EXPECT_GT(R.Resources.Registers.value_or(0), 0u);
  EXPECT_EQ(R.Resources.SpillStores, 0u);
  EXPECT_EQ(R.Resources.Shared, 256u);
  EXPECT_EQ(R.Resources.Constant, 16u);
  EXPECT_EQ(R.Resources.Params, 12u);
  EXPECT_EQ(R.Resources.Local, 0u);
  EXPECT_THAT(R.Assembly, HasSubstr(".entry k("));
}
