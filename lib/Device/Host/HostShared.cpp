//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shared memory: variables become offsets into the block's shared memory. Each
/// kernel's layout has the variables that it can reach. A block runs on one
/// host thread, so shared atomics become plain accesses. Old code exchanges
/// data between the lanes of a warp through volatile accesses to shared memory,
/// without a barrier. The lanes therefore converge before each of these.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostSync.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

/// Inserts a sync before every volatile access that may be to shared memory.
/// Such an exchange is meaningful only between lanes at the same access.
static void convergeVolatile(Function &F) {
  for (Instruction &I : instructions(F)) {
    if (!I.isVolatile())
      continue;
    const Value *Ptr = getLoadStorePointerOperand(&I);
    if (!Ptr || !mayBeShared(Ptr))
      continue;
    IRBuilder<> B(&I);
    createSync(B, MNEME_OP_CONVERGE);
  }
}

namespace {
/// The offset of each variable in its kernel's shared memory.
class SharedLayout {
  Module &M;
  SmallVector<GlobalVariable *, 8> Variables;
  DenseMap<GlobalVariable *, uint64_t> Offsets;

public:
  explicit SharedLayout(Module &M) : M(M) {
    for (GlobalVariable &G : M.globals())
      if (G.getAddressSpace() == SharedAS)
        Variables.push_back(&G);
  }

  void assign();
  void rewrite();

private:
  uint64_t place(GlobalVariable &G, uint64_t At);
};
} // namespace

/// The size of dynamic shared memory, and thereby its offset, is known at
/// launch.
static bool isDynamic(const GlobalVariable &G) { return G.isDeclaration(); }

uint64_t SharedLayout::place(GlobalVariable &G, uint64_t At) {
  // Code that was vectorized for the GPU may rely on an alignment of 16.
  Align A = std::max(Align(16), G.getAlign().valueOrOne());
  At = alignTo(At, A);
  Offsets[&G] = At;
  return At + M.getDataLayout().getTypeAllocSize(G.getValueType());
}

void SharedLayout::assign() {
  // A function that two kernels call must find its variables at the same
  // offsets. Variables of device functions therefore come first, followed by
  // the variables of single kernels.
  SmallPtrSet<const GlobalVariable *, 8> Common;
  MapVector<Function *, SmallSetVector<GlobalVariable *, 4>> Own;
  for (Function *K : findKernels(M))
    Own[K];
  for (GlobalVariable *G : Variables)
    for (User *U : G->users()) {
      auto *I = dyn_cast<Instruction>(U);
      if (!I || isDynamic(*G))
        continue;
      auto It = Own.find(I->getFunction());
      if (It == Own.end())
        Common.insert(G);
      else
        It->second.insert(G);
    }
  uint64_t CommonSize = 0;
  for (GlobalVariable *G : Variables)
    if (Common.contains(G))
      CommonSize = place(*G, CommonSize);
  for (auto &[Kernel, Mine] : Own) {
    uint64_t Size = CommonSize;
    for (GlobalVariable *G : Mine)
      // A variable of two kernels keeps its offset in the first.
      if (!Common.contains(G))
        Size = Offsets.count(G)
                   ? std::max(Size,
                              Offsets[G] + M.getDataLayout().getTypeAllocSize(
                                               G->getValueType()))
                   : place(*G, Size);
    setIntAttr(*Kernel, StaticSharedAttr, alignTo(Size, 128));
    if (Size > MNEME_HOST_SHARED_SIZE)
      setLoweringError(M, "kernel '" + Kernel->getName() + "' has " +
                              Twine(Size) +
                              " bytes of shared memory; there are " +
                              Twine(MNEME_HOST_SHARED_SIZE));
  }
}

void SharedLayout::rewrite() {
  for (GlobalVariable *G : Variables) {
    for (Use &U : make_early_inc_range(G->uses())) {
      auto *I = dyn_cast<Instruction>(U.getUser());
      if (!I)
        continue;
      auto *Phi = dyn_cast<PHINode>(I);
      IRBuilder<> B(Phi ? Phi->getIncomingBlock(U)->getTerminator() : I);
      Value *Base = createPlaceholder(B, "shared");
      Value *Offset = isDynamic(*G) ? createPlaceholder(B, "dynshared")
                                    : cast<Value>(B.getInt32(Offsets[G]));
      Value *Address =
          B.CreateInBoundsGEP(B.getInt8Ty(), Base, Offset, G->getName());
      // A phi must have the same value for all edges from one block.
      Value *Cast = B.CreateAddrSpaceCast(Address, G->getType());
      if (!Phi) {
        U.set(Cast);
        continue;
      }
      BasicBlock *Incoming = Phi->getIncomingBlock(U);
      for (unsigned N = 0; N != Phi->getNumIncomingValues(); ++N)
        if (Phi->getIncomingBlock(N) == Incoming &&
            Phi->getIncomingValue(N) == G)
          Phi->setIncomingValue(N, Cast);
    }
    G->removeDeadConstantUsers();
    if (G->use_empty())
      G->eraseFromParent();
    else
      setLoweringError(M, "shared variable '" + G->getName() +
                              "' is used by another variable's initializer");
  }
}

PreservedAnalyses HostSharedPass::run(Module &M, ModuleAnalysisManager &) {
  SmallVector<Constant *, 8> Variables;
  for (GlobalVariable &G : M.globals())
    if (G.getAddressSpace() == SharedAS)
      Variables.push_back(&G);
  if (!Variables.empty())
    for (Function &F : M)
      convergeVolatile(F);
  convertUsersOfConstantsToInstructions(Variables);
  for (Function &F : M) {
    // Must run while the loops still contain the accesses that they wait for.
    if (!F.isDeclaration())
      insertSpinYields(F);
    makeSharedAtomicsPlain(F);
  }

  SharedLayout Layout(M);
  Layout.assign();
  Layout.rewrite();
  renumberSites(M);
  return PreservedAnalyses::none();
}
