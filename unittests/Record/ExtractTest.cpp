//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static std::unique_ptr<Module> parse(LLVMContext &Context, StringRef IR) {
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M = parseAssemblyString(IR, Diagnostic, Context);
  if (!M)
    Diagnostic.print("ExtractTest", errs());
  return M;
}

static std::unique_ptr<Module> extract(const Module &M, StringRef Kernel) {
  std::unique_ptr<Module> Out =
      cantFail(extractKernel(copyModule(M, M.getContext()), Kernel));
  EXPECT_FALSE(verifyModule(*Out, &errs()));
  return Out;
}

static std::string hash(StringRef IR, StringRef Kernel) {
  LLVMContext Context;
  return computeStaticHash(*extract(*parse(Context, IR), Kernel));
}

static const char *const Program = R"(
target triple = "nvptx64-nvidia-cuda"
$helper = comdat any
@used = addrspace(1) externally_initialized global i32 0, align 4
@local = internal addrspace(1) global [4 x i32] zeroinitializer
@table = internal addrspace(1) constant [1 x ptr] [ptr @indirect]
@other.var = addrspace(1) externally_initialized global i32 0
@shared = external addrspace(3) global [0 x i8]
@llvm.compiler.used = appending global [3 x ptr] [ptr addrspacecast (ptr addrspace(1) @used to ptr), ptr addrspacecast (ptr addrspace(1) @other.var to ptr), ptr @other], section "llvm.metadata"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @other.helper, ptr null }]
define ptx_kernel void @k(ptr %p) {
  call void @helper(ptr %p)
  store i32 1, ptr addrspace(1) @used
  %f = load ptr, ptr addrspace(1) @table
  call void %f()
  store i8 0, ptr addrspace(3) @shared
  ret void
}
define linkonce_odr void @helper(ptr %p) noinline comdat {
  %v = load i32, ptr addrspace(1) @local
  call void @declared()
  ret void
}
define internal void @indirect() noinline optnone {
  ret void
}
declare void @declared()
declare void @other.declared()
define ptx_kernel void @other() {
  store i32 1, ptr addrspace(1) @other.var
  call void @other.helper()
  ret void
}
define void @other.helper() {
  call void @other.declared()
  ret void
}
!some.list = !{!0, !1, !2}
!0 = !{ptr @k, !"kernel", i32 1}
!1 = !{ptr @other, !"kernel", i32 1}
!2 = !{ptr @other.helper, !"align", i32 1}
!only.other = !{!1}
)";

TEST(ExtractTest, KeepsTheClosureAndNothingElse) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, Program);
  std::unique_ptr<Module> K = extract(*M, "k");
  for (StringRef Name : {"k", "helper", "indirect", "declared"})
    EXPECT_TRUE(K->getFunction(Name)) << Name.str();
  EXPECT_EQ(K->size(), 4u);
  for (StringRef Name : {"used", "local", "table", "shared"})
    EXPECT_TRUE(K->getNamedGlobal(Name)) << Name.str();
  EXPECT_EQ(K->getNamedGlobal("llvm.global_ctors"), nullptr);
  EXPECT_EQ(K->global_size(), 5u) << "and llvm.compiler.used";

  // As they were: what the host knows keeps its name and linkage.
  EXPECT_EQ(K->getNamedGlobal("used")->getLinkage(),
            GlobalValue::ExternalLinkage);
  EXPECT_TRUE(K->getNamedGlobal("used")->isExternallyInitialized());
  EXPECT_TRUE(K->getNamedGlobal("local")->hasInternalLinkage());
  EXPECT_TRUE(K->getFunction("helper")->hasLinkOnceODRLinkage());
  EXPECT_TRUE(K->getFunction("helper")->hasComdat());
  EXPECT_TRUE(K->getFunction("helper")->hasFnAttribute(Attribute::NoInline));
  SmallVector<GlobalValue *, 4> Used;
  collectUsedGlobalVariables(*K, Used, /*CompilerUsed=*/true);
  ASSERT_EQ(Used.size(), 1u);
  EXPECT_EQ(Used[0]->getName().str(), "used");

  EXPECT_EQ(K->getNamedMetadata("some.list")->getNumOperands(), 1u);
  EXPECT_EQ(K->getNamedMetadata("only.other"), nullptr);
}

