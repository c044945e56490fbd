//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Guards.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {
class GuardsTest : public testing::Test {
protected:
  LLVMContext Context;
  std::unique_ptr<Module> Recorded = parse("define void @k(ptr %P) {\n"
                                           "  ret void\n}\n");

  std::unique_ptr<Module> parse(StringRef Text) {
    SMDiagnostic D;
    std::unique_ptr<Module> M = parseAssemblyString(Text, D, Context);
    EXPECT_TRUE(M) << D.getMessage().str();
    return M;
  }
  GuardFindings find(StringRef Text) {
    return findGuarded(*parse(Text), *Recorded);
  }
  /// The findings for a kernel with this body.
  GuardFindings findBody(StringRef Body, StringRef Rest = "") {
    return find(
        ("define void @k(ptr %P) {\n" + Body + "\n  ret void\n}\n" + Rest)
            .str());
  }
};
} // namespace

TEST_F(GuardsTest, AcceptsOrdinaryCode) {
  GuardFindings F = findBody("  store i32 1, ptr %P",
                             "@T = internal addrspace(4) constant i32 7\n"
                             "@S = internal addrspace(3) global i32 undef\n");
  EXPECT_THAT(F.Refusals, IsEmpty());
  EXPECT_THAT(F.Suspicions, IsEmpty());
}

TEST_F(GuardsTest, RefusesConstantAddresses) {
  for (StringRef Body :
       {"  store i32 1, ptr inttoptr (i64 4096 to ptr)",
        "  store i32 1, ptr getelementptr (i8, ptr null, i64 4096)",
        "  %Q = inttoptr i64 4096 to ptr\n  store i32 1, ptr %Q"})
    EXPECT_THAT(findBody(Body).Refusals, ElementsAre("a constant address"));
  EXPECT_THAT(find("@T = internal addrspace(4) constant [2 x ptr] "
                   "[ptr null, ptr inttoptr (i64 4096 to ptr)]")
                  .Refusals,
              ElementsAre("a constant address"));
}

TEST_F(GuardsTest, RefusesStateAssemblyAndCalls) {
  EXPECT_THAT(find("module asm \"foo\"").Refusals,
              ElementsAre("assembly outside of functions"));
  EXPECT_THAT(find("@N = internal addrspace(1) global i32 0").Refusals,
              ElementsAre("the variable 'N' keeps its value between launches"));
  EXPECT_THAT(
      findBody("  %M = call ptr @malloc(i64 8)", "declare ptr @malloc(i64)\n")
          .Refusals,
      ElementsAre("a call to the device runtime's 'malloc'"));
  EXPECT_THAT(findBody("  call void @f()", "declare void @f()\n").Refusals,
              ElementsAre("a call to the undefined function 'f'"));
}

TEST_F(GuardsTest, RefusesVariablesThatTheHostWrites) {
  for (StringRef Kind : {"global", "constant"})
    EXPECT_THAT(
        find(("@S = addrspace(4) externally_initialized " + Kind + " float 1.0")
                 .str())
            .Refusals,
        ElementsAre("the variable 'S' can be written by the host"));
  Recorded = parse("@S = addrspace(4) externally_initialized global float 1.0");
  EXPECT_THAT(find("@S = addrspace(4) externally_initialized global float 1.0")
                  .Refusals,
              IsEmpty());
}

TEST_F(GuardsTest, SuspectsClocksAssemblyAndPointers) {
  EXPECT_THAT(findBody("  %C = call i64 @llvm.nvvm.read.ptx.sreg.clock64()",
                       "declare i64 @llvm.nvvm.read.ptx.sreg.clock64()\n")
                  .Suspicions,
              ElementsAre(HasSubstr("clock64")));
  EXPECT_THAT(
      findBody("  call void asm sideeffect \"exit;\", \"\"()").Suspicions,
      ElementsAre("it has the inline assembly 'exit;'"));
  EXPECT_THAT(findBody("  %I = ptrtoint ptr %P to i64\n"
                       "  %Q = inttoptr i64 %I to ptr")
                  .Suspicions,
              ElementsAre("it computes a pointer from an integer"));
}

