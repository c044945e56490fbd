//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Inlines all that can be inlined, so that a strategy sees the whole kernel in
/// one function; what stays a call is recursion and indirect calls. Then the
/// little that the strategies rely on: values in registers, arguments that are
/// not copied without need.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostSync.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

/// Is there a call that another round would inline? Simplification may have
/// found the target of an indirect one.
static bool hasInlinableCall(Module &M) {
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (Callee && Callee != &F && !Callee->isDeclaration() &&
          Callee->hasFnAttribute(Attribute::AlwaysInline) &&
          isInlineViable(*Callee).isSuccess())
        return true;
    }
  return false;
}

/// Collects the loads through \p A. \returns false if it is ever written or
/// escapes.
static bool isOnlyLoaded(Argument &A, SmallVectorImpl<LoadInst *> &Loads) {
  SmallVector<Value *, 8> Work{&A};
  SmallPtrSet<Value *, 8> Seen;
  while (!Work.empty()) {
    Value *V = Work.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    for (Use &U : V->uses()) {
      User *Usr = U.getUser();
      if (auto *L = dyn_cast<LoadInst>(Usr)) {
        if (!L->isSimple())
          return false;
        Loads.push_back(L);
      } else if (isa<GetElementPtrInst, AddrSpaceCastInst, PHINode, SelectInst>(
                     Usr)) {
        Work.push_back(Usr);
      } else if (auto *Copy = dyn_cast<MemTransferInst>(Usr)) {
        if (U.getOperandNo() != 1 || Copy->isVolatile())
          return false;
      } else if (!isa<ICmpInst>(Usr)) {
        return false;
      }
    }
  }
  return true;
}

/// A by-value argument that is only read needs no copy per thread.
static void shareReadOnlyArguments(Function &Kernel) {
  for (Argument &A : Kernel.args()) {
    if (!A.hasByValAttr())
      continue;
    SmallVector<LoadInst *, 16> Loads;
    if (!isOnlyLoaded(A, Loads))
      continue;
    Type *Ty = A.getParamByValType();
    A.removeAttr(Attribute::ByVal);
    Kernel.addParamAttr(A.getArgNo(),
                        Attribute::getWithByRefType(Kernel.getContext(), Ty));
    MDNode *Empty = MDNode::get(Kernel.getContext(), {});
    for (LoadInst *L : Loads)
      if (getUnderlyingObject(L->getPointerOperand()) == &A)
        L->setMetadata(LLVMContext::MD_invariant_load, Empty);
  }
}

PreservedAnalyses HostInlinePass::run(Module &M, ModuleAnalysisManager &MAM) {
  for (Function &F : M) {
    if (F.isDeclaration() || F.hasFnAttribute(KernelAttr))
      continue;
    F.addFnAttr(Attribute::AlwaysInline);
    F.setLinkage(GlobalValue::InternalLinkage);
  }
  // Each round can turn a call through a pointer into a direct one.
  constexpr unsigned MaxRounds = 4;
  for (unsigned Round = 0; Round != MaxRounds; ++Round) {
    ModulePassManager MPM;
    MPM.addPass(AlwaysInlinerPass(/*InsertLifetime=*/false));
    MPM.addPass(GlobalDCEPass());
    FunctionPassManager FPM;
    FPM.addPass(SROAPass(SROAOptions::PreserveCFG));
    FPM.addPass(EarlyCSEPass());
    MPM.addPass(createModuleToFunctionPassAdaptor(std::move(FPM)));
    MAM.invalidate(M, MPM.run(M, MAM));
    if (!hasInlinableCall(M))
      break;
  }
  for (Function &F : M) {
    // While the loops still show what they wait for.
    if (!F.isDeclaration())
      insertSpinYields(F);
    makeSharedAtomicsPlain(F);
  }
  for (Function *Kernel : findKernels(M))
    shareReadOnlyArguments(*Kernel);
  renumberSites(M);
  return PreservedAnalyses::none();
}
