//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/PassGate.h"
#include "CompileTest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include <map>
#include <numeric>
#include <sys/resource.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A call, a nest of loops of which the inner one can be unrolled away, and
/// work for most passes.
const char NVPTXModule[] = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define internal float @scale(float %x, i32 %n) #0 {
  %f = sitofp i32 %n to float
  %y = fmul float %x, %f
  ret float %y
}
define ptx_kernel void @k(ptr %in, ptr %out, i32 %n) #0 {
entry:
  %sum = alloca float
  store float 0.0, ptr %sum
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %inner, label %exit
inner:
  %j = phi i32 [ 0, %outer ], [ %j.next, %inner ]
  %row = mul i32 %i, 4
  %index = add i32 %row, %j
  %wide = sext i32 %index to i64
  %p = getelementptr float, ptr %in, i64 %wide
  %v = load float, ptr %p
  %s = call float @scale(float %v, i32 %tid)
  %old = load float, ptr %sum
  %new = fadd float %old, %s
  store float %new, ptr %sum
  %j.next = add i32 %j, 1
  %again = icmp slt i32 %j.next, 4
  br i1 %again, label %inner, label %latch
latch:
  %i.next = add i32 %i, 1
  br label %outer
exit:
  %result = load float, ptr %sum
  %t64 = sext i32 %tid to i64
  %q = getelementptr float, ptr %out, i64 %t64
  store float %result, ptr %q
  ret void
}
attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx80" }
)";

const char AMDGPUModule[] = R"(
target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global [64 x i32] undef
declare i32 @llvm.amdgcn.workitem.id.x()
define void @fill(ptr addrspace(1) %p, i32 %n) #1 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %i, ptr addrspace(1) %q
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) #0 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %b = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %t
  store volatile i32 %n, ptr addrspace(3) %b
  call void @fill(ptr addrspace(1) %p, i32 %t)
  ret void
}
attributes #0 = { "target-cpu"="gfx90a" "amdgpu-flat-work-group-size"="1,256" }
attributes #1 = { noinline "target-cpu"="gfx90a" }
)";

class PassGateTest : public testing::Test {
protected:
  StringRef Text = NVPTXModule;

  std::unique_ptr<Module> parse(LLVMContext &Context) {
    return parseModule(Text, Context);
  }
  static CompileOptions options() {
    CompileOptions O = makeOptions();
    O.OptLevel = "3";
    return O;
  }
  static CompileOptions running(StringRef Run) {
    CompileOptions O = options();
    O.RunPasses = Run.str();
    return O;
  }
  static CompileOptions skipping(StringRef Skip) {
    CompileOptions O = options();
    O.SkipPasses = Skip.str();
    return O;
  }

  struct Compiled {
    std::string IR, PTX, Key;
  };
  Expected<Compiled> compile(CompileOptions O) {
    LLVMContext Context;
    std::unique_ptr<Module> M = parse(Context);
    Expected<KernelCompiler> C = KernelCompiler::create(*M, std::move(O));
    if (!C)
      return C.takeError();
    CompileResult R;
    if (Error E = C->optimize(*M, R))
      return std::move(E);
    Compiled Out;
    SmallVector<char, 0> Bytes = writeExactBitcode(*M);
    Out.IR.assign(Bytes.begin(), Bytes.end());
    Out.Key = C->codegenKey(&R);
    if (Error E = C->emitAssembly(*M, &R).moveInto(Out.PTX))
      return std::move(E);
    return std::move(Out);
  }
  Expected<PassListing> list(CompileOptions O, PassListOptions LO = {}) {
    LLVMContext Context;
    std::unique_ptr<Module> M = parse(Context);
    Expected<KernelCompiler> C = KernelCompiler::create(*M, std::move(O));
    if (!C)
      return C.takeError();
    return C->listPasses(*M, LO);
  }
  std::string failure(CompileOptions O) {
    Expected<Compiled> C = compile(std::move(O));
    return C ? "no error" : toString(C.takeError());
  }
};