TEST_F(GuardsTest, SuspectsIntegersAsAddressesOfAssembly) {
  auto Of = [&](StringRef Operand) {
    return findBody(("  %R = call i32 asm \"ld.global.u32 $0, [$1];\", "
                     "\"=r,l\"(" +
                     Operand + ")")
                        .str())
        .Suspicions;
  };
  EXPECT_THAT(Of("i64 4096"),
              Contains("it computes a pointer from an integer"));
  EXPECT_THAT(Of("ptr %P"),
              Not(Contains("it computes a pointer from an integer")));
}

TEST_F(GuardsTest, AcceptsArithmeticInAssembly) {
  EXPECT_THAT(findBody("  %I = load i32, ptr %P\n"
                       "  %V = call i32 asm \"bfind.shiftamt.u32 $0, $1;\", "
                       "\"=r,r\"(i32 %I)\n"
                       "  store i32 %V, ptr %P")
                  .Suspicions,
              IsEmpty());
  for (StringRef Body :
       {"  %V = call ptr asm \"mov.u64 $0, 4096;\", \"=l\"()\n"
        "  store i32 1, ptr %V",
        "  %V = call i64 asm \"mov.u64 $0, $1;\", \"=l,l\"(ptr %P)\n"
        "  store i64 %V, ptr %P"})
    EXPECT_THAT(findBody(Body).Suspicions,
                Contains(HasSubstr("it has the inline assembly")));
}

TEST_F(GuardsTest, SuspectsWhatTheGPUChooses) {
  for (StringRef Name : {"i32 @llvm.nvvm.read.ptx.sreg.nwarpid()",
                         "i32 @llvm.nvvm.read.ptx.sreg.total_smem_size()",
                         "i32 @llvm.nvvm.read.ptx.sreg.envreg3()",
                         "i64 @llvm.amdgcn.dispatch.id()"})
    EXPECT_THAT(
        findBody(("  %V = call " + Name).str(), ("declare " + Name).str())
            .Suspicions,
        ElementsAre(HasSubstr("it reads 'llvm.")))
        << Name.str();
  EXPECT_THAT(findBody("  call void @llvm.nvvm.nanosleep(i32 100)",
                       "declare void @llvm.nvvm.nanosleep(i32)")
                  .Suspicions,
              ElementsAre("it calls 'llvm.nvvm.nanosleep'"));
  EXPECT_THAT(findBody("  %E = call {i32, i1} @llvm.nvvm.elect.sync(i32 -1)",
                       "declare {i32, i1} @llvm.nvvm.elect.sync(i32)")
                  .Suspicions,
              ElementsAre("it calls 'llvm.nvvm.elect.sync'"));
  // Functions of the position are not.
  for (StringRef Name : {"laneid", "lanemask.lt", "dynamic_smem_size"}) {
    std::string Call = ("i32 @llvm.nvvm.read.ptx.sreg." + Name + "()").str();
    EXPECT_THAT(findBody("  %V = call " + Call, "declare " + Call).Suspicions,
                IsEmpty());
  }
}

/// Unless schedules vary them, which the judge knows.
TEST_F(GuardsTest, SuspectsActiveThreads) {
  StringRef Body = "  %V = call i32 @llvm.nvvm.activemask()",
            Rest = "declare i32 @llvm.nvvm.activemask()";
  EXPECT_THAT(findBody(Body, Rest).Suspicions,
              ElementsAre(ActiveMaskSuspicion.str()));
  Recorded = parse(
      ("define void @k(ptr %P) {\n" + Body + "\n  ret void\n}\n" + Rest).str());
  EXPECT_THAT(findBody(Body, Rest).Suspicions, IsEmpty());
}