TEST(ExtractTest, RefusesWhatIsNoKernel) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, Program);
  for (StringRef Name : {"nothing", "helper", "declared", "used"})
    EXPECT_THAT_EXPECTED(
        extractKernel(copyModule(*M, Context), Name),
        FailedWithMessage(("no kernel named '" + Name + "'").str()));
}

TEST(ExtractTest, MissesFunctionsOfOtherUnits) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, Program);
  EXPECT_THAT_ERROR(
      checkComplete(*extract(*M, "k")),
      FailedWithMessage(
          "function 'declared' belongs to another translation unit"));
  M = parse(Context, R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %p) {
  %r = call i32 @vprintf(ptr %p, ptr %p)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
declare i32 @vprintf(ptr, ptr)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
)");
  EXPECT_THAT_ERROR(checkComplete(*extract(*M, "k")), Succeeded());
}

TEST(ExtractTest, HashIsOfThisKernelOnly) {
  std::string K = hash(Program, "k");
  EXPECT_EQ(K.size(), 32u);
  EXPECT_NE(K, hash(Program, "other"));
  std::string Changed = Program;
  Changed.replace(Changed.find("store i32 1, ptr addrspace(1) @other.var"), 11,
                  "store i32 2");
  EXPECT_EQ(K, hash(Changed, "k"));
  Changed = Program;
  Changed.replace(Changed.find("store i32 1, ptr addrspace(1) @used"), 11,
                  "store i32 2");
  EXPECT_NE(K, hash(Changed, "k"));
}

static std::string replaceAll(std::string Text, StringRef From, StringRef To) {
  for (size_t At = 0; (At = Text.find(From.str(), At)) != std::string::npos;
       At += To.size())
    Text.replace(At, From.size(), To.str());
  return Text;
}

TEST(ExtractTest, HashDoesNotDependOnPaths) {
  std::string IR = R"(
source_filename = "/here/x.cu"
target triple = "nvptx64-nvidia-cuda"
%struct.S = type { i32, float }
define ptx_kernel void @_ZL1kPf__intern__0123456789abcdef(ptr %p) !dbg !4 {
entry:
  %q = getelementptr %struct.S, ptr %p, i64 0, i32 1, !dbg !6
  call void asm sideeffect "exit;", ""(), !srcloc !8
  ret void, !dbg !6
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !9}
!llvm.ident = !{!7}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "x.cu", directory: "/here")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 2}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 1, column: 1, scope: !4)
!7 = !{!"clang version 22"}
!8 = !{i64 123}
!9 = !{i32 1, !"wchar_size", i32 4}
)";
  StringRef Name = "_ZL1kPf__intern__0123456789abcdef";
  std::string H = hash(IR, Name);

  std::string Elsewhere = replaceAll(IR, "/here", "/there");
  Elsewhere = replaceAll(Elsewhere, "0123456789abcdef", "fedcba98");
  Elsewhere = replaceAll(Elsewhere, "!{i64 123}", "!{i64 456}");
  Elsewhere =
      replaceAll(Elsewhere, "version 22", "version 22 (built elsewhere)");
  Elsewhere = replaceAll(Elsewhere, "%struct.S", "%struct.S.7");
  Elsewhere = replaceAll(Elsewhere, "%q", "%named");
  EXPECT_EQ(H, hash(Elsewhere, "_ZL1kPf__intern__fedcba98"));

  // Without debug info at all.
  std::string Plain = replaceAll(IR, ", !dbg !6", "");
  Plain = replaceAll(Plain, " !dbg !4", "");
  Plain = replaceAll(Plain, "!llvm.dbg.cu = !{!0}", "");
  Plain = replaceAll(Plain, "= !{!2, !3, !9}", "= !{!9}");
  EXPECT_EQ(H, hash(Plain, Name));

  // A name that only looks like one with a number made of a path.
  EXPECT_NE(hash(replaceAll(IR, "__intern__0123456789abcdef", "__intern__x"),
                 "_ZL1kPf__intern__x"),
            hash(replaceAll(IR, "__intern__0123456789abcdef", "__intern__y"),
                 "_ZL1kPf__intern__y"));
}