/// What ran, by number.
std::vector<unsigned> numbersThatRan(const PassListing &L) {
  std::vector<unsigned> Numbers;
  for (const PassExecution &E : L.Executions)
    if (E.Ran && E.Number)
      Numbers.push_back(E.Number);
  return Numbers;
}

std::string parseError(StringRef Text) {
  Expected<PassSet> S = PassSet::parse(Text);
  return S ? "no error" : toString(S.takeError());
}

PassExecution execution(StringRef Pass, StringRef Unit, StringRef Function,
                        unsigned Occurrence) {
  PassExecution E;
  E.Pass = Pass.str();
  E.Unit = Unit.str();
  E.Function = Function.str();
  E.Occurrence = Occurrence;
  return E;
}

TEST(PassSetTest, Numbers) {
  PassSet S = cantFail(PassSet::parse("1-3, 7,40-"));
  EXPECT_TRUE(S.hasNumbers());
  for (unsigned In : {1, 2, 3, 7, 40, 41, 100000})
    EXPECT_TRUE(S.contains(In)) << In;
  for (unsigned Out : {4, 6, 8, 39})
    EXPECT_FALSE(S.contains(Out)) << Out;
  EXPECT_TRUE(cantFail(PassSet::parse("all")).contains(5));
  EXPECT_FALSE(cantFail(PassSet::parse("none")).contains(5));
}

TEST(PassSetTest, Names) {
  PassSet S = cantFail(PassSet::parse("gvn@f,licm@loop 1 of f#2,"
                                      "inline@(f, g),verify<a,b>"));
  EXPECT_FALSE(S.hasNumbers());
  EXPECT_TRUE(S.names(execution("gvn", "f", "f", 3)));
  EXPECT_TRUE(S.names(execution("gvn", "loop 1 of f", "f", 1)));
  EXPECT_FALSE(S.names(execution("gvn", "g", "g", 1)));
  EXPECT_TRUE(S.names(execution("licm", "loop 1 of f", "f", 2)));
  EXPECT_FALSE(S.names(execution("licm", "loop 1 of f", "f", 1)));
  EXPECT_TRUE(S.names(execution("inline", "(f, g)", "", 1)));
  EXPECT_TRUE(S.names(execution("verify<a,b>", "[module]", "", 1)));
  // What an execution says of itself means itself.
  PassExecution E = execution("loop(x)", "(f, g)", "", 12);
  EXPECT_TRUE(cantFail(PassSet::parse(E.spec())).names(E));
}

TEST(PassSetTest, Refuses) {
  EXPECT_THAT(parseError(""),
              HasSubstr("expected a number, a range or a pass name, got ''"));
  EXPECT_THAT(parseError("1,,2"),
              HasSubstr("expected a number, a range or a pass name, got ''"));
  EXPECT_THAT(parseError("gvn,"),
              HasSubstr("expected a number, a range or a pass name, got ''"));
  EXPECT_EQ(parseError("7-3"), "'7-3' is a backwards range");
  EXPECT_EQ(parseError("0-3"), "'0-3': numbers start at 1");
  EXPECT_THAT(parseError("3x"), HasSubstr("'3x' is neither a number"));
  EXPECT_THAT(parseError("1-2-3"), HasSubstr("'1-2-3' is neither a number"));
  EXPECT_THAT(parseError("-3"), HasSubstr("'-3' is neither a number"));
  EXPECT_THAT(parseError("99999999999"), HasSubstr("is neither a number"));
  EXPECT_EQ(parseError("all,3"), "'all' must stand alone");
  EXPECT_THAT(parseError("@f"), HasSubstr("'@f' is not the name of a pass"));
  EXPECT_THAT(parseError("gvn@"),
              HasSubstr("'gvn@' is not the name of a pass"));
  EXPECT_THAT(parseError("gvn@f#0"), HasSubstr("'0' is not the number"));
  EXPECT_THAT(parseError("gvn#x"), HasSubstr("'x' is not the number"));
}

