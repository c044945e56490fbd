//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SmallRecording.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Replay/Session.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
void ignore(ReplayStage) {}

class CompiledKernelTest : public SmallRecording {
protected:
  CompiledKernelTest() { K.Instances[0].Block = {1, 1, 1}; }

  void SetUp() override {
    Base = cantFail(plan());
    Session = cantFail(ReplaySession::create(*Base, ignore));
  }
  std::unique_ptr<ReplayPlan> vary(function_ref<void(ReplayOptions &)> Change,
                                   bool WillCompile = true) {
    ReplayOptions O = Base->options();
    Change(O);
    return cantFail(Base->vary(std::move(O), WillCompile));
  }
  std::unique_ptr<ReplayPlan> withPasses(StringRef Passes) {
    return vary([&](ReplayOptions &O) { O.Passes = Passes.str(); });
  }

  std::unique_ptr<ReplayPlan> Base;
  std::unique_ptr<ReplaySession> Session;
};
} // namespace

//===----------------------------------------------------------------------===//
// Making it
//===----------------------------------------------------------------------===//

TEST_F(CompiledKernelTest, NeedsNoSession) {
  CompiledKernel Code =
      cantFail(compileVariant(*Base, CodeTarget::Host, ignore));
  EXPECT_EQ(Code.V, Verdict::NotVerified) << Code.Error;
  EXPECT_FALSE(Code.StoppedAt);
  ReplayResult R = cantFail(Session->run(*Base, Code, ignore));
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
  EXPECT_EQ(R.IRHash, Code.IRHash);
  EXPECT_EQ(R.CodeHash, Code.CodeHash);
}

TEST_F(CompiledKernelTest, RunsUnderAPlanThatDoesNotCompile) {
  auto Compiled = withPasses("default<O3>");
  CompiledKernel Code = cantFail(Session->compile(*Compiled, ignore));
  auto Variant = vary(
      [](ReplayOptions &O) {
        O.Passes = "default<O3>";
        O.Grid[1] = 1;
      },
      /*WillCompile=*/false);
  EXPECT_EQ(Variant->compiler().pipeline(), "default<O3>");
  ReplayResult R = cantFail(Session->run(*Variant, Code, ignore));
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
  // What contradicts itself is refused all the same.
  ReplayOptions Bad;
  Bad.MaxRegisters = 1000;
  EXPECT_THAT_EXPECTED(Base->vary(Bad, false), Failed());
  // From such a plan come others that compile.
  auto Again = cantFail(Variant->vary(Compiled->options()));
  EXPECT_EQ(cantFail(Session->compile(*Again, ignore)).CodeHash,
            Code.CodeHash);
}

TEST_F(CompiledKernelTest, EqualIRHasEqualHashes) {
  // Passes that change nothing.
  auto One = withPasses("verify");
  auto Other = withPasses("function(dce),verify");
  CompiledKernel A = cantFail(Session->compile(*One, ignore));
  CompiledKernel B = cantFail(Session->compile(*Other, ignore));
  EXPECT_EQ(A.IRHash, B.IRHash);
  EXPECT_EQ(A.CodeHash, B.CodeHash);
  EXPECT_EQ(A.IRHash.size(), 32u);
  EXPECT_TRUE(A.AssemblyHash.empty());
}

TEST_F(CompiledKernelTest, WhatLaterStagesDependOnIsInTheHash) {
  StringSet<> Hashes;
  auto IsNew = [&](function_ref<void(ReplayOptions &)> Change) {
    auto Variant = vary([&](ReplayOptions &O) {
      O.Passes = "verify";
      Change(O);
    });
    auto Code = cantFail(compileVariant(*Variant, CodeTarget::Host, ignore));
    return Hashes.insert(Code.IRHash).second;
  };
  EXPECT_TRUE(IsNew([](ReplayOptions &) {}));
  EXPECT_FALSE(IsNew([](ReplayOptions &O) { O.Block[0] = 1; }));
  EXPECT_FALSE(IsNew([](ReplayOptions &O) { O.Timeout = 5; }));
  EXPECT_TRUE(IsNew([](ReplayOptions &O) { O.CodeGenLevel = 0; }));
  EXPECT_TRUE(IsNew([](ReplayOptions &O) { O.Arch = "sm_80"; }));
  EXPECT_TRUE(IsNew([](ReplayOptions &O) { O.TargetCPU = "sm_80"; }));
  EXPECT_TRUE(IsNew([](ReplayOptions &O) { O.MaxRegisters = 32; }));
  EXPECT_TRUE(IsNew([](ReplayOptions &O) { O.PtxasOptions = {"-O1"}; }));
  EXPECT_TRUE(IsNew([](ReplayOptions &O) {
    O.LLVMOptions = {{"unroll-threshold", "5"}};
  }));
  EXPECT_TRUE(
      IsNew([](ReplayOptions &O) { O.Host.Finish = HostFinish::None; }));
  EXPECT_TRUE(
      IsNew([](ReplayOptions &O) { O.Host.Strategy = HostStrategy::Fiber; }));
  // All random schedules run the same code.
  EXPECT_FALSE(IsNew([](ReplayOptions &O) { O.HostSchedule = "sequential"; }));
  EXPECT_TRUE(IsNew([](ReplayOptions &O) { O.HostSchedule = "random:1"; }));
  EXPECT_FALSE(IsNew([](ReplayOptions &O) { O.HostSchedule = "random:2"; }));
}

