//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using ::testing::HasSubstr;

static Payload makeUnit(StringRef Source, StringRef IR) {
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::string Text = ("target triple = \"nvptx64-nvidia-cuda\"\n" + IR).str();
  std::unique_ptr<Module> M = parseAssemblyString(Text, Diagnostic, Context);
  if (!M) {
    Diagnostic.print("DeviceLinkTest", errs());
    abort();
  }
  SmallVector<char, 0> Bitcode = writeExactBitcode(*M);
  Payload P;
  P.Triple = "nvptx64-nvidia-cuda";
  P.Arch = "sm_90";
  P.Source = Source.str();
  P.IsRDC = true;
  P.Bitcode.assign(Bitcode.begin(), Bitcode.end());
  P.Hash = toHexString(digest128(P.Bitcode));
  return P;
}

namespace {
struct Linked {
  LLVMContext Context;
  std::unique_ptr<Module> M;
  std::string Message;

  Linked(std::vector<Payload> Units, StringRef Kernel, size_t Unit = 0) {
    Expected<DeviceLink> Link = DeviceLink::create(std::move(Units), Context);
    if (!Link) {
      Message = toString(Link.takeError());
      return;
    }
    Expected<std::unique_ptr<Module>> Extracted = Link->extract(Unit, Kernel);
    if (!Extracted) {
      Message = toString(Extracted.takeError());
      return;
    }
    M = std::move(*Extracted);
    EXPECT_FALSE(verifyModule(*M, &errs()));
  }

  int64_t initialValue(StringRef Name) const {
    const GlobalVariable *G = M->getNamedGlobal(Name);
    if (!G || !G->hasInitializer())
      return -1;
    return cast<ConstantInt>(G->getInitializer())->getSExtValue();
  }
};
} // namespace

static const char Main[] = R"(
@counter = external addrspace(1) global i32
@cache = internal addrspace(1) global i32 1
define ptx_kernel void @k(ptr %p) {
  %v = call i32 @shared(i32 2)
  store i32 %v, ptr addrspace(1) @counter
  store i32 %v, ptr addrspace(1) @cache
  ret void
}
define ptx_kernel void @alone() { ret void }
define ptx_kernel void @lost() {
  call void @missing()
  ret void
}
declare i32 @shared(i32)
declare void @missing()
)";

static const char Library[] = R"(
@counter = addrspace(1) externally_initialized global i32 7
@cache = internal addrspace(1) global i32 2
@unused = addrspace(1) global i32 3
@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @unused to ptr), ptr @uncalled], section "llvm.metadata"
define i32 @shared(i32 %x) {
  %y = call i32 @helper(i32 %x)
  %c = load i32, ptr addrspace(1) @cache
  %z = add i32 %y, %c
  ret i32 %z
}
define internal i32 @helper(i32 %x) noinline {
  %y = call i32 @deep(i32 %x)
  ret i32 %y
}
define void @uncalled() { ret void }
declare i32 @deep(i32)
!nvvm.annotations = !{!0}
!0 = !{ptr @uncalled, !"maxntid", i32 1}
)";

// Needs the library again, for a local that is linked already.
static const char Deep[] = R"(
define i32 @deep(i32 %x) {
  %y = call i32 @back(i32 %x)
  ret i32 %y
}
declare i32 @back(i32)
)";

static const char Back[] = R"(
define i32 @back(i32 %x) { ret i32 %x }
)";

TEST(DeviceLinkTest, TakesWhatTheKernelNeeds) {
  std::vector<Payload> Units = {
      makeUnit("main.cu", Main), makeUnit("library.cu", Library),
      makeUnit("deep.cu", Deep), makeUnit("back.cu", Back)};
  Linked L(Units, "k");
  ASSERT_TRUE(L.M) << L.Message;
  for (StringRef Name : {"k", "shared", "helper", "deep", "back"}) {
    const Function *F = L.M->getFunction(Name);
    ASSERT_TRUE(F) << Name.str();
    EXPECT_FALSE(F->isDeclaration()) << Name.str();
  }
  EXPECT_TRUE(L.M->getFunction("helper")->hasInternalLinkage());
  EXPECT_EQ(L.M->size(), 5u);
  EXPECT_EQ(L.initialValue("counter"), 7);
  EXPECT_TRUE(L.M->getNamedGlobal("counter")->isExternallyInitialized());
  EXPECT_EQ(L.M->getNamedMetadata("nvvm.annotations"), nullptr);

  // Locals of one name are two variables, told apart by their units.
  auto InUnit = [&](size_t I) {
    return "cache__unit__" + Units[I].Hash.substr(0, 16);
  };
  EXPECT_EQ(L.initialValue(InUnit(0)), 1);
  EXPECT_EQ(L.initialValue(InUnit(1)), 2);
  EXPECT_TRUE(L.M->getNamedGlobal(InUnit(1))->hasInternalLinkage());
  EXPECT_EQ(L.M->global_size(), 3u);

  // And named so wherever they are asked for.
  Expected<DeviceLink> Link = DeviceLink::create(Units, L.Context);
  ASSERT_THAT_EXPECTED(Link, Succeeded());
  Expected<std::unique_ptr<Module>> Variables = Link->linkVariables();
  ASSERT_THAT_EXPECTED(Variables, Succeeded());
  for (const GlobalVariable &G : L.M->globals())
    EXPECT_TRUE((*Variables)->getNamedGlobal(G.getName())) << G.getName().str();
  EXPECT_TRUE((*Variables)->getNamedGlobal("unused"));
  for (const Function &F : **Variables)
    EXPECT_TRUE(F.isDeclaration()) << F.getName().str();
}

