//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlaces.h"
#include "ParsePass.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Transforms/Fault.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Global writes
//===----------------------------------------------------------------------===//

namespace {
/// A store or an atomic read-modify-write operation.
struct GlobalWrite {
  Instruction *I;
  unsigned PointerOperand, ValueOperand;

  Value *pointer() const { return I->getOperand(PointerOperand); }
  Value *value() const { return I->getOperand(ValueOperand); }
  void setPointer(Value *V) const { I->setOperand(PointerOperand, V); }
  void setValue(Value *V) const { I->setOperand(ValueOperand, V); }

  /// Removes the write; an atomic operation then returns zero.
  void remove() const {
    if (!I->getType()->isVoidTy())
      I->replaceAllUsesWith(Constant::getNullValue(I->getType()));
    I->eraseFromParent();
  }
};
} // namespace

static std::optional<GlobalWrite> asGlobalWrite(Instruction &I) {
  std::optional<GlobalWrite> W;
  if (isa<StoreInst>(I))
    W = {&I, StoreInst::getPointerOperandIndex(), 0};
  else if (isa<AtomicRMWInst>(I))
    W = {&I, AtomicRMWInst::getPointerOperandIndex(), 1};
  if (W && !canBeDeviceMemory(W->pointer()))
    W.reset();
  return W;
}

/// Returns the writes in code order: first those of the kernel, then those of
/// the other functions.
static SmallVector<GlobalWrite, 16> findWrites(Function &Kernel) {
  SmallVector<GlobalWrite, 16> Writes;
  auto Add = [&](Function &F) {
    for (Instruction &I : instructions(F))
      if (std::optional<GlobalWrite> W = asGlobalWrite(I))
        Writes.push_back(*W);
  };
  Add(Kernel);
  for (Function &F : *Kernel.getParent())
    if (&F != &Kernel && !isKernel(F))
      Add(F);
  return Writes;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

static bool makeEmpty(Function &Kernel) {
  Kernel.deleteBody(); // This makes it a declaration.
  Kernel.setLinkage(GlobalValue::ExternalLinkage);
  ReturnInst::Create(Kernel.getContext(),
                     BasicBlock::Create(Kernel.getContext(), "", &Kernel));
  return true;
}

static bool dropFirstWrite(Function &Kernel) {
  SmallVector<GlobalWrite, 16> Writes = findWrites(Kernel);
  if (Writes.empty())
    return false;
  Writes.front().remove();
  return true;
}

static bool dropLastWrite(Function &Kernel) {
  SmallVector<GlobalWrite, 16> Writes = findWrites(Kernel);
  // With a single write, the fault would equal dropFirstWrite().
  if (Writes.size() < 2)
    return false;
  Writes.back().remove();
  return true;
}

static bool writeZeros(Function &Kernel) {
  bool Changed = false;
  for (const GlobalWrite &W : findWrites(Kernel)) {
    Constant *Zero = Constant::getNullValue(W.value()->getType());
    Changed |= W.value() != Zero;
    W.setValue(Zero);
  }
  return Changed;
}

static bool shiftLastWrite(Function &Kernel) {
  SmallVector<GlobalWrite, 16> Writes = findWrites(Kernel);
  if (Writes.empty())
    return false;
  const GlobalWrite &W = Writes.back();
  IRBuilder<> B(W.I);
  W.setPointer(B.CreateConstGEP1_64(W.value()->getType(), W.pointer(), 1));
  return true;
}

static bool shortenBound(Function &Kernel) {
  for (Instruction &I : instructions(Kernel)) {
    auto *Compare = dyn_cast<ICmpInst>(&I);
    if (!Compare || !Compare->isRelational() ||
        !Compare->getOperand(0)->getType()->isIntegerTy())
      continue;
    // In "greater" comparisons the bound is the left operand, as in n > i.
    bool IsLess = Compare->getPredicate() == ICmpInst::ICMP_SLT ||
                  Compare->getPredicate() == ICmpInst::ICMP_SLE ||
                  Compare->getPredicate() == ICmpInst::ICMP_ULT ||
                  Compare->getPredicate() == ICmpInst::ICMP_ULE;
    Value *Bound = Compare->getOperand(IsLess);
    IRBuilder<> B(Compare);
    Compare->setOperand(
        IsLess, B.CreateSub(Bound, ConstantInt::get(Bound->getType(), 1)));
    return true;
  }
  return false;
}

static bool skipFirstBlock(Function &Kernel) {
  BasicBlock::iterator First = moveLocalsToFront(Kernel);
  IRBuilder<> B(&Kernel.getEntryBlock(), First);
  Instruction *Then = SplitBlockAndInsertIfThen(createIsFirstBlock(B), First,
                                                /*Unreachable=*/true);
  ReturnInst::Create(Kernel.getContext(), nullptr, Then->getIterator());
  Then->eraseFromParent();
  return true;
}

static bool skipFirstThreads(Function &Kernel) {
  bool Changed = false;
  for (const GlobalWrite &W : findWrites(Kernel)) {
    // Keep writes whose results are used, e.g. by threads that wait.
    if (!W.I->use_empty())
      continue;
    IRBuilder<> B(W.I);
    Instruction *Then = SplitBlockAndInsertIfThen(
        B.CreateNot(createIsFirstThread(B)), W.I->getIterator(),
        /*Unreachable=*/false);
    W.I->moveBefore(*Then->getParent(), Then->getIterator());
    Changed = true;
  }
  return Changed;
}

static bool roundToHalf(Function &Kernel) {
  bool Changed = false;
  for (const GlobalWrite &W : findWrites(Kernel)) {
    Type *Ty = W.value()->getType();
    if (!Ty->getScalarType()->isFloatTy() && !Ty->getScalarType()->isDoubleTy())
      continue;
    IRBuilder<> B(W.I);
    Type *Half = Ty->getWithNewType(B.getHalfTy());
    W.setValue(B.CreateFPExt(B.CreateFPTrunc(W.value(), Half), Ty));
    Changed = true;
  }
  return Changed;
}

static bool swapOperands(Function &Kernel) {
  for (Instruction &I : instructions(Kernel)) {
    switch (I.getOpcode()) {
    case Instruction::Sub:
    case Instruction::FSub:
    case Instruction::UDiv:
    case Instruction::SDiv:
    case Instruction::FDiv:
      I.getOperandUse(0).swap(I.getOperandUse(1));
      return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static constexpr FaultInfo Faults[] = {
#define FAULT(Name, Function, Description) {Name, Description},
#include "llvm/Mneme/Transforms/Faults.def"
};

static constexpr bool (*Planters[])(Function &) = {
#define FAULT(Name, Function, Description) Function,
#include "llvm/Mneme/Transforms/Faults.def"
};

ArrayRef<FaultInfo> mneme::getFaults() { return Faults; }

PreservedAnalyses FaultPass::run(Module &M, ModuleAnalysisManager &) {
  bool Changed = false;
  for (Function &F : M)
    if (!F.isDeclaration() && isKernel(F))
      Changed |= Planters[Index](F);
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

void FaultPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName2PassName) {
  OS << "mneme-fault<" << Faults[Index].Name << '>';
}

static Expected<size_t> parseFault(StringRef Name) {
  for (auto [I, F] : enumerate(Faults))
    if (F.Name == Name)
      return I;
  return createStringError(
      formatv("unknown fault '{0}': expected one of {1}", Name,
              join(map_range(Faults, [](const FaultInfo &F) { return F.Name; }),
                   ", "))
          .str());
}

void mneme::registerFaultPass(PassBuilder &PB) {
  registerPass<FaultPass>(PB, "mneme-fault", parseFault);
}