TEST(ExtractTest, HashSurvivesBitcode) {
  // A context with a history: other types, metadata kinds and scopes.
  LLVMContext Context, Other;
  std::unique_ptr<Module> K = extract(*parse(Context, Program), "k");
  std::string H = computeStaticHash(*K);
  Other.getMDKindID("somebody.elses");
  Other.getOrInsertSyncScopeID("agent");
  std::unique_ptr<Module> Before = parse(Other, Program);
  for (int Round = 0; Round != 3; ++Round) {
    std::string Bitcode;
    raw_string_ostream OS(Bitcode);
    WriteBitcodeToFile(*K, OS);
    Expected<std::unique_ptr<Module>> Read =
        parseBitcodeFile(MemoryBufferRef(Bitcode, "elsewhere.bc"), Other);
    ASSERT_THAT_EXPECTED(Read, Succeeded());
    EXPECT_EQ(H, computeStaticHash(**Read));
    K = std::move(*Read);
  }
}

TEST(ExtractTest, DescribesArguments) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%struct.Big = type { i32, double, [5 x i8] }
define ptx_kernel void @k(i1 zeroext %b, ptr byval(%struct.Big) align 8 %s, i8 %c, i32 %n, ptr %p, <2 x half> %h, ptr byval([4 x float]) align 16 %v) {
  ret void
}
)");
  std::vector<KernelArg> Args = describeArgs(*M, "k");
  struct {
    uint32_t Size, Offset, Kind;
    const char *Name, *Type;
  } const Want[] = {
      {1, 0, MNEME_ARG_VALUE, "b", "i1"},
      {24, 8, MNEME_ARG_AGGREGATE, "s", "%struct.Big"},
      {1, 32, MNEME_ARG_VALUE, "c", "i8"},
      {4, 36, MNEME_ARG_VALUE, "n", "i32"},
      {8, 40, MNEME_ARG_POINTER, "p", "ptr"},
      {4, 48, MNEME_ARG_VALUE, "h", "<2 x half>"},
      {16, 64, MNEME_ARG_AGGREGATE, "v", "[4 x float]"},
  };
  ASSERT_EQ(Args.size(), std::size(Want));
  for (size_t I = 0; I != Args.size(); ++I) {
    EXPECT_EQ(Args[I].Size, Want[I].Size) << I;
    EXPECT_EQ(Args[I].Offset, Want[I].Offset) << I;
    EXPECT_EQ(Args[I].Kind, Want[I].Kind) << I;
    EXPECT_EQ(Args[I].Name, Want[I].Name) << I;
    EXPECT_EQ(Args[I].Type, Want[I].Type) << I;
  }
  EXPECT_TRUE(describeArgs(*M, "nothing").empty());
}

TEST(ExtractTest, DescribesAMDGPUArguments) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, R"(
target datalayout = "e-p:64:64-p4:64:64-i64:64"
target triple = "amdgcn-amd-amdhsa"
%struct.S = type { i32, i64 }
define amdgpu_kernel void @k(ptr addrspace(1) %p.coerce, %struct.S %s.coerce, ptr addrspace(4) byref([3 x i32]) align 4 %a) {
  ret void
}
)");
  std::vector<KernelArg> Args = describeArgs(*M, "k");
  ASSERT_EQ(Args.size(), 3u);
  EXPECT_EQ(Args[0].Kind, unsigned(MNEME_ARG_POINTER));
  EXPECT_EQ(Args[1].Kind, unsigned(MNEME_ARG_AGGREGATE));
  EXPECT_EQ(Args[1].Size, 16u);
  EXPECT_EQ(Args[1].Offset, 8u);
  EXPECT_EQ(Args[2].Kind, unsigned(MNEME_ARG_AGGREGATE));
  EXPECT_EQ(Args[2].Size, 12u);
  EXPECT_EQ(Args[2].Offset, 24u);
}