TEST(DeviceLinkTest, LinksEqualUnits) {
  const char *Template = R"(
@text = internal addrspace(1) constant i32 5
define weak_odr ptx_kernel void @k(ptr %p) {
  %v = load i32, ptr addrspace(1) @text
  store i32 %v, ptr %p
  ret void
}
)";
  Linked L({makeUnit("a.cu", Template), makeUnit("b.cu", Template)}, "k", 1);
  ASSERT_TRUE(L.M) << L.Message;
  LLVMContext Context;
  Expected<DeviceLink> Link = DeviceLink::create(
      {makeUnit("a.cu", Template), makeUnit("b.cu", Template)}, Context);
  ASSERT_THAT_EXPECTED(Link, Succeeded());
  Expected<std::unique_ptr<Module>> Variables = Link->linkVariables();
  ASSERT_THAT_EXPECTED(Variables, Succeeded());
  EXPECT_EQ((*Variables)->global_size(), 2u);
}

TEST(DeviceLinkTest, LinksAUnitTwiceButItsLocalsOnce) {
  Linked L({makeUnit("a.cu", "declare i32 @f()\n"
                             "define ptx_kernel void @k() {\n"
                             "  %x = call i32 @f()\n  ret void\n}"),
            makeUnit("b.cu", R"(
@state = internal addrspace(1) global i32 4
define i32 @f() {
  %x = load i32, ptr addrspace(1) @state
  %y = call i32 @g()
  ret i32 %y
}
define i32 @h() {
  %x = load i32, ptr addrspace(1) @state
  ret i32 %x
}
declare i32 @g()
)"),
            makeUnit("c.cu", "define i32 @g() {\n  %x = call i32 @h()\n"
                             "  ret i32 %x\n}\ndeclare i32 @h()")},
           "k");
  ASSERT_TRUE(L.M) << L.Message;
  EXPECT_FALSE(L.M->getFunction("h")->isDeclaration());
  EXPECT_EQ(L.M->global_size(), 1u);
  EXPECT_TRUE(L.M->getNamedGlobal("state")->hasInternalLinkage());
}

TEST(DeviceLinkTest, LeavesOthersAlone) {
  std::vector<Payload> Units = {makeUnit("main.cu", Main),
                                makeUnit("library.cu", Library)};
  Linked Alone({Units[0]}, "alone"), Among(Units, "alone");
  ASSERT_TRUE(Alone.M && Among.M);
  EXPECT_EQ(Among.M->size(), 1u);
  EXPECT_TRUE(Among.M->global_empty());
  EXPECT_EQ(computeStaticHash(*Alone.M), computeStaticHash(*Among.M));

  // What is nowhere stays undefined.
  Linked Lost(Units, "lost");
  ASSERT_TRUE(Lost.M) << Lost.Message;
  EXPECT_THAT_ERROR(
      checkComplete(*Lost.M),
      FailedWithMessage(HasSubstr("function 'missing' belongs to another")));
}

TEST(DeviceLinkTest, HashDoesNotDependOnTheOtherUnits) {
  Payload A = makeUnit("main.cu", Main), B = makeUnit("library.cu", Library),
          C = makeUnit("deep.cu", Deep), D = makeUnit("back.cu", Back);
  std::string Hash = computeStaticHash(*Linked({A, B, C, D}, "k").M);
  EXPECT_EQ(Hash, computeStaticHash(*Linked({D, C, B, A}, "k", 3).M));
  // A function that the kernel does not need.
  Payload Changed = makeUnit(
      "library.cu", std::string(Library) + "define void @more() { ret void }");
  EXPECT_EQ(Hash, computeStaticHash(*Linked({A, Changed, C, D}, "k").M));
  // One that it does.
  Payload Other = makeUnit("back.cu", "define i32 @back(i32 %x) { ret i32 1 }");
  EXPECT_NE(Hash, computeStaticHash(*Linked({A, B, C, Other}, "k").M));
}

