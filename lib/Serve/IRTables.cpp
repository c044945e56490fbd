//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IRTables.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// Texts by number.
class Texts {
public:
  int32_t add(StringRef Text) {
    auto [It, IsNew] = Numbers.try_emplace(Text, int32_t(All.size()));
    if (IsNew)
      All.push_back(json::fixUTF8(Text));
    return It->second;
  }
  int32_t add(Type *T) {
    auto [It, IsNew] = Types.try_emplace(T, 0);
    if (IsNew) {
      std::string Text;
      raw_string_ostream(Text) << *T;
      It->second = add(Text);
    }
    return It->second;
  }
  const json::Array &all() const { return All; }

private:
  json::Array All;
  StringMap<int32_t> Numbers;
  DenseMap<Type *, int32_t> Types;
};

struct Column {
  StringRef Name;
  bool HasTexts = false;
  std::vector<int32_t> Numbers = {};
  Texts TheTexts = {};

  void add(int64_t N) { Numbers.push_back(int32_t(N)); }
  template <typename T> void addText(const T &Text) {
    Numbers.push_back(TheTexts.add(Text));
  }
};

/// The tables; their columns in the order of the declarations.
struct Tables {
  Column FunctionName{"name", true}, FunctionType{"type", true},
      FunctionIsDeclaration{"is_declaration"}, FunctionArgs{"args"},
      FunctionFirstBlock{"first_block"}, FunctionBlocks{"blocks"};

  Column BlockFunction{"function"}, BlockName{"name", true},
      BlockFirst{"first_instruction"}, BlockCount{"instructions"},
      BlockLoop{"loop"}, BlockDepth{"loop_depth"};

  Column Block{"block"}, Opcode{"opcode", true}, InstType{"type", true},
      Name{"name", true}, FirstOperand{"first_operand"}, Operands{"operands"},
      Callee{"callee", true}, Predicate{"predicate", true},
      File{"file", true}, Line{"line"}, LineColumn{"column"};

  Column OperandOf{"instruction"}, OperandKind{"kind", true},
      OperandValue{"value"}, OperandType{"type", true},
      OperandText{"text", true};

  Column EdgeFrom{"source"}, EdgeTo{"target"}, EdgeIndex{"successor"};

  Column LoopFunction{"function"}, LoopHeader{"header"}, LoopParent{"parent"},
      LoopDepth{"depth"}, LoopBlocks{"blocks"};

  void addModule(const Module &M);
  void write(raw_ostream &OS);

private:
  DenseMap<const Function *, int32_t> FunctionRows;
  DenseMap<const BasicBlock *, int32_t> BlockRows;
  DenseMap<const Instruction *, int32_t> Rows;

  void addFunction(Function &F);
  void addLoop(const Loop &L, int32_t Parent, DenseMap<const Loop *, int32_t> &);
  void addInstruction(const Instruction &I);
  void addOperand(const llvm::Value &V);
};
} // namespace

/// Returns the kind of an operand, the table of its value or a text for it.
static StringRef getOperandKind(const llvm::Value &V) {
  if (isa<Instruction>(V))
    return "instruction";
  if (isa<Argument>(V))
    return "argument";
  if (isa<BasicBlock>(V))
    return "block";
  if (isa<Function>(V))
    return "function";
  if (isa<GlobalValue>(V))
    return "global";
  if (isa<Constant>(V))
    return "constant";
  if (isa<MetadataAsValue>(V))
    return "metadata";
  return "other";
}

void Tables::addOperand(const llvm::Value &V) {
  OperandKind.addText(getOperandKind(V));
  OperandType.addText(V.getType());
  int32_t Row = -1;
  std::string Text;
  if (auto *I = dyn_cast<Instruction>(&V))
    Row = Rows.lookup(I);
  else if (auto *A = dyn_cast<Argument>(&V))
    Row = A->getArgNo();
  else if (auto *B = dyn_cast<BasicBlock>(&V))
    Row = BlockRows.lookup(B);
  else if (auto *F = dyn_cast<Function>(&V))
    Row = FunctionRows.lookup(F);
  if (isa<GlobalValue>(V))
    Text = V.getName().str();
  else if (isa<ConstantInt>(V) || isa<ConstantFP>(V) || isa<UndefValue>(V) ||
           isa<ConstantPointerNull>(V)) {
    raw_string_ostream OS(Text);
    V.printAsOperand(OS, /*PrintType=*/false);
  }
  OperandValue.add(Row);
  OperandText.addText(StringRef(Text));
}