/// Of AMD GPUs, no schedule varies the lanes that run together.
TEST_F(GuardsTest, SuspectsBallotsOfSomeLanes) {
  for (StringRef Call : {"i64 @llvm.amdgcn.ballot.i64(i1 %C)",
                         "i64 @llvm.amdgcn.icmp.i64.i32(i32 %N, i32 1, i32 32)",
                         "i32 @llvm.amdgcn.readfirstlane.i32(i32 %N)"}) {
    auto Find = [&](StringRef Text) {
      std::string Name = Call.split('@').second.split('(').first.str();
      std::string Declaration =
          "declare " + Call.split('@').first.str() + "@" + Name +
          (StringRef(Name).contains("ballot") ? "(i1)\n"
           : StringRef(Name).contains("icmp") ? "(i32, i32, i32 immarg)\n"
                                              : "(i32)\n");
      std::vector<std::string> S =
          find(("define amdgpu_kernel void @k(ptr %P, i32 %N, i1 %C) {\n" +
                Text + "}\n" + Declaration)
                   .str())
              .Suspicions;
      llvm::erase_if(S, [&](StringRef Why) {
        return !Why.contains(Name) ||
               !Why.contains("where not all lanes of a wave need arrive");
      });
      return S.size();
    };
    std::string Use = ("  %V = call " + Call + "\n  store " +
                       Call.split(' ').first + " %V, ptr %P\n")
                          .str();
    EXPECT_EQ(Find(Use + "  ret void\n"), 0u) << Call.str();
    // Behind a branch that all lanes leave.
    EXPECT_EQ(Find("  br i1 %C, label %A, label %B\nA:\n  store i32 3, ptr %P\n"
                   "  br label %B\nB:\n" +
                   Use + "  ret void\n"),
              0u)
        << Call.str();
    // In one, behind an early return, in a loop.
    EXPECT_EQ(Find("  br i1 %C, label %A, label %B\nA:\n" + Use +
                   "  br label %B\nB:\n  ret void\n"),
              1u)
        << Call.str();
    EXPECT_EQ(Find("  br i1 %C, label %A, label %B\nA:\n  ret void\nB:\n" +
                   Use + "  ret void\n"),
              1u)
        << Call.str();
    EXPECT_EQ(Find("  br label %A\nA:\n" + Use +
                   "  %L = load volatile i1, ptr %P\n"
                   "  br i1 %L, label %A, label %B\nB:\n  ret void\n"),
              1u)
        << Call.str();
  }
}

TEST_F(GuardsTest, SuspectsPointersOfOtherData) {
  // An integer that passes through a local variable is one after SROA.
  EXPECT_THAT(findBody("  %U = alloca i64\n"
                       "  store i64 4096, ptr %U\n"
                       "  %Q = load ptr, ptr %U\n"
                       "  store volatile i32 1, ptr %Q")
                  .Refusals,
              ElementsAre("a constant address"));
  for (StringRef Body :
       {"  %U = alloca i64\n"
        "  %I = load i64, ptr %P\n"
        "  store volatile i64 %I, ptr %U\n"
        "  %Q = load volatile ptr, ptr %U\n"
        "  store volatile i32 1, ptr %Q",
        "  %I = load i64, ptr %P\n"
        "  store i64 %I, ptr addrspace(3) @S\n"
        "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n"
        "  %Q = load ptr, ptr addrspace(3) @S\n"
        "  store volatile i32 1, ptr %Q"})
    EXPECT_THAT(
        findBody(Body, "@S = internal addrspace(3) global i64 undef\n"
                       "declare void "
                       "@llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n")
            .Suspicions,
        Not(IsEmpty()));
  EXPECT_THAT(findBody("  %Q = load ptr, ptr %P\n"
                       "  store volatile i32 1, ptr %Q")
                  .Suspicions,
              ElementsAre("it loads a pointer from memory"));
  // An array of pointers is none.
  EXPECT_THAT(findBody("  %A = alloca [2 x ptr]\n"
                       "  %B = getelementptr i8, ptr %A, i64 8\n"
                       "  store ptr %P, ptr %A\n"
                       "  store ptr %P, ptr %B\n"
                       "  %I = load i1, ptr %P\n"
                       "  %C = select i1 %I, ptr %A, ptr %B\n"
                       "  %Q = load ptr, ptr %C\n"
                       "  store volatile i32 1, ptr %Q")
                  .Suspicions,
              IsEmpty());
}

TEST_F(GuardsTest, SuspectsComputationsWithAddresses) {
  StringRef Body = "  %I = ptrtoint ptr %P to i64\n"
                   "  %D = sub i64 139637976727552, %I\n"
                   "  %Q = getelementptr i8, ptr %P, i64 %D\n"
                   "  store volatile i8 1, ptr %Q";
  GuardFindings F = findBody(Body);
  EXPECT_FALSE(F.Refusals.empty() && F.Suspicions.empty());
  EXPECT_THAT(findBody("  %I = ptrtoint ptr %P to i64\n"
                       "  store i64 %I, ptr %P")
                  .Suspicions,
              ElementsAre("it computes with the address of memory"));
  EXPECT_THAT(findBody("  %I = ptrtoint ptr %P to i64\n"
                       "  %A = and i64 %I, 15\n"
                       "  store i64 %A, ptr %P")
                  .Suspicions,
              IsEmpty());
}