TEST(DeviceLinkTest, StrongDefinitionsWin) {
  const char Weak[] = R"(
@v = weak addrspace(1) global i32 1
define ptx_kernel void @k() {
  call void @f()
  store i32 0, ptr addrspace(1) @v
  ret void
}
define weak void @f() noinline { ret void }
define linkonce_odr void @template() { ret void }
)";
  const char Strong[] = R"(
@v = addrspace(1) global i32 2
define void @f() {
  call void @template()
  ret void
}
define linkonce_odr void @template() { ret void }
)";
  Linked L({makeUnit("weak.cu", Weak), makeUnit("strong.cu", Strong)}, "k");
  ASSERT_TRUE(L.M) << L.Message;
  EXPECT_FALSE(L.M->getFunction("f")->hasWeakLinkage());
  EXPECT_EQ(L.initialValue("v"), 2);
  EXPECT_FALSE(L.M->getFunction("template")->isDeclaration());
}

TEST(DeviceLinkTest, NamesWhatHasNoName) {
  Payload A = makeUnit("a.cu", R"(
    @0 = internal addrspace(1) global i32 5
    @1 = internal addrspace(1) global i32 6
    declare i32 @other()
    define ptx_kernel void @k(ptr %p) {
      %v = load i32, ptr addrspace(1) @0
      %w = load i32, ptr addrspace(1) @1
      %o = call i32 @other()
      %s = add i32 %v, %o
      %t = add i32 %s, %w
      store i32 %t, ptr %p
      ret void
    })");
  Payload B = makeUnit("b.cu", R"(
    @0 = internal addrspace(1) global i32 7
    define i32 @other() {
      %v = load i32, ptr addrspace(1) @0
      ret i32 %v
    })");
  Linked L({A, B}, "k");
  ASSERT_TRUE(L.M) << L.Message;
  std::string First = "mneme.unnamed.0";
  EXPECT_EQ(L.initialValue("mneme.unnamed.1"), 6);
  EXPECT_EQ(L.initialValue(First), -1);
  std::vector<int64_t> Values;
  for (const GlobalVariable &G : L.M->globals()) {
    EXPECT_TRUE(G.hasName());
    if (G.getName().starts_with(First + "__"))
      Values.push_back(L.initialValue(G.getName()));
  }
  EXPECT_THAT(Values, ::testing::UnorderedElementsAre(5, 7));
}

TEST(DeviceLinkTest, SaysWhatDoesNotFit) {
  Payload Main = makeUnit("main.cu", "declare void @f()\n"
                                     "define ptx_kernel void @k() {\n"
                                     "  call void @f()\n  ret void\n}"),
          A = makeUnit("a.cu", "@v = addrspace(1) global i32 1\n"
                               "define void @f() { ret void }"),
          B = makeUnit("b.cu", "@v = addrspace(1) global i32 2\n"
                               "define void @f() { unreachable }");
  EXPECT_EQ(Linked({Main, A, B}, "k").Message,
            "function 'f' is defined in 'a.cu' and in 'b.cu'");
  EXPECT_EQ(Linked({Main, A, B}, "none").Message, "no kernel named 'none'");

  const char Reads[] = R"(
@v = external addrspace(1) global i32
define ptx_kernel void @k() {
  store i32 1, ptr addrspace(1) @v
  ret void
})";
  EXPECT_EQ(Linked({makeUnit("r.cu", Reads), A, B}, "k").Message,
            "variable 'v' is defined in 'a.cu' and in 'b.cu'");

  auto Flagged = [](const Payload &P, int Value) {
    return makeUnit(P.Source, (Twine("define void @") + (Value ? "f" : "g") +
                               "() { ret void }\n!llvm.module.flags = !{!0}\n"
                               "!0 = !{i32 1, !\"flag\", i32 " +
                               Twine(Value) + "}\n" +
                               (Value ? ""
                                      : "declare void @f()\n"
                                        "define ptx_kernel void @k() {\n"
                                        "  call void @f()\n  ret void\n}"))
                                  .str());
  };
  EXPECT_THAT(Linked({Flagged(Main, 0), Flagged(A, 1)}, "k").Message,
              HasSubstr("cannot link the device code of 'a.cu': "));

  Payload Elsewhere = A, Whole = A, Damaged = A;
  Elsewhere.Arch = "sm_80";
  Whole.IsRDC = false;
  Damaged.Bitcode.resize(Damaged.Bitcode.size() / 2);
  EXPECT_EQ(Linked({Main, Elsewhere}, "k").Message,
            "device code of 'a.cu' cannot be linked with that of 'main.cu'");
  EXPECT_EQ(Linked({Main, Whole}, "k").Message,
            "device code of 'a.cu' cannot be linked with that of 'main.cu'");
  EXPECT_THAT(Linked({Main, Damaged}, "k").Message, HasSubstr("'a.cu'"));
  EXPECT_EQ(Linked({}, "k").Message, "no device code to link");
}