TEST(PassExecutionTest, JSON) {
  PassExecution E = execution("licm", "loop 1 of f", "f", 2);
  E.Number = 7;
  E.Stage = PassStage::CodeGen;
  E.Changed = true;
  E.InstructionDelta = -3;
  E.Seconds = 0.5;
  PassExecution Again;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(toJSON(E), Again, Root));
  EXPECT_EQ(toJSON(Again), toJSON(E));
  E.Changed.reset();
  E.Number = 0;
  E.Unit = "";
  ASSERT_TRUE(fromJSON(toJSON(E), Again, Root));
  EXPECT_EQ(toJSON(Again), toJSON(E));
  json::Value Bad = toJSON(E);
  (*Bad.getAsObject())["stage"] = "linker";
  EXPECT_FALSE(fromJSON(Bad, Again, Root));
  EXPECT_THAT(toString(Root.getError()), HasSubstr("no stage"));
}

TEST_F(PassGateTest, Lists) {
  auto L = list(options());
  ASSERT_THAT_EXPECTED(L, Succeeded());
  EXPECT_EQ(L->Failure, "");
  EXPECT_GT(L->NumIR, 50u);
  EXPECT_GT(L->NumAll, L->NumIR);
  unsigned Next = 1, Changed = 0, Required = 0;
  bool HasLoop = false;
  int64_t Removed = 0;
  std::map<std::string, unsigned> Specs;
  for (const PassExecution &E : L->Executions) {
    EXPECT_THAT(E.Pass, Not(HasSubstr("PassManager")));
    EXPECT_THAT(E.Pass, Not(HasSubstr("Adaptor")));
    EXPECT_TRUE(E.Ran);
    // Others rely on it, whatever LLVM says.
    if (E.Pass == "lcssa" || E.Pass == "loop-simplify")
      EXPECT_EQ(E.Required, E.Stage == PassStage::IR) << E.spec();
    if (E.Required) {
      EXPECT_EQ(E.Number, 0u);
      ++Required;
    } else {
      EXPECT_EQ(E.Number, Next++);
      EXPECT_EQ(E.Number > L->NumIR, E.Stage == PassStage::CodeGen);
    }
    if (E.Stage != PassStage::IR)
      continue;
    ++Specs[E.spec()];
    ASSERT_TRUE(E.Changed);
    Changed += *E.Changed;
    Removed -= E.InstructionDelta;
    if (!*E.Changed)
      EXPECT_EQ(E.InstructionDelta, 0) << E.spec();
    if (E.Pass == "licm") {
      HasLoop = true;
      EXPECT_THAT(E.Unit, testing::MatchesRegex("loop [12] of k"));
      EXPECT_EQ(E.Function, "k");
    }
  }
  EXPECT_EQ(Next, L->NumAll + 1);
  EXPECT_GT(Required, 0u);
  EXPECT_TRUE(HasLoop);
  // Most do nothing.
  EXPECT_GT(Changed, 3u);
  EXPECT_LT(Changed, L->NumIR / 2);
  EXPECT_NE(Removed, 0);
  // Texts are of one execution each.
  for (const auto &[Spec, Count] : Specs)
    EXPECT_EQ(Count, 1u) << Spec;
}

TEST_F(PassGateTest, IsolatedOrNotIsTheSame) {
  PassListOptions Here;
  Here.Isolate = false;
  auto A = list(options()), B = list(options(), Here);
  ASSERT_THAT_EXPECTED(A, Succeeded());
  ASSERT_THAT_EXPECTED(B, Succeeded());
  ASSERT_EQ(A->Executions.size(), B->Executions.size());
  for (auto [X, Y] : zip(A->Executions, B->Executions)) {
    X.Seconds = Y.Seconds = 0;
    EXPECT_EQ(toJSON(X), toJSON(Y));
  }
  EXPECT_EQ(A->NumAll, B->NumAll);
}