TEST_F(CompiledKernelTest, StopsAtKnownIR) {
  std::vector<CodeStage> Asked;
  std::string Hash;
  CompiledKernel Code = cantFail(Session->compile(
      *Base, ignore, [&](CodeStage Stage, StringRef Known) {
        Asked.push_back(Stage);
        Hash = Known.str();
        return true;
      }));
  EXPECT_THAT(Asked, ElementsAre(CodeStage::IR));
  EXPECT_EQ(Code.StoppedAt, CodeStage::IR);
  EXPECT_EQ(Code.IRHash, Hash);
  EXPECT_TRUE(Code.CodeHash.empty());
  EXPECT_TRUE(Code.Image.Object.empty());
  EXPECT_THAT_EXPECTED(
      Session->run(*Base, Code, ignore),
      FailedWithMessage("kernel 'add' was not compiled to the end"));
}

TEST_F(CompiledKernelTest, StopsAtKnownAssembly) {
  // No ptxas is run.
  if (Error E = checkPTXCompiler(PTXCompiler::Auto, "")) {
    GTEST_SKIP() << toString(std::move(E));
  }
  auto StopAt = [](CodeStage Last) {
    return [=](CodeStage Stage, StringRef) { return Stage == Last; };
  };
  CompiledKernel Code = cantFail(compileVariant(
      *Base, CodeTarget::GPU, ignore, StopAt(CodeStage::Assembly)));
  EXPECT_EQ(Code.StoppedAt, CodeStage::Assembly) << Code.Error;
  EXPECT_EQ(Code.AssemblyHash.size(), 32u);
  EXPECT_TRUE(Code.Image.Object.empty());
  // Another level of the pipeline, and the same PTX.
  auto O3 = withPasses("default<O3>");
  CompiledKernel Same = cantFail(compileVariant(
      *O3, CodeTarget::GPU, ignore, StopAt(CodeStage::Assembly)));
  EXPECT_EQ(Same.AssemblyHash, Code.AssemblyHash);
  auto O1 = vary([](ReplayOptions &O) { O.PtxasOptions = {"-O1"}; });
  CompiledKernel Other = cantFail(compileVariant(
      *O1, CodeTarget::GPU, ignore, StopAt(CodeStage::Assembly)));
  EXPECT_NE(Other.AssemblyHash, Code.AssemblyHash);
}

TEST_F(CompiledKernelTest, OptionsOfLLVMReachThePipeline) {
  auto Wrong = [&](std::vector<LLVMOption> Options) {
    ReplayOptions O = Base->options();
    O.LLVMOptions = std::move(Options);
    auto P = Base->vary(O);
    return P ? "no error" : toString(P.takeError());
  };
  EXPECT_THAT(Wrong({{"unrol-threshold", "5"}}),
              HasSubstr("did you mean 'unroll-threshold'?"));
  EXPECT_EQ(Wrong({{"unroll-threshold", "much"}}),
            "invalid value 'much' for LLVM's option 'unroll-threshold'");
  // Passes see it, and the next compilation does not.
  std::string Loop = R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @add(ptr %p, i32 %n) "target-cpu"="sm_90" {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %v = load volatile i32, ptr %p
  store volatile i32 %v, ptr %p
  %j = add i32 %i, 1
  %c = icmp eq i32 %j, 64
  br i1 %c, label %exit, label %loop
exit:
  ret void
}
)";
  ASSERT_THAT_ERROR(writeFileAtomically(path("loop.ll"), Loop), Succeeded());
  auto Compile = [&](std::vector<LLVMOption> Options) {
    auto Variant = vary([&](ReplayOptions &O) {
      O.IRFile = path("loop.ll");
      O.Passes = "function(loop-unroll)";
      O.LLVMOptions = std::move(Options);
    });
    CompiledKernel Code = cantFail(Session->compile(*Variant, ignore));
    EXPECT_EQ(Code.V, Verdict::NotVerified) << Code.Error;
    return Code.CodeHash;
  };
  std::string Plain = Compile({});
  EXPECT_NE(Compile({{"unroll-count", "4"}}), Plain);
  EXPECT_EQ(Compile({}), Plain);
}

