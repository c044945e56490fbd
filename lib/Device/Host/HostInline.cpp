//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Inlines all calls that can be inlined, so that a strategy sees the whole
/// kernel in one function. Recursive and indirect calls remain. Then runs the
/// few simplifications on which the strategies rely: values in registers, and
/// no needless copies of arguments.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostSync.h"
#include "IntrinsicLibrary.h"
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

/// \returns whether another round would inline a call. Simplification may have
/// found the target of an indirect call.
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

/// \returns whether the result of \p I depends on the order of threads.
static bool dependsOnOrder(const Instruction &I) {
  if (isa<AtomicCmpXchgInst>(I))
    return true;
  auto *A = dyn_cast<AtomicRMWInst>(&I);
  if (!A)
    return false;
  switch (A->getOperation()) {
  case AtomicRMWInst::Add:
  case AtomicRMWInst::Sub:
  case AtomicRMWInst::And:
  case AtomicRMWInst::Or:
  case AtomicRMWInst::Xor:
  case AtomicRMWInst::Max:
  case AtomicRMWInst::Min:
  case AtomicRMWInst::UMax:
  case AtomicRMWInst::UMin:
    return !A->use_empty();
  default:
    // The result depends on rounding, or on the last write.
    return true;
  }
}

//===----------------------------------------------------------------------===//
// Calls through pointers
//===----------------------------------------------------------------------===//

/// \returns whether a call as a function of type \p As may reach one of type
/// \p Is. PTX passes integers of at most 32 bits alike: OpenMP's device runtime
/// calls void(i16, i32) as void(i32, i32).
static bool isCallableAs(const FunctionType &Is, const FunctionType &As) {
  return Is.getReturnType() == As.getReturnType() &&
         Is.isVarArg() == As.isVarArg() &&
         equal(Is.params(), As.params(), [](Type *A, Type *B) {
           return A == B || (A->isIntegerTy() && B->isIntegerTy() &&
                             A->getIntegerBitWidth() <= 32 &&
                             B->getIntegerBitWidth() <= 32);
         });
}

/// Replaces \p Call by a switch over the handles of \p Targets.
static void expandIndirectCall(CallInst &Call, ArrayRef<Function *> Targets) {
  Module &M = *Call.getModule();
  LLVMContext &C = M.getContext();
  BasicBlock *Head = Call.getParent();
  BasicBlock *Tail = Head->splitBasicBlock(Call.getIterator(), "called");
  Function *F = Head->getParent();
  Head->getTerminator()->eraseFromParent();

  IRBuilder<> B(Head);
  Value *Handle = B.CreatePtrToInt(Call.getCalledOperand(), B.getInt64Ty());
  BasicBlock *Unknown = BasicBlock::Create(C, "unknown.function", F, Tail);
  SwitchInst *Switch = B.CreateSwitch(Handle, Unknown, Targets.size());
  PHINode *Result = nullptr;
  if (!Call.getType()->isVoidTy()) {
    B.SetInsertPoint(&Call);
    Result = B.CreatePHI(Call.getType(), Targets.size());
  }
  for (Function *Target : Targets) {
    BasicBlock *BB =
        BasicBlock::Create(C, "call." + Target->getName(), F, Tail);
    Switch->addCase(B.getInt64(getFunctionHandle(*Target)), BB);
    B.SetInsertPoint(BB);
    SmallVector<Value *, 8> Args(Call.args());
    AttributeList Attributes = Call.getAttributes();
    for (Argument &A : Target->args())
      if (Value *&V = Args[A.getArgNo()]; V->getType() != A.getType()) {
        V = B.CreateZExtOrTrunc(V, A.getType());
        Attributes = Attributes.removeParamAttributes(C, A.getArgNo());
      }
    CallInst *Direct = B.CreateCall(Target, Args);
    Direct->setAttributes(Attributes);
    Direct->setCallingConv(Target->getCallingConv());
    B.CreateBr(Tail);
    if (Result)
      Result->addIncoming(Direct, BB);
  }
  B.SetInsertPoint(Unknown);
  createUnsupported(B,
                    "a call through a pointer to no function of this program");
  B.CreateUnreachable();
  if (Result && Targets.empty())
    Call.replaceAllUsesWith(PoisonValue::get(Call.getType()));
  else if (Result)
    Call.replaceAllUsesWith(Result);
  if (Result && Targets.empty())
    Result->eraseFromParent();
  Call.eraseFromParent();
}