// To look changes nothing, least of all what is numbered how.
TEST_F(PassGateTest, DetailsChangeNothing) {
  for (StringRef Target : {NVPTXModule, AMDGPUModule}) {
    if (Target == AMDGPUModule && !LLVM_HAS_AMDGPU_TARGET)
      continue;
    Text = Target;
    PassListOptions Short;
    Short.Details = false;
    auto A = list(options()), B = list(options(), Short);
    ASSERT_THAT_EXPECTED(A, Succeeded());
    ASSERT_THAT_EXPECTED(B, Succeeded());
    EXPECT_EQ(A->Failure, "");
    EXPECT_EQ(B->Failure, "");
    EXPECT_GT(A->NumAll, A->NumIR + 10);
    auto Specs = [](const PassListing &L) {
      std::vector<std::string> Specs;
      for (const PassExecution &E : L.Executions)
        if (E.Number)
          Specs.push_back(utostr(E.Number) + " " + E.spec());
      return Specs;
    };
    EXPECT_EQ(Specs(*A), Specs(*B));
    // Code generation is listed whole: what can be skipped and what cannot.
    bool Removed = false, Kept = false, Required = false;
    for (const PassExecution &E : A->Executions) {
      if (E.Stage != PassStage::CodeGen || !E.Changed)
        continue;
      Removed |= E.InstructionDelta < 0;
      Kept |= !*E.Changed;
      Required |= E.Required && E.Function == "k";
    }
    EXPECT_TRUE(Removed && Kept && Required);
  }
}

TEST_F(PassGateTest, NothingSkippedIsTheSameCode) {
  auto Plain = compile(options());
  ASSERT_THAT_EXPECTED(Plain, Succeeded());
  unsigned Last = cantFail(list(options())).NumAll;
  for (const CompileOptions &O :
       {running("all"), running("1-"), skipping("none"),
        // Whatever is not known is asked here.
        running("1-" + utostr(Last))}) {
    auto Gated = compile(O);
    ASSERT_THAT_EXPECTED(Gated, Succeeded());
    EXPECT_TRUE(Gated->IR == Plain->IR);
    EXPECT_EQ(Gated->PTX, Plain->PTX);
  }
  EXPECT_EQ(cantFail(compile(running("1-"))).Key, Plain->Key);
}

TEST_F(PassGateTest, NothingRunsButWhatIsRequired) {
  auto Plain = list(options()), None = list(running("none"));
  ASSERT_THAT_EXPECTED(Plain, Succeeded());
  ASSERT_THAT_EXPECTED(None, Succeeded());
  for (const PassExecution &E : None->Executions)
    EXPECT_EQ(E.Ran, E.Required) << E.spec();
  auto A = compile(running("none")), B = compile(skipping("all"));
  ASSERT_THAT_EXPECTED(A, Succeeded());
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_TRUE(A->IR == B->IR);
  EXPECT_EQ(A->PTX, B->PTX);
  EXPECT_NE(A->PTX, cantFail(compile(options())).PTX);
}

// What a bisector relies on: up to the last one that runs, all is as if all
// ran, and nothing runs behind it.
TEST_F(PassGateTest, PrefixesRunExactlyTheirNumbers) {
  auto All = list(options());
  ASSERT_THAT_EXPECTED(All, Succeeded());
  for (unsigned N = 1; N <= All->NumAll; N += 7) {
    auto L = list(running("1-" + utostr(N)));
    ASSERT_THAT_EXPECTED(L, Succeeded());
    std::vector<unsigned> Expected(N);
    std::iota(Expected.begin(), Expected.end(), 1);
    EXPECT_EQ(numbersThatRan(*L), Expected);
    // Nor does anything that nobody knows.
    for (const PassExecution &E : L->Executions)
      EXPECT_TRUE(E.Number || E.Required || !E.Ran) << E.spec();
    for (auto [A, B] : zip(All->Executions, L->Executions)) {
      if (A.Number > N)
        break;
      EXPECT_EQ(A.spec(), B.spec());
      EXPECT_EQ(A.Changed, B.Changed) << N << " " << A.spec();
      EXPECT_EQ(A.InstructionDelta, B.InstructionDelta);
    }
  }
}