TEST_F(GuardsTest, SuspectsMasksOfMoreThanAnAlignment) {
  auto Mask = [&](StringRef With) {
    return findBody(("  %I = load i64, ptr %P\n"
                     "  %Q = call ptr @llvm.ptrmask.p0.i64(ptr %P, i64 " +
                     With +
                     ")\n"
                     "  store volatile i32 1, ptr %Q")
                        .str(),
                    "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)\n")
        .Suspicions;
  };
  EXPECT_THAT(Mask("-16"), IsEmpty());
  for (StringRef With : {"%I", "-1099511627776"})
    EXPECT_THAT(Mask(With),
                ElementsAre("it computes with the address of memory"));
}

TEST_F(GuardsTest, RefusesPlacesCodeAndAccessesOutside) {
  EXPECT_THAT(findBody("  %F = call ptr @llvm.frameaddress.p0(i32 0)\n"
                       "  store volatile i8 1, ptr %F",
                       "declare ptr @llvm.frameaddress.p0(i32)\n")
                  .Refusals,
              ElementsAre(HasSubstr("llvm.frameaddress")));
  EXPECT_THAT(findBody("  store volatile i8 1, ptr @k").Refusals,
              ElementsAre("an access to code"));
  EXPECT_THAT(findBody("  %A = alloca [100000 x i8]\n"
                       "  %I = load i64, ptr %P\n"
                       "  %B = getelementptr i8, ptr %A, i64 %I\n"
                       "  store i8 1, ptr %B\n"
                       "  %V = load i8, ptr %A\n"
                       "  store i8 %V, ptr %P")
                  .Suspicions,
              ElementsAre("it has 100000 bytes of local memory per thread"));
}

TEST_F(GuardsTest, SuspectsNarrowAtomics) {
  auto Add = [&](StringRef Scope) {
    return findBody(("  %O = atomicrmw add ptr %P, i32 1 syncscope(\"" + Scope +
                     "\") monotonic")
                        .str())
        .Suspicions;
  };
  EXPECT_THAT(Add("block"),
              ElementsAre("it has an atomic operation of block scope"));
  EXPECT_THAT(Add("device"), IsEmpty());
  Recorded = parse("define void @k(ptr %P) {\n"
                   "  fence syncscope(\"device\") seq_cst\n"
                   "  ret void\n}\n");
  EXPECT_THAT(findBody("").Suspicions,
              ElementsAre("it lacks fences of the recorded code"));
}

TEST_F(GuardsTest, SuspectsTheLackOfFencesInAssembly) {
  for (StringRef Text :
       {"membar.gl;", "fence.acq_rel.gpu;", "ld.acquire.gpu.u32 r, [p];",
        "griddepcontrol.wait;"}) {
    Recorded =
        parse(("define void @k(ptr %P) {\n  call void asm sideeffect \"" +
               Text + "\", \"~{memory}\"()\n  ret void\n}\n")
                  .str());
    EXPECT_THAT(findBody("").Suspicions,
                ElementsAre("it lacks fences of the recorded code"))
        << Text.str();
  }
  Recorded = parse("define void @k(ptr %P) {\n"
                   "  call void asm sideeffect \"membar.cta;\", \"\"()\n"
                   "  ret void\n}\n");
  EXPECT_THAT(findBody("").Suspicions,
              ElementsAre("it lacks fences of block scope of the "
                          "recorded code"));
}

TEST_F(GuardsTest, SuspectsAnotherOrder) {
  std::string Fence = "  fence syncscope(\"device\") seq_cst\n",
              Load = "  %V = load volatile i32, ptr %P\n",
              Atomic = "  %O = atomicrmw add ptr %P, i32 1 monotonic\n";
  auto Suspect = [&](StringRef Body) { return findBody(Body).Suspicions; };
  Recorded = parse("define void @k(ptr %P) {\n" + Fence + Atomic + Fence +
                   Load + "  ret void\n}\n");
  EXPECT_THAT(Suspect(Fence + Atomic + Fence + Load), IsEmpty());
  EXPECT_THAT(Suspect(Fence + Atomic + Load),
              ElementsAre("it lacks fences of the recorded code"));
  EXPECT_THAT(Suspect(Atomic + Fence + Load + Fence),
              ElementsAre("it has fewer atomic operations behind fences than "
                          "the recorded code"));
  EXPECT_THAT(Suspect(Fence + Atomic + Fence),
              ElementsAre("it lacks the volatile accesses of the recorded "
                          "code"));
}