//===----------------------------------------------------------------------===//
// As bytes
//===----------------------------------------------------------------------===//

TEST_F(CompiledKernelTest, ComesBackFromBytes) {
  CompiledKernel Code = cantFail(Session->compile(*Base, ignore));
  Code.Resources.emplace();
  Code.Resources->Registers = 12;
  std::string Bytes = serialize(Code);
  CompiledKernel Read = cantFail(deserializeCompiledKernel(Bytes));
  EXPECT_EQ(serialize(Read), Bytes);
  EXPECT_EQ(Read.Resources->Registers, 12u);
  EXPECT_EQ(Read.Image.Object, Code.Image.Object);
  EXPECT_EQ(Read.Times.Codegen, Code.Times.Codegen);
  ReplayResult R = cantFail(Session->run(*Base, Read, ignore));
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
}

TEST_F(CompiledKernelTest, FailuresAndStopsComeBack) {
  CompiledKernel Code;
  Code.V = Verdict::CompileError;
  Code.Error = "no \"such\" thing\n";
  CompiledKernel Read = cantFail(deserializeCompiledKernel(serialize(Code)));
  EXPECT_EQ(Read.V, Verdict::CompileError);
  EXPECT_EQ(Read.Error, Code.Error);
  EXPECT_FALSE(Read.StoppedAt);
  EXPECT_FALSE(Read.Image.HostInfo);
  Code.StoppedAt = CodeStage::Assembly;
  Code.Image.Args = {{8, 0, MNEME_ARG_POINTER, "p", "ptr"}};
  Read = cantFail(deserializeCompiledKernel(serialize(Code)));
  EXPECT_EQ(Read.StoppedAt, CodeStage::Assembly);
  ASSERT_EQ(Read.Image.Args.size(), 1u);
  EXPECT_EQ(Read.Image.Args[0].Kind, uint32_t(MNEME_ARG_POINTER));
}

