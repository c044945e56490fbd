//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Guards.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Intrinsics that differ between launches of the same kernel, by prefix.
static constexpr StringLiteral Clocks[] = {
    "llvm.nvvm.read.ptx.sreg.clock",  "llvm.nvvm.read.ptx.sreg.globaltimer",
    "llvm.nvvm.read.ptx.sreg.smid",   "llvm.nvvm.read.ptx.sreg.nsmid",
    "llvm.nvvm.read.ptx.sreg.warpid", "llvm.nvvm.read.ptx.sreg.gridid",
    "llvm.nvvm.read.ptx.sreg.pm",     "llvm.readcyclecounter",
    "llvm.readsteadycounter",         "llvm.amdgcn.s.memtime",
    "llvm.amdgcn.s.memrealtime",      "llvm.amdgcn.s.getreg",
};

/// Functions of the device runtime that allocate memory or launch kernels.
static constexpr StringLiteral Runtime[] = {
    "malloc",           "free",
    "cudaMalloc",       "cudaFree",
    "cudaLaunchDevice", "cudaGetParameterBuffer",
    "__cudaCDP2"};

namespace {
/// What a module has, by what the guards say about it.
struct Contents {
  std::set<std::string> Refused, Suspicious;

  explicit Contents(const Module &M);

private:
  std::set<const Constant *> Seen;

  void visit(const Instruction &I);
  void visit(const Constant &C);
  void visitCall(const CallBase &C);
};
} // namespace

static bool beginsWithOneOf(StringRef Name, ArrayRef<StringLiteral> Prefixes) {
  return any_of(Prefixes, [&](StringRef P) { return Name.starts_with(P); });
}

/// Returns true for device memory that outlives a launch.
static bool keepsState(const GlobalVariable &G) {
  unsigned AS = G.getAddressSpace();
  return (AS == 0 || AS == 1) && !G.isConstant() &&
         !G.getName().starts_with("llvm.") && G.getSection() != "llvm.metadata";
}

Contents::Contents(const Module &M) {
  if (!M.getModuleInlineAsm().empty())
    Refused.insert("assembly outside of functions");
  for (const GlobalVariable &G : M.globals()) {
    if (keepsState(G))
      Refused.insert("the variable '" + G.getName().str() +
                     "' keeps its value between launches");
    if (G.hasInitializer())
      visit(*G.getInitializer());
  }
  for (const Function &F : M) {
    if (F.isDeclaration() && !F.isIntrinsic())
      Refused.insert((beginsWithOneOf(F.getName(), Runtime)
                          ? "a call to the device runtime's '"
                          : "a call to the undefined function '") +
                     F.getName().str() + "'");
    for (const Instruction &I : instructions(F))
      visit(I);
  }
}

void Contents::visit(const Instruction &I) {
  if (const auto *Call = dyn_cast<CallBase>(&I))
    visitCall(*Call);
  if (const auto *Cast = dyn_cast<IntToPtrInst>(&I)) {
    if (isa<Constant>(Cast->getOperand(0)))
      Refused.insert("a constant address");
    else
      Suspicious.insert("it computes a pointer from an integer");
  }
  for (const Use &U : I.operands())
    if (const auto *C = dyn_cast<Constant>(U))
      visit(*C);
}

void Contents::visit(const Constant &C) {
  if (!Seen.insert(&C).second || isa<GlobalValue>(C))
    return;
  if (const auto *E = dyn_cast<ConstantExpr>(&C)) {
    // Also an offset to null.
    bool IsOffset = E->getOpcode() == Instruction::GetElementPtr &&
                    isa<ConstantPointerNull>(E->getOperand(0));
    if (E->getOpcode() == Instruction::IntToPtr || IsOffset)
      Refused.insert("a constant address");
  }
  for (const Use &U : C.operands())
    if (const auto *Part = dyn_cast<Constant>(U))
      visit(*Part);
}

void Contents::visitCall(const CallBase &C) {
  if (const auto *Asm = dyn_cast<InlineAsm>(C.getCalledOperand())) {
    Suspicious.insert("it has the inline assembly '" +
                      std::string(Asm->getAsmString()) + "'");
    return;
  }
  const Function *F = C.getCalledFunction();
  if (F && beginsWithOneOf(F->getName(), Clocks))
    Suspicious.insert("it reads '" + F->getName().str() + "'");
}

GuardFindings mneme::findGuarded(const Module &Version,
                                 const Module &Recorded) {
  Contents Here(Version), There(Recorded);
  GuardFindings Found;
  for (const std::string &R : Here.Refused)
    if (!There.Refused.count(R))
      Found.Refusals.push_back(R);
  for (const std::string &S : Here.Suspicious)
    if (!There.Suspicious.count(S))
      Found.Suspicions.push_back(S);
  return Found;
}