TEST_F(GuardsTest, SuspectsAccessesOnTheOtherSideOfAFence) {
  std::string Write = "  store i32 %N, ptr %P\n",
              Fence = "  call void @llvm.nvvm.membar.gl()\n",
              Count = "  %O = atomicrmw add ptr %Q, i32 1 seq_cst\n",
              Read = "  %V = load i32, ptr %P\n  store i32 %V, ptr %R\n";
  auto Body = [](StringRef Text) {
    return ("define void @k(ptr %P, ptr %Q, ptr %R, i32 %N) {\n" + Text +
            "  ret void\n}\ndeclare void @llvm.nvvm.membar.gl()\n")
        .str();
  };
  auto Suspect = [&](StringRef Text) { return find(Body(Text)).Suspicions; };
  Recorded = parse(Body(Write + Fence + Count));
  EXPECT_THAT(Suspect(Write + Fence + Count), IsEmpty());
  EXPECT_THAT(
      Suspect(Fence + Write + Count),
      ElementsAre("it writes the memory of argument 0 before an atomic or "
                  "volatile write, without a fence between them, unlike the "
                  "recorded code"));
  Recorded = parse(Body(Count + Fence + Read + Write));
  EXPECT_THAT(Suspect(Count + Fence + Read + Write), IsEmpty());
  EXPECT_THAT(
      Suspect(Count + Read + Fence + Write),
      ElementsAre("it reads the memory of argument 0 after an atomic or "
                  "volatile read, without a fence between them, unlike the "
                  "recorded code"));
}

TEST_F(GuardsTest, FollowsBranchesToFences) {
  // The fence is on one of two ways only.
  auto Body = [](StringRef Left, StringRef Right) {
    return ("define void @k(ptr %P, ptr %Q, i1 %C) {\n"
            "  store i32 1, ptr %P\n"
            "  br i1 %C, label %a, label %b\n"
            "a:\n" +
            Left + "  br label %c\nb:\n" + Right +
            "  br label %c\n"
            "c:\n  store volatile i32 1, ptr %Q\n  ret void\n}\n")
        .str();
  };
  StringRef Fence = "  fence syncscope(\"device\") seq_cst\n",
            Load = "  %V = load volatile i32, ptr %Q\n";
  Recorded = parse(Body(Fence, Fence));
  EXPECT_THAT(find(Body(Fence, Fence)).Suspicions, IsEmpty());
  EXPECT_THAT(find(Body(Fence, (Fence + Load).str())).Suspicions, IsEmpty());
  EXPECT_THAT(find(Body((Fence + Fence).str(), Load)).Suspicions,
              ElementsAre("it writes the memory of argument 0 before an atomic "
                          "or volatile write, without a fence between them, "
                          "unlike the recorded code"));
}

TEST_F(GuardsTest, SuspectsWeakerAtomics) {
  auto Add = [&](StringRef Ordering) {
    return ("define void @k(ptr %P) {\n"
            "  %O = atomicrmw add ptr %P, i32 1 " +
            Ordering + "\n  ret void\n}\n")
        .str();
  };
  Recorded = parse(Add("acq_rel"));
  EXPECT_THAT(find(Add("acq_rel")).Suspicions, IsEmpty());
  EXPECT_THAT(find(Add("monotonic")).Suspicions,
              ElementsAre("it lacks fences of the recorded code"));
  // atomicAdd().
  EXPECT_THAT(find(Add("seq_cst")).Suspicions,
              ElementsAre("it lacks fences of the recorded code"));
}

