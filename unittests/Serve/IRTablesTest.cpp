//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IRTables.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral Text = R"(
declare i32 @f(i32)
define i32 @sum(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x = call i32 @f(i32 %i)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret i32 %x
}
)";

namespace {
/// The tables of a module, as a client reads them.
class TablesOf {
public:
  explicit TablesOf(StringRef IR) {
    LLVMContext Context;
    SMDiagnostic Ignored;
    std::unique_ptr<Module> M = parseAssemblyString(IR, Ignored, Context);
    raw_string_ostream OS(Bytes);
    serve::writeTables(*M, OS);
    size_t End = Bytes.find('\n');
    Head = cantFail(json::parse(StringRef(Bytes).take_front(End)));
    Bytes.erase(0, End + 1);
  }

  int64_t rows(StringRef Table) {
    return *Head.getAsObject()->getObject(Table)->getInteger("rows");
  }

  std::vector<std::string> column(StringRef Table, StringRef Name) {
    const json::Object &T = *Head.getAsObject()->getObject(Table);
    std::vector<std::string> Result;
    for (const json::Value &V : *T.getArray("columns")) {
      const json::Object &C = *V.getAsObject();
      if (C.getString("name") != Name)
        continue;
      const json::Array *Texts = C.getArray("texts");
      for (int64_t I = 0; I != rows(Table); ++I) {
        int32_t N;
        std::memcpy(&N, &Bytes[*C.getInteger("offset") + 4 * I], 4);
        Result.push_back(Texts ? (*Texts)[N].getAsString()->str()
                               : std::to_string(N));
      }
    }
    return Result;
  }

private:
  json::Value Head = nullptr;
  std::string Bytes;
};
using Column = std::vector<std::string>;
} // namespace

TEST(IRTablesTest, DescribeAModule) {
  TablesOf T(Text);
  EXPECT_EQ(T.column("functions", "name"), Column({"f", "sum"}));
  EXPECT_EQ(T.column("functions", "is_declaration"), Column({"1", "0"}));
  EXPECT_EQ(T.column("functions", "first_block"), Column({"-1", "0"}));
  EXPECT_EQ(T.column("blocks", "name"), Column({"entry", "loop", "exit"}));
  EXPECT_EQ(T.column("blocks", "first_instruction"), Column({"0", "1", "6"}));
  EXPECT_EQ(T.column("blocks", "loop"), Column({"-1", "0", "-1"}));
  EXPECT_EQ(T.column("instructions", "opcode"),
            Column({"br", "phi", "call", "add", "icmp", "br", "ret"}));
  EXPECT_EQ(T.column("instructions", "callee")[2], "f");
  EXPECT_EQ(T.column("instructions", "predicate")[4], "slt");
  EXPECT_EQ(T.column("edges", "source"), Column({"0", "1", "1"}));
  EXPECT_EQ(T.column("edges", "target"), Column({"1", "1", "2"}));
  EXPECT_EQ(T.column("loops", "header"), Column({"1"}));
  // The operands of the addition: an instruction and a constant.
  int First = std::stoi(T.column("instructions", "first_operand")[3]);
  EXPECT_EQ(T.column("operands", "kind")[First], "instruction");
  EXPECT_EQ(T.column("operands", "value")[First], "1");
  EXPECT_EQ(T.column("operands", "text")[First + 1], "1");
  EXPECT_EQ(T.column("operands", "type")[First + 1], "i32");
  EXPECT_EQ(T.rows("operands"), int64_t(T.column("operands", "kind").size()));
}

TEST(IRTablesTest, DescribeAnEmptyModule) {
  TablesOf T("");
  EXPECT_EQ(T.rows("functions"), 0);
  EXPECT_EQ(T.rows("operands"), 0);
}