TEST(ExtractTest, NamesArgumentsFromDebugInfo) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %0, i32 %1) !dbg !4 {
    #dbg_value(i32 %1, !7, !DIExpression(), !6)
  ret void, !dbg !6
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "x.cu", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 1, column: 1, scope: !4)
!7 = !DILocalVariable(name: "size", arg: 2, scope: !4, file: !1, line: 1)
)");
  std::vector<KernelArg> Args = describeArgs(*M, "k");
  ASSERT_EQ(Args.size(), 2u);
  EXPECT_EQ(Args[0].Name, "");
  EXPECT_EQ(Args[1].Name, "size");
}

// Where an image has its variables changes the code of its kernels.
TEST(ExtractTest, NotesTheVariablesOfTheImage) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@first = addrspace(4) externally_initialized constant [3 x i16] zeroinitializer, align 2
@unused = internal addrspace(4) constant i32 7
@.lit = internal addrspace(4) constant double 1.0
@global = addrspace(1) global i32 0
@shared = internal addrspace(3) global i32 0
@mine = linkonce_odr addrspace(4) externally_initialized constant i32 0, align 4
@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(4) @mine to ptr)], section "llvm.metadata"
define ptx_kernel void @k(ptr %p) {
  %v = load i32, ptr addrspace(4) @mine
  store i32 %v, ptr %p
  ret void
}
define ptx_kernel void @other(ptr %p) {
  %v = load double, ptr addrspace(4) @.lit
  store double %v, ptr %p
  ret void
}
define ptx_kernel void @none() {
  ret void
}
)");
  std::unique_ptr<Module> K = extract(*M, "k");
  EXPECT_TRUE(K->getNamedGlobal("mine"));
  EXPECT_FALSE(K->getNamedGlobal("first"));
  std::vector<ImageVariable> Variables = getImageVariables(*K);
  ASSERT_EQ(Variables.size(), 4u);
  EXPECT_EQ(Variables[0].Name, "first");
  EXPECT_EQ(Variables[0].Size, 6u);
  EXPECT_EQ(Variables[0].Alignment, 2u);
  EXPECT_EQ(Variables[0].AddressSpace, 4u);
  EXPECT_FALSE(Variables[0].IsLocal);
  EXPECT_EQ(Variables[1].Name, ".lit");
  EXPECT_EQ(Variables[1].Size, 8u);
  EXPECT_TRUE(Variables[1].IsLocal);
  EXPECT_EQ(Variables[2].Name, "global");
  EXPECT_EQ(Variables[2].AddressSpace, 1u);
  EXPECT_EQ(Variables[3].Name, "mine");
  EXPECT_TRUE(hasOtherKernels(*K));
  // It concerns the places of variables, not the code.
  std::string Hash = computeStaticHash(*K);
  for (StringRef Name : {ImageVariablesMetadata, OtherKernelsMetadata})
    K->getNamedMetadata(Name)->eraseFromParent();
  EXPECT_TRUE(getImageVariables(*K).empty());
  EXPECT_EQ(computeStaticHash(*K), Hash);
}

// Passes walk use-lists: the order of what is left stays as it was.
TEST(ExtractTest, KeepsTheOrderOfUses) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(i32 %n, ptr %p) {
  %a = add i32 %n, 1
  %b = mul i32 %n, 3
  %c = sub i32 %n, %a
  %d = xor i32 %b, %c
  store i32 %d, ptr %p
  ret void
}
define ptx_kernel void @other() {
  ret void
}
)");
  Argument *N = M->getFunction("k")->getArg(0);
  // An order that no way of building the function gives.
  N->sortUseList([](const Use &L, const Use &R) {
    return cast<Instruction>(L.getUser())->getOpcodeName() <
           StringRef(cast<Instruction>(R.getUser())->getOpcodeName());
  });
  auto Opcodes = [](Module &M) {
    std::vector<std::string> Names;
    for (User *U : M.getFunction("k")->getArg(0)->users())
      Names.push_back(cast<Instruction>(U)->getOpcodeName());
    return Names;
  };
  ASSERT_EQ(Opcodes(*M), (std::vector<std::string>{"add", "mul", "sub"}));
  EXPECT_EQ(Opcodes(*extract(*M, "k")), Opcodes(*M));
}

