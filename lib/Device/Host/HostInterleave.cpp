//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Points at which a random schedule may stop a thread: before each access to
/// memory that other threads may see. Without them, a thread would run
/// undisturbed from one barrier to the next, and an update that is no longer
/// atomic would look as if it were.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

/// Returns true if other threads may access the memory at \p Ptr, and not only
/// read it.
static bool mayBeWrittenByOthers(const Value *Ptr) {
  const Value *Object = getUnderlyingObject(Ptr);
  if (auto *G = dyn_cast<GlobalVariable>(Object))
    return !G->isConstant();
  // An argument that a kernel takes by value.
  if (auto *A = dyn_cast<Argument>(Object))
    return !A->hasByValAttr() && !A->hasByRefAttr();
  return !isa<AllocaInst>(Object);
}

/// A race needs a write, and one that comes late is what most races need.
static constexpr unsigned ReadWeight = 1, WriteWeight = 8;

static bool isSharedAccess(const Instruction &I) {
  if (auto *L = dyn_cast<LoadInst>(&I))
    return !L->hasMetadata(LLVMContext::MD_invariant_load) &&
           mayBeWrittenByOthers(L->getPointerOperand());
  // The load before it is half of what was one atomic operation.
  if (auto *S = dyn_cast<StoreInst>(&I))
    return !S->hasMetadata(SharedAccessMD) &&
           mayBeWrittenByOthers(S->getPointerOperand());
  if (auto *A = dyn_cast<AtomicRMWInst>(&I))
    return mayBeWrittenByOthers(A->getPointerOperand());
  if (auto *A = dyn_cast<AtomicCmpXchgInst>(&I))
    return mayBeWrittenByOthers(A->getPointerOperand());
  auto *Memory = dyn_cast<AnyMemIntrinsic>(&I);
  if (!Memory)
    return false;
  auto *Copy = dyn_cast<AnyMemTransferInst>(Memory);
  return mayBeWrittenByOthers(Memory->getRawDest()) ||
         (Copy && mayBeWrittenByOthers(Copy->getRawSource()));
}

PreservedAnalyses HostInterleavePass::run(Module &M, ModuleAnalysisManager &) {
  SmallVector<Instruction *, 64> Accesses;
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (isSharedAccess(I))
        Accesses.push_back(&I);
  if (Accesses.empty())
    return PreservedAnalyses::all();
  IRBuilder<> B(M.getContext());
  FunctionCallee Preempt = M.getOrInsertFunction("__mneme_host_preempt",
                                                 B.getVoidTy(), B.getInt32Ty());
  for (Instruction *I : Accesses) {
    B.SetInsertPoint(I);
    // An ordered load may write, says LLVM.
    bool Writes = I->mayWriteToMemory() && !isa<LoadInst>(I);
    unsigned Weight = Writes ? WriteWeight : ReadWeight;
    B.CreateCall(Preempt, B.getInt32(Weight))->setDoesNotThrow();
  }
  return PreservedAnalyses::none();
}
