//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/HotSpots.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral Text = R"(
define float @twice(float %x) !dbg !3 {
  %y = fadd float %x, %x, !dbg !5
  ret float %y
}
define float @other(float %x) {
  ret float %x, !dbg !8
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "src/a.cu", directory: "/d")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "twice", scope: !1, file: !1, line: 7, type: !4, unit: !0)
!4 = !DISubroutineType(types: !6)
!5 = !DILocation(line: 8, column: 3, scope: !3, inlinedAt: !7)
!6 = !{}
!7 = distinct !DILocation(line: 20, column: 1, scope: !3)
!8 = !DILocation(line: 0, scope: !3)
)";

static std::vector<NumberedInstruction> list() {
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M = parseAssemblyString(Text, Diagnostic, Context);
  EXPECT_TRUE(M) << Diagnostic.getMessage().str();
  return listInstructions(*M);
}

TEST(HotSpots, NumbersInstructionsOfAllFunctions) {
  std::vector<NumberedInstruction> List = list();
  ASSERT_EQ(List.size(), 4u);
  EXPECT_EQ(List[0].Text, "");
  EXPECT_EQ(List[1].Text, "%y = fadd float %x, %x");
  EXPECT_EQ(List[1].Source, "a.cu:8:3 @ a.cu:20:1");
  EXPECT_EQ(List[2].Text, "ret float %y");
  EXPECT_EQ(List[2].Source, "");
  EXPECT_EQ(List[3].Function, "other");
  EXPECT_EQ(List[3].Source, "") << "line 0 is no location";
}

static PCSamples makeSamples(uint64_t Offset, unsigned Line, uint64_t Waits,
                             uint64_t Issued) {
  PCSamples S;
  S.Function = "twice";
  S.Offset = Offset;
  S.Line = Line;
  S.Stalls["wait"] = Waits;
  S.Stalls["selected"] = Issued;
  return S;
}

TEST(HotSpots, AddsSamplesOfAnInstruction) {
  PCReading R;
  R.Launches = 3;
  // Two machine instructions of one, one without a line, and one whose line
  // the IR does not have.
  R.Samples.push_back(makeSamples(16, 2, 10, 5));
  R.Samples.push_back(makeSamples(32, 1, 40, 1));
  R.Samples.push_back(makeSamples(48, 2, 20, 0));
  R.Samples.push_back(makeSamples(64, 0, 2, 0));
  R.Samples.push_back(makeSamples(80, 99, 3, 0));
  HotSpots H = findHotSpots(list(), R);
  EXPECT_EQ(H.Samples, 81u);
  ASSERT_EQ(H.Instructions.size(), 3u);
  EXPECT_EQ(H.Instructions[0].Text, "%y = fadd float %x, %x");
  EXPECT_EQ(H.Instructions[0].Samples, 41u);
  EXPECT_EQ(H.Instructions[1].Text, "ret float %y");
  EXPECT_EQ(H.Instructions[1].Stalls["wait"], 30u);
  EXPECT_EQ(H.Instructions[1].Offsets, (std::vector<uint64_t>{16, 48}));
  EXPECT_EQ(H.Instructions[2].Text, "");
  EXPECT_EQ(H.Instructions[2].Function, "twice");
  EXPECT_EQ(H.Instructions[2].Samples, 5u);

  // What a child process reports arrives complete.
  HotSpots Read;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(toJSON(H), Read, Root)) << toString(Root.getError());
  EXPECT_EQ(toJSON(Read), toJSON(H));
}

TEST(HotSpots, PrintsTheFirst) {
  PCReading R;
  R.Launches = 1;
  R.PeriodCycles = 64;
  R.Samples.push_back(makeSamples(16, 2, 1, 0));
  R.Samples.push_back(makeSamples(32, 1, 2, 1));
  std::string Out;
  raw_string_ostream OS(Out);
  print(findHotSpots(list(), R), 1, OS);
  EXPECT_EQ(Out,
            "hot             4 samples of 1 more launch, one per 64 cycles\n"
            "   75.0 %  %y = fadd float %x, %x\n"
            "           a.cu:8:3 @ a.cu:20:1  wait 66.7 %, selected 33.3 %\n");
}