TEST_F(PassGateTest, SkippingOneDoesNotShiftOthers) {
  auto All = list(options());
  ASSERT_THAT_EXPECTED(All, Succeeded());
  std::map<unsigned, std::string> Specs;
  for (const PassExecution &E : All->Executions)
    Specs[E.Number] = E.spec();
  unsigned Tried = 0;
  for (const PassExecution &Skipped : All->Executions) {
    if (!Skipped.Number || Skipped.Changed == false || Tried++ % 5)
      continue;
    auto L = list(skipping(utostr(Skipped.Number)));
    ASSERT_THAT_EXPECTED(L, Succeeded());
    bool WasThere = false;
    for (const PassExecution &E : L->Executions) {
      if (E.Number)
        EXPECT_EQ(E.spec(), Specs[E.Number]);
      if (E.Number == Skipped.Number) {
        WasThere = true;
        EXPECT_FALSE(E.Ran);
      } else if (E.Number) {
        EXPECT_TRUE(E.Ran);
      }
    }
    EXPECT_TRUE(WasThere) << Skipped.spec();
    // By name it is the same.
    auto Number = compile(skipping(utostr(Skipped.Number)));
    auto Name = compile(skipping(Skipped.spec()));
    ASSERT_THAT_EXPECTED(Number, Succeeded());
    ASSERT_THAT_EXPECTED(Name, Succeeded());
    EXPECT_EQ(Number->PTX, Name->PTX) << Skipped.spec();
  }
  EXPECT_GT(Tried, 20u);
}

TEST_F(PassGateTest, WhatIsSkippedHasNoEffect) {
  auto Plain = cantFail(compile(options()));
  // Where the pass itself changed nothing, nothing is missed.
  auto All = cantFail(list(options()));
  unsigned Idle = 0;
  for (const PassExecution &E : All.Executions)
    if (E.Number && E.Changed == false && ++Idle % 10 == 0)
      EXPECT_TRUE(cantFail(compile(skipping(utostr(E.Number)))).IR == Plain.IR)
          << E.spec();
  EXPECT_GT(Idle, 10u);
  auto NoInline = cantFail(compile(skipping("inline")));
  EXPECT_THAT(NoInline.PTX, HasSubstr("scale"));
  EXPECT_THAT(Plain.PTX, Not(HasSubstr("scale")));
}

TEST_F(PassGateTest, CodeGenerationIsOfTheKeyWhereItIsSelected) {
  auto Plain = cantFail(compile(options()));
  auto All = cantFail(list(options()));
  std::string Last = utostr(All.NumAll);
  EXPECT_EQ(cantFail(compile(skipping("1"))).Key, Plain.Key);
  auto NoCodeGen = cantFail(compile(running("1-" + utostr(All.NumIR))));
  EXPECT_TRUE(NoCodeGen.IR == Plain.IR);
  EXPECT_NE(NoCodeGen.Key, Plain.Key);
  EXPECT_NE(NoCodeGen.PTX, Plain.PTX);
  // None of it, said in two ways.
  EXPECT_EQ(cantFail(compile(running("1-5"))).Key, NoCodeGen.Key);
  auto NotTheLast = cantFail(compile(skipping(Last)));
  EXPECT_NE(NotTheLast.Key, Plain.Key);
  EXPECT_NE(NotTheLast.Key, NoCodeGen.Key);
}

TEST_F(PassGateTest, Refuses) {
  auto All = cantFail(list(options()));
  std::string Last = utostr(All.NumAll);
  EXPECT_EQ(failure(running("5000")),
            "--run-passes: there is no pass execution 5000, the last one is " +
                Last);
  EXPECT_EQ(failure(skipping("3-5000")),
            "--skip-passes: there is no pass execution 5000, the last one is " +
                Last);
  EXPECT_EQ(failure(skipping("gvnn")),
            "--skip-passes: 'gvnn' names no pass execution of this "
            "compilation");
  EXPECT_EQ(failure(skipping("gvn@other")),
            "--skip-passes: 'gvn@other' names no pass execution of this "
            "compilation");
  EXPECT_EQ(failure(skipping("gvn@k#9")),
            "--skip-passes: 'gvn@k#9' names no pass execution of this "
            "compilation");
  EXPECT_EQ(failure(skipping("3-1")),
            "invalid --skip-passes=3-1: '3-1' is a backwards range");
  for (const PassExecution &E : All.Executions)
    if (E.Required) {
      EXPECT_EQ(failure(skipping(E.spec())),
                "--skip-passes: '" + E.spec() +
                    "' always runs: it cannot be skipped");
      break;
    }
}