/// Replaces function pointers by handles, and calls through them by switches
/// over functions. \returns whether there were such calls.
static bool lowerFunctionPointers(Module &M) {
  SmallVector<Function *, 8> Targets;
  for (Function &F : M)
    if (isPointerTarget(F))
      Targets.push_back(&F);
  SmallVector<CallInst *, 8> Calls;
  for (Function &F : M) {
    if (!F.isDeclaration() && hasIndirectCall(F))
      for (Instruction &I : instructions(F))
        if (auto *Call = dyn_cast<CallInst>(&I);
            Call && !Call->isInlineAsm() &&
            !isa<Function>(Call->getCalledOperand()->stripPointerCasts()))
          Calls.push_back(Call);
  }
  for (CallInst *Call : Calls) {
    SmallVector<Function *, 8> Matching;
    for (Function *F : Targets)
      if (isCallableAs(*F->getFunctionType(), *Call->getFunctionType()))
        Matching.push_back(F);
    expandIndirectCall(*Call, Matching);
  }
  for (Function *F : Targets) {
    Constant *Handle = ConstantExpr::getIntToPtr(
        ConstantInt::get(Type::getInt64Ty(M.getContext()),
                         getFunctionHandle(*F)),
        F->getType());
    F->replaceUsesWithIf(Handle, [](Use &U) {
      auto *Call = dyn_cast<CallBase>(U.getUser());
      return !Call || !Call->isCallee(&U);
    });
    F->removeFnAttr(IndirectAttr);
    F->setLinkage(GlobalValue::InternalLinkage);
    // Functions that call each other through pointers would be inlined
    // endlessly.
    if (any_of(instructions(*F), [](Instruction &I) {
          auto *Call = dyn_cast<CallBase>(&I);
          Function *Callee = Call ? Call->getCalledFunction() : nullptr;
          return Callee && !Callee->isDeclaration();
        }))
      F->removeFnAttr(Attribute::AlwaysInline);
  }
  return !Calls.empty();
}

/// Inlines until nothing more can be. Each round can turn a call through a
/// pointer into a direct one.
static void inlineAll(Module &M, ModuleAnalysisManager &MAM) {
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
}

PreservedAnalyses HostInlinePass::run(Module &M, ModuleAnalysisManager &MAM) {
  for (Function &F : M) {
    if (F.isDeclaration() || F.hasFnAttribute(KernelAttr))
      continue;
    F.addFnAttr(Attribute::AlwaysInline);
    if (!F.hasFnAttribute(IndirectAttr))
      F.setLinkage(GlobalValue::InternalLinkage);
  }
  inlineAll(M, MAM);
  if (lowerFunctionPointers(M)) {
    MAM.invalidate(M, PreservedAnalyses::none());
    inlineAll(M, MAM);
  }
  for (Function &F : M) {
    // Must run while the loops still contain the accesses that they wait for.
    if (!F.isDeclaration())
      insertSpinYields(F);
    makeSharedAtomicsPlain(F);
  }
  for (Function *Kernel : findKernels(M)) {
    shareReadOnlyArguments(*Kernel);
    if (any_of(findReachable(*Kernel), [](Function *F) {
          return any_of(instructions(*F), dependsOnOrder);
        }))
      setIntAttr(*Kernel, OrderedAttr, 1);
  }
  renumberSites(M);
  return PreservedAnalyses::none();
}