TEST_F(CompiledKernelTest, DamageIsFound) {
  std::string Bytes = serialize(cantFail(Session->compile(*Base, ignore)));
  auto Error = [](StringRef Bytes) {
    auto Code = deserializeCompiledKernel(Bytes);
    return Code ? "no error" : toString(Code.takeError());
  };
  EXPECT_EQ(Error(""), "not a compiled kernel: 0 bytes");
  EXPECT_EQ(Error(std::string(200, 'x')), "not a compiled kernel");
  for (size_t Size = 1; Size < Bytes.size(); Size += 37)
    EXPECT_THAT(Error(StringRef(Bytes).drop_back(Size)),
                HasSubstr("compiled kernel"));
  for (size_t At = 0; At < Bytes.size(); At += 11) {
    std::string Flipped = Bytes;
    Flipped[At] ^= 0x10;
    EXPECT_THAT(Error(Flipped), HasSubstr("compiled kernel"));
  }
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

TEST_F(CompiledKernelTest, ComparesSideBySide) {
  auto O3 = withPasses("default<O3>");
  CompiledKernel A = cantFail(Session->compile(*Base, ignore));
  CompiledKernel B = cantFail(Session->compile(*O3, ignore));
  PairedResult R = cantFail(Session->compare(
      {{Base.get(), &A}, {O3.get(), &B}, {Base.get(), &A}}, 5, 1, ignore));
  EXPECT_FALSE(R.Failed) << R.Error;
  EXPECT_EQ(R.V, Verdict::Match);
  ASSERT_EQ(R.Measured.size(), 3u);
  for (const Measurement &M : R.Measured) {
    EXPECT_EQ(M.Nanoseconds.size(), 5u);
    EXPECT_EQ(M.Timer, "host");
  }
}

TEST_F(CompiledKernelTest, ComparesNothingThatIsWrong) {
  auto Wrong = vary([](ReplayOptions &O) { O.Block[0] = 2; });
  CompiledKernel Code = cantFail(Session->compile(*Base, ignore));
  PairedResult R = cantFail(Session->compare(
      {{Base.get(), &Code}, {Wrong.get(), &Code}}, 3, 1, ignore));
  EXPECT_EQ(R.Failed, 1u);
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_THAT(R.Error, HasSubstr("differ"));
  EXPECT_TRUE(R.Measured.empty());
  CompiledKernel None;
  None.V = Verdict::CompileError;
  None.Error = "it is too hard";
  R = cantFail(Session->compare({{Base.get(), &None}, {Base.get(), &Code}}, 3,
                                1, ignore));
  EXPECT_EQ(R.Failed, 0u);
  EXPECT_EQ(R.V, Verdict::CompileError);
  EXPECT_EQ(R.Error, "it is too hard");
}

// Memory is restored before the launch: to have been right once is no help.
TEST_F(CompiledKernelTest, FindsAKernelThatDoesNothing) {
  ASSERT_THAT_ERROR(
      writeFileAtomically(path("lazy.ll"), R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @add(ptr %p, i32 %n) "target-cpu"="sm_90" {
  ret void
}
)"),
      Succeeded());
  auto Lazy = vary([&](ReplayOptions &O) { O.IRFile = path("lazy.ll"); });
  EXPECT_EQ(cantFail(Session->evaluate(*Base, ignore)).V, Verdict::Match);
  EXPECT_EQ(cantFail(Session->evaluate(*Lazy, ignore)).V, Verdict::Mismatch);
}

TEST_F(CompiledKernelTest, StopsMeasuringWhatIsSlower) {
  CompiledKernel Code = cantFail(Session->compile(*Base, ignore));
  auto Raced = vary([](ReplayOptions &O) {
    O.Iterations = 50;
    O.StopAbove = 1e-6;
  });
  ReplayResult R = cantFail(Session->run(*Raced, Code, ignore));
  ASSERT_TRUE(R.Measured);
  EXPECT_EQ(R.Measured->Stop, StopReason::Slower);
  EXPECT_EQ(R.Measured->Nanoseconds.size(), 3u);
}

// A baseline whose compilation ends the process is no fault of the candidate.
TEST_F(CompiledKernelTest, ABaselineMayKillTheCompiler) {
  ASSERT_THAT_ERROR(writeFileAtomically(path("good.ll"), IR), Succeeded());
  IR.insert(IR.find(" \"target-cpu\"") + strlen(" \"target-cpu\"=\"sm_90\""),
            " gc \"nobody-has-this\"");
  ReplayOptions O;
  O.IRFile = path("good.ll");
  O.Compared = Baseline::Recompiled;
  auto P = cantFail(plan(O));
  ReplayResult R = cantFail(replay(*P));
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
  ASSERT_TRUE(R.Compared);
  EXPECT_EQ(R.Compared->V, Verdict::CompileError);
  EXPECT_THAT(R.Compared->Error, HasSubstr("nobody-has-this"));
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

TEST_F(CompiledKernelTest, EveryMetricOfTheTableIsKnown) {
  ReplayResult R = cantFail(Session->evaluate(*Base, ignore));
  StringMap<double> OnHost = getMetrics(*Base, R);
  R.Resources.emplace();
  R.Resources->Registers = 32;
  R.Resources->SpillStores = 8;
  R.Resources->SpillLoads = 4;
  R.Resources->Local = 16;
  R.Resources->Shared = 64;
  R.Resources->CodeSize = 512;
  R.Power.Bound.emplace();
  R.Power.Bound->Work.ReadBytes = 1000;
  R.Power.Bound->Peaks.DRAM = R.Power.Bound->Peaks.Cache = 1;
  for (const CounterInfo &C : getCounterInfos())
    R.Counters.Values[C.Name] = 1;
  StringMap<double> All = getMetrics(*Base, R);
  size_t Count = 0;
  for (const MetricInfo &M : getMetricInfos()) {
    EXPECT_TRUE(All.contains(M.Name)) << M.Name.str();
    bool NeedsBound = M.Name == "bound" || M.Name == "sol";
    EXPECT_EQ(OnHost.contains(M.Name),
              !needsResources(M.Name) && !findCounter(M.Name) && !NeedsBound)
        << M.Name.str();
    ++Count;
  }
  EXPECT_EQ(All.size(), Count);
  EXPECT_EQ(All["spills"], 12);
  EXPECT_EQ(All["time"], summarize(R.nanoseconds()).Median);
  EXPECT_GT(All["occupancy"], 0);
  EXPECT_LE(All["occupancy"], 1);
  EXPECT_TRUE(getMetrics(*Base, {}).empty());
}