/// Of all processes that this one has created, and that are over.
long countChildrensFaults() {
  rusage Usage;
  ::getrusage(RUSAGE_CHILDREN, &Usage);
  return Usage.ru_minflt;
}

// Hundreds of variants are compiled in one process, one after another.
TEST_F(PassGateTest, NumbersAreFoundOnce) {
  EXPECT_THAT_EXPECTED(compile(skipping("2")), Succeeded());
  long Faults = countChildrensFaults();
  EXPECT_GT(Faults, 0);
  for (const CompileOptions &O :
       {skipping("1"), running("7"), running("1-5"), running("sroa"),
        skipping("gvn,9"), running("none")})
    EXPECT_THAT_EXPECTED(compile(O), Succeeded());
  EXPECT_EQ(countChildrensFaults(), Faults);
  // In another compilation, they mean something else.
  CompileOptions O = skipping("2");
  O.OptLevel = "1";
  EXPECT_THAT_EXPECTED(compile(O), Succeeded());
  EXPECT_GT(countChildrensFaults(), Faults);
}

TEST_F(PassGateTest, NumbersNeedOptimize) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context);
  auto C = cantFail(KernelCompiler::create(*M, skipping("3")));
  EXPECT_THAT(toString(C.emitAssembly(*M).takeError()),
              HasSubstr("optimize the module first"));
}

TEST_F(PassGateTest, ACompilationThatDiesHasAList) {
  CompileOptions O = options();
  O.Passes = "function(sroa),no-op-module,trigger-crash-module,function(gvn)";
  auto L = list(O);
  ASSERT_THAT_EXPECTED(L, Succeeded());
  ASSERT_EQ(L->Deaths.size(), 1u);
  EXPECT_THAT(L->Deaths[0].Failure, HasSubstr("the compiler died of signal"));
  unsigned Culprit = L->Deaths[0].Number;
  auto It = find_if(L->Executions, [&](const PassExecution &E) {
    return E.Number == Culprit;
  });
  ASSERT_NE(It, L->Executions.end());
  EXPECT_EQ(It->Pass, "trigger-crash-module");
  // What is behind it is listed, too.
  EXPECT_EQ(L->Failure, "");
  EXPECT_TRUE(any_of(make_range(It, L->Executions.end()),
                     [](const PassExecution &E) { return E.Pass == "gvn"; }));
  // Which is what it takes to go around it.
  O.SkipPasses = utostr(Culprit);
  auto Code = compile(O);
  ASSERT_THAT_EXPECTED(Code, Succeeded());
  EXPECT_THAT(Code->IR, Not(HasSubstr("alloca")));
  O.SkipPasses.reset();
  O.RunPasses = "1-" + utostr(Culprit - 1);
  EXPECT_THAT_EXPECTED(compile(O), Succeeded());
  O.RunPasses = utostr(Culprit + 1);
  EXPECT_THAT_EXPECTED(compile(O), Succeeded());
}

// The option lasts, so this is done in a process of its own.
TEST_F(PassGateTest, LLVMsOwnBisectionStillWorks) {
  auto ListUnderIt = [this] {
    CompileOptions O = options();
    O.LLVMOptions = {{"opt-bisect-limit", "0"}};
    PassListing L = cantFail(list(O));
    ::_exit(L.NumAll > 0 && numbersThatRan(L).empty() ? 0 : 1);
  };
  EXPECT_EXIT(ListUnderIt(), testing::ExitedWithCode(0), "");
}

TEST_F(PassGateTest, ListingsThatCameTooLateAreNotKept) {
  CompileOptions O = skipping("1");
  O.NumberingLimit = 1e-9;
  EXPECT_THAT(failure(O), HasSubstr("did not end within"));
  O.NumberingLimit = 0;
  EXPECT_EQ(failure(O), "no error");
}

} // namespace