TEST_F(GuardsTest, SuspectsOrdinaryInsteadOfAtomicAccesses) {
  auto Copy = [&](StringRef Load, StringRef Store) {
    return ("define void @k(ptr %P, ptr %Q) {\n"
            "  %V = " +
            Load + " i32, ptr %P" +
            (Load.contains("atomic") ? " monotonic, align 4\n" : "\n") + "  " +
            Store + " i32 %V, ptr %Q" +
            (Store.contains("atomic") ? " monotonic, align 4\n" : "\n") +
            "  ret void\n}\n")
        .str();
  };
  Recorded = parse(Copy("load atomic", "store atomic"));
  EXPECT_THAT(find(Copy("load atomic", "store volatile")).Suspicions,
              IsEmpty());
  EXPECT_THAT(find(Copy("load", "store atomic")).Suspicions,
              ElementsAre("it reads the memory of argument 0 by ordinary "
                          "loads, unlike the recorded code"));
  EXPECT_THAT(find(Copy("load atomic", "store")).Suspicions,
              ElementsAre("it writes the memory of argument 1 by ordinary "
                          "stores, unlike the recorded code"));
}

TEST_F(GuardsTest, SuspectsConstantsThatItWrites) {
  // A GPU may read them from a cache that does not see writes.
  auto Body = [](StringRef Load) {
    return ("define void @k(ptr %P, ptr %Q, ptr %R, i64 %N) {\n"
            "  %E = getelementptr i32, ptr %P, i64 %N\n"
            "  store i32 1, ptr %E\n" +
            Load + "  store i32 %V, ptr %Q\n  ret void\n}\n!0 = !{}\n")
        .str();
  };
  auto Suspect = [&](StringRef Load) { return find(Body(Load)).Suspicions; };
  StringRef Assembly = "  %V = call i32 asm sideeffect \"ld.global.nc.u32 $0, "
                       "[$1];\", \"=r,l\"(ptr %P)\n";
  std::string Why =
      "it writes the memory of argument 0, and reads it as constant (__ldg())";
  Recorded = parse(Body("  %V = load i32, ptr %R\n"));
  EXPECT_THAT(Suspect("  %V = load i32, ptr %R, !invariant.load !0\n"),
              IsEmpty());
  Recorded = parse(Body("  %V = load i32, ptr %P\n"));
  EXPECT_THAT(Suspect("  %V = load i32, ptr %P, !invariant.load !0\n"),
              ElementsAre(Why));
  EXPECT_THAT(Suspect(Assembly), Contains(Why));
  Recorded = parse(Body(Assembly));
  EXPECT_THAT(Suspect(Assembly), IsEmpty());
}