TEST(StaticHash, IsTheSameForAllKernelsAtOnce) {
  // Kernels with shared functions and variables, unnamed globals, debug info,
  // and lists of used globals and kernels.
  std::string IR = R"(
target triple = "nvptx64-nvidia-cuda"
%struct.S = type { i32, float }
@0 = private constant [2 x i8] c"a\00"
@1 = private constant [2 x i8] c"b\00"
@count = addrspace(1) externally_initialized global i32 0
@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @count to ptr)], section "llvm.metadata"
define internal void @shared(ptr %p) {
  %v = load i8, ptr @0
  store i8 %v, ptr %p, !tbaa !4
  ret void
}
)";
  std::vector<std::string> Names;
  for (int I = 0; I != 7; ++I) {
    Names.push_back("k" + std::to_string(I));
    std::string N = std::to_string(I);
    IR += "define ptx_kernel void @k" + N + "(ptr %p) !dbg !" +
          std::to_string(20 + I) + " {\n  call void @shared(ptr %p), !dbg !" +
          std::to_string(30 + I) +
          "\n  %f = getelementptr %struct.S, ptr %p, " + "i32 " + N +
          ", i32 1\n  store float 1.0, ptr %f, !tbaa !" +
          std::to_string(4 + I % 2) +
          (I % 3 ? "\n" : "\n  store i32 1, ptr addrspace(1) @count\n") +
          (I % 2 ? "  store ptr @1, ptr %p\n" : "") + "  ret void\n}\n";
  }
  IR += R"(
!nvvm.annotations = !{!8, !9}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!3}
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !2)
!2 = !DIFile(filename: "a.cu", directory: "")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{!6, !6, i64 0}
!5 = !{!7, !7, i64 0}
!6 = !{!"char", !10, i64 0}
!7 = !{!"float", !10, i64 0}
!8 = !{ptr @k1, !"maxntidx", i32 32}
!9 = !{ptr @k4, !"maxntidx", i32 64}
!10 = !{!"root"}
!11 = !DISubroutineType(types: null)
)";
  for (int I = 0; I != 7; ++I) {
    std::string Scope = std::to_string(20 + I);
    IR += "!" + Scope + " = distinct !DISubprogram(name: \"k\", scope: !2, " +
          "file: !2, type: !11, unit: !1, spFlags: DISPFlagDefinition)\n!" +
          std::to_string(30 + I) + " = !DILocation(line: 1, scope: !" + Scope +
          ")\n";
  }
  LLVMContext Context;
  std::unique_ptr<Module> M = parse(Context, IR);
  // As reading a payload does it.
  std::vector<std::string> Each;
  for (StringRef Name : Names) {
    LLVMContext Own;
    std::unique_ptr<Module> Copy = parse(Own, IR);
    unsigned Number = 0;
    for (GlobalVariable &G : Copy->globals())
      if (!G.hasName())
        G.setName("mneme.unnamed." + Twine(Number++));
    Each.push_back(computeStaticHash(*extract(*Copy, Name)));
  }
  for (size_t Count : {1, 2, 3, 7})
    EXPECT_EQ(cantFail(computeStaticHashes(copyModule(*M, Context),
                                           ArrayRef(Names).take_front(Count))),
              std::vector<std::string>(Each.begin(), Each.begin() + Count));
  Names.push_back("none");
  EXPECT_THAT_EXPECTED(computeStaticHashes(std::move(M), Names),
                       FailedWithMessage("no kernel named 'none'"));
}