void Tables::addInstruction(const Instruction &I) {
  Block.add(BlockRows.lookup(I.getParent()));
  Opcode.addText(StringRef(I.getOpcodeName()));
  InstType.addText(I.getType());
  Name.addText(I.getName());
  FirstOperand.add(OperandOf.Numbers.size());
  Operands.add(I.getNumOperands());
  auto *Call = dyn_cast<CallBase>(&I);
  const Function *F = Call ? Call->getCalledFunction() : nullptr;
  Callee.addText(F ? F->getName() : StringRef());
  auto *Compare = dyn_cast<CmpInst>(&I);
  Predicate.addText(Compare ? CmpInst::getPredicateName(Compare->getPredicate())
                            : StringRef());
  const DILocation *Where = I.getDebugLoc();
  File.addText(Where ? Where->getFilename() : StringRef());
  Line.add(Where ? Where->getLine() : 0);
  LineColumn.add(Where ? Where->getColumn() : 0);
  for (const Use &U : I.operands()) {
    OperandOf.add(Rows.lookup(&I));
    addOperand(*U);
  }
}

void Tables::addLoop(const Loop &L, int32_t Parent,
                     DenseMap<const Loop *, int32_t> &Loops) {
  int32_t Row = LoopFunction.Numbers.size();
  Loops[&L] = Row;
  LoopFunction.add(FunctionRows.lookup(L.getHeader()->getParent()));
  LoopHeader.add(BlockRows.lookup(L.getHeader()));
  LoopParent.add(Parent);
  LoopDepth.add(L.getLoopDepth());
  LoopBlocks.add(L.getNumBlocks());
  for (const Loop *Inner : L)
    addLoop(*Inner, Row, Loops);
}

void Tables::addFunction(Function &F) {
  FunctionName.addText(F.getName());
  FunctionType.addText(F.getFunctionType());
  FunctionIsDeclaration.add(F.isDeclaration());
  FunctionArgs.add(F.arg_size());
  FunctionFirstBlock.add(F.isDeclaration() ? -1 : BlockRows.lookup(&F.front()));
  FunctionBlocks.add(F.size());
  if (F.isDeclaration())
    return;
  DominatorTree DT(F);
  LoopInfo LI(DT);
  DenseMap<const Loop *, int32_t> Loops;
  for (const Loop *L : LI)
    addLoop(*L, -1, Loops);
  for (BasicBlock &B : F) {
    BlockFunction.add(FunctionRows.lookup(&F));
    BlockName.addText(B.getName());
    BlockFirst.add(Rows.lookup(&B.front()));
    BlockCount.add(B.size());
    const Loop *L = LI.getLoopFor(&B);
    BlockLoop.add(L ? Loops.lookup(L) : -1);
    BlockDepth.add(LI.getLoopDepth(&B));
    unsigned Index = 0;
    for (const BasicBlock *To : successors(&B)) {
      EdgeFrom.add(BlockRows.lookup(&B));
      EdgeTo.add(BlockRows.lookup(To));
      EdgeIndex.add(Index++);
    }
    for (const Instruction &I : B)
      addInstruction(I);
  }
}

void Tables::addModule(const Module &M) {
  for (const Function &F : M) {
    FunctionRows[&F] = FunctionRows.size();
    for (const BasicBlock &B : F) {
      BlockRows[&B] = BlockRows.size();
      for (const Instruction &I : B)
        Rows[&I] = Rows.size();
    }
  }
  for (const Function &F : M)
    // A dominator tree takes a function that may change, and changes nothing.
    addFunction(const_cast<Function &>(F));
}

void Tables::write(raw_ostream &OS) {
  struct Table {
    StringRef Name;
    std::vector<Column *> Columns;
  };
  const Table All[] = {
      {"functions",
       {&FunctionName, &FunctionType, &FunctionIsDeclaration, &FunctionArgs,
        &FunctionFirstBlock, &FunctionBlocks}},
      {"blocks",
       {&BlockFunction, &BlockName, &BlockFirst, &BlockCount, &BlockLoop,
        &BlockDepth}},
      {"instructions",
       {&Block, &Opcode, &InstType, &Name, &FirstOperand, &Operands, &Callee,
        &Predicate, &File, &Line, &LineColumn}},
      {"operands",
       {&OperandOf, &OperandKind, &OperandValue, &OperandType, &OperandText}},
      {"edges", {&EdgeFrom, &EdgeTo, &EdgeIndex}},
      {"loops",
       {&LoopFunction, &LoopHeader, &LoopParent, &LoopDepth, &LoopBlocks}}};
  json::Object Head;
  uint64_t Offset = 0;
  for (const Table &T : All) {
    json::Array Columns;
    for (const Column *C : T.Columns) {
      json::Object O{{"name", C->Name}, {"offset", Offset}};
      if (C->HasTexts)
        O["texts"] = json::Array(C->TheTexts.all());
      Columns.push_back(std::move(O));
      Offset += C->Numbers.size() * sizeof(int32_t);
    }
    Head[T.Name] = json::Object{{"rows", T.Columns.front()->Numbers.size()},
                                {"columns", std::move(Columns)}};
  }
  OS << json::Value(std::move(Head)) << '\n';
  for (const Table &T : All)
    for (const Column *C : T.Columns)
      OS.write(reinterpret_cast<const char *>(C->Numbers.data()),
               C->Numbers.size() * sizeof(int32_t));
}

void serve::writeTables(const Module &M, raw_ostream &OS) {
  Tables T;
  T.addModule(M);
  T.write(OS);
}