TEST_F(GuardsTest, SuspectsWritesToInputs) {
  // It restores them, but other kernels may read them meanwhile.
  auto Body = [](StringRef Text) {
    return ("define void @k(ptr %P, ptr %Q, ptr %R) {\n"
            "  %V = load i32, ptr %P\n  store i32 %V, ptr %Q\n" +
            Text +
            "  ret void\n}\n"
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n")
        .str();
  };
  Recorded = parse(Body(""));
  EXPECT_THAT(find(Body("")).Suspicions, IsEmpty());
  for (StringRef Text :
       {"  store i32 0, ptr %P\n",
        "  call void @llvm.memset.p0.i64(ptr %P, i8 0, i64 8, i1 false)\n"})
    EXPECT_THAT(find(Body(Text)).Suspicions,
                ElementsAre("it writes the memory of argument 0, which the "
                            "recorded code only reads"))
        << Text.str();
  // Another pointer may lead there.
  Recorded = parse(Body("  %A = load ptr, ptr %R\n  store i32 0, ptr %A\n"));
  EXPECT_THAT(find(Body("  store i32 0, ptr %P\n")).Suspicions, IsEmpty());
}

TEST_F(GuardsTest, AcceptsWhatTheRecordedKernelHas) {
  Recorded = parse("module asm \"foo\"\n"
                   "@N = internal addrspace(1) global i32 0\n");
  EXPECT_THAT(find("module asm \"foo\"\n"
                   "@N = internal addrspace(1) global i32 0\n")
                  .Refusals,
              IsEmpty());
}

/// They could not be attributed to an argument there.
TEST_F(GuardsTest, FollowsAccessesIntoFunctions) {
  StringRef Put = "define void @put(ptr %P) noinline optnone {\n"
                  "  store i32 0, ptr %P\n  ret void\n}\n";
  Recorded = parse("define void @k(ptr %P, ptr %Q) {\n"
                   "  %V = load i32, ptr %P\n  store i32 %V, ptr %Q\n"
                   "  ret void\n}\n");
  EXPECT_THAT(find(("define void @k(ptr %P, ptr %Q) {\n"
                    "  call void @put(ptr %P)\n"
                    "  %V = load i32, ptr %P\n  store i32 %V, ptr %Q\n"
                    "  ret void\n}\n" +
                    Put)
                       .str())
                  .Suspicions,
              ElementsAre("it writes the memory of argument 0, which the "
                          "recorded code only reads"));
}

TEST_F(GuardsTest, SuspectsFunctionsThatAreNotInlined) {
  StringRef Recursive = "define void @f(i32 %N) {\n"
                        "  %L = icmp eq i32 %N, 0\n"
                        "  br i1 %L, label %a, label %b\n"
                        "a:\n  ret void\nb:\n  %M = sub i32 %N, 1\n"
                        "  call void @f(i32 %M)\n  ret void\n}\n";
  EXPECT_THAT(findBody("  call void @f(i32 9)", Recursive).Suspicions,
              ElementsAre("it has a recursive function, and threads of a GPU "
                          "have small stacks"));
  EXPECT_THAT(findBody("  %F = load ptr, ptr %P\n  call void %F()").Suspicions,
              Contains("it calls a function by its address"));
}

TEST_F(GuardsTest, SuspectsRelativePointers) {
  EXPECT_THAT(
      findBody("  %Q = call ptr @llvm.load.relative.i64(ptr %P, i64 8)\n"
               "  store i32 1, ptr %Q",
               "declare ptr @llvm.load.relative.i64(ptr, i64)\n")
          .Suspicions,
      ElementsAre("it makes a pointer of other data"));
}

TEST_F(GuardsTest, SuspectsNarrowerFences) {
  auto Body = [](StringRef Text) {
    return ("define void @k(ptr %P) {\n" + Text +
            "  store i32 1, ptr %P\n  ret void\n}\n"
            "declare void @llvm.nvvm.membar.cta()\n"
            "declare void @llvm.nvvm.membar.gl()\n"
            "declare void @llvm.nvvm.membar.sys()\n"
            "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n")
        .str();
  };
  auto Suspect = [&](StringRef Text) { return find(Body(Text)).Suspicions; };
  std::string Block = "  call void @llvm.nvvm.membar.cta()\n",
              Device = "  call void @llvm.nvvm.membar.gl()\n",
              System = "  call void @llvm.nvvm.membar.sys()\n",
              Barrier = "  call void "
                        "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  Recorded = parse(Body(System));
  EXPECT_THAT(Suspect(System), IsEmpty());
  EXPECT_THAT(Suspect(Device),
              ElementsAre("it has fewer fences and atomic operations of system "
                          "scope than the recorded code"));
  Recorded = parse(Body(Block));
  EXPECT_THAT(Suspect(""), ElementsAre("it lacks fences of block scope of the "
                                       "recorded code"));
  EXPECT_THAT(Suspect(Barrier), IsEmpty());
  // The fences of a barrier for AMD GPUs.
  Recorded = parse("define void @k(ptr %P) {\n"
                   "  fence syncscope(\"workgroup\") release\n"
                   "  call void @llvm.amdgcn.s.barrier()\n"
                   "  fence syncscope(\"workgroup\") acquire\n"
                   "  ret void\n}\n"
                   "declare void @llvm.amdgcn.s.barrier()\n");
  EXPECT_THAT(Suspect(""), IsEmpty());
}

TEST_F(GuardsTest, SuspectsAccessesBeforeTheKernelBeforeHasEnded) {
  std::string Read = "  %V = load i32, ptr %P\n",
              Wait = "  call void asm sideeffect \"griddepcontrol.wait;\", "
                     "\"~{memory}\"()\n",
              Write = "  store i32 %V, ptr %Q\n";
  auto Body = [](StringRef Text) {
    return ("define void @k(ptr %P, ptr %Q) {\n" + Text + "  ret void\n}\n")
        .str();
  };
  Recorded = parse(Body(Wait + Read + Write));
  EXPECT_THAT(find(Body(Wait + Read + Write)).Suspicions, IsEmpty());
  EXPECT_THAT(find(Body(Read + Wait + Write)).Suspicions,
              ElementsAre("it accesses the memory of argument 0 before "
                          "'griddepcontrol.wait', unlike the recorded code"));
  // Without a wait, all is early.
  std::string Fence = "  fence syncscope(\"device\") seq_cst\n";
  EXPECT_THAT(find(Body(Fence + Read + Write)).Suspicions,
              ElementsAre("it accesses the memory of argument 0 before "
                          "'griddepcontrol.wait', unlike the recorded code",
                          "it accesses the memory of argument 1 before "
                          "'griddepcontrol.wait', unlike the recorded code"));
  Recorded = parse(Body(Read + Wait + Write));
  EXPECT_THAT(find(Body(Read + Wait + Write)).Suspicions, IsEmpty());
  Recorded = parse(Body(Read + Write));
  EXPECT_THAT(find(Body(Read + Wait + Write)).Suspicions,
              ElementsAre("it has the inline assembly "
                          "'griddepcontrol.wait;'"));
}

TEST_F(GuardsTest, SuspectsWhatClustersNeed) {
  auto Body = [](StringRef Text) {
    return ("@S = internal addrspace(3) global i32 undef\n"
            "define void @k(ptr %P) {\n" +
            Text +
            "  ret void\n}\n"
            "declare void @llvm.nvvm.barrier.cluster.arrive()\n"
            "declare void @llvm.nvvm.barrier.cluster.arrive.relaxed()\n"
            "declare void @llvm.nvvm.barrier.cluster.wait()\n")
        .str();
  };
  auto Suspect = [&](StringRef Text) { return find(Body(Text)).Suspicions; };
  std::string Relaxed =
                  "  call void @llvm.nvvm.barrier.cluster.arrive.relaxed()\n",
              Arrive = "  call void @llvm.nvvm.barrier.cluster.arrive()\n",
              Wait = "  call void @llvm.nvvm.barrier.cluster.wait()\n",
              Add = "  %O = atomicrmw add ptr addrspace(3) @S, i32 1 "
                    "syncscope(\"block\") monotonic\n",
              Lacks = "it lacks barriers of clusters, or their order of "
                      "memory, of the recorded code";
  Recorded = parse(Body(Arrive + Wait));
  EXPECT_THAT(Suspect(Arrive + Wait), IsEmpty());
  EXPECT_THAT(Suspect(""), ElementsAre(Lacks));
  EXPECT_THAT(Suspect(Relaxed + Wait), ElementsAre(Lacks));
  EXPECT_THAT(Suspect(Arrive + Wait + Add),
              ElementsAre("it has an atomic operation of block scope"));
  std::string InAsm = "  call void asm sideeffect "
                      "\"barrier.cluster.arrive.aligned;\", \"\"()\n";
  EXPECT_THAT(find("@S = internal addrspace(3) global i32 undef\n"
                   "define void @k(ptr %P) {\n" +
                   InAsm + Add + "  ret void\n}\n")
                  .Suspicions,
              Contains("it has an atomic operation of block scope"));
  // Without clusters, only the block sees it.
  Recorded = parse("define void @k(ptr %P) {\n  ret void\n}\n");
  EXPECT_THAT(find(("@S = internal addrspace(3) global i32 undef\n"
                    "define void @k(ptr %P) {\n" +
                    Add + "  ret void\n}\n"))
                  .Suspicions,
              IsEmpty());
}

TEST_F(GuardsTest, SuspectsOtherText) {
  auto Body = [](StringRef Name) {
    return ("@a = private unnamed_addr addrspace(4) constant [3 x i8] "
            "c\"%d\\00\"\n"
            "@b = private unnamed_addr addrspace(4) constant [3 x i8] "
            "c\"%x\\00\"\n"
            "define void @k(ptr %P) {\n"
            "  %C = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @" +
            Name +
            " to ptr), ptr null)\n  ret void\n}\n"
            "declare i32 @vprintf(ptr, ptr)\n")
        .str();
  };
  Recorded = parse(Body("a"));
  EXPECT_THAT(find(Body("a")).Suspicions, IsEmpty());
  EXPECT_THAT(find(Body("b")).Suspicions,
              ElementsAre("it prints other text than the recorded code"));
  EXPECT_THAT(findBody("").Suspicions,
              ElementsAre("it prints other text than the recorded code"));
}
