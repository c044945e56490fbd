//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitFunctions.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/LLVMCompat.h"

using namespace llvm;
using namespace llvm::mneme;

StringRef mneme::findStubObstacle(const Function &F) {
  if (F.isVarArg())
    return "it is variadic";
  if (F.hasFnAttribute(Attribute::Naked))
    return "it is naked";
  if (F.hasFnAttribute(Attribute::PresplitCoroutine))
    return "it is a coroutine";
  if (F.isInterposable())
    return "another library may replace it";
  for (const Argument &A : F.args())
    if (A.hasInAllocaAttr() || A.hasPreallocatedAttr())
      return "it has a parameter that cannot be passed on";
  for (const Instruction &I : instructions(F)) {
    if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->isMustTailCall())
      return "it has calls that must be tail calls";
    if (isa<IndirectBrInst>(I) || isa<CallBrInst>(I))
      return "it takes addresses of labels";
  }
  return "";
}

/// Attributes of the body that the stub, which reads memory and calls the
/// runtime, does not have.
static void weakenAttributes(Function &F) {
  for (Attribute::AttrKind Kind :
       {Attribute::Memory, Attribute::NoCallback, Attribute::NoFree,
        Attribute::NoRecurse, Attribute::NoSync, Attribute::Speculatable,
        Attribute::WillReturn})
    F.removeFnAttr(Kind);
  for (Argument &A : F.args())
    for (Attribute::AttrKind Kind : {Attribute::ReadNone, Attribute::ReadOnly,
                                     Attribute::WriteOnly, CapturesAttr})
      F.removeParamAttr(A.getArgNo(), Kind);
}

/// Moves the body, with all that belongs to it.
static Function *moveBody(Function &F) {
  Module &M = *F.getParent();
  // Local, but in the stub's group: the linker keeps or removes both.
  auto *Body =
      Function::Create(F.getFunctionType(), GlobalValue::InternalLinkage,
                       F.getAddressSpace(), F.getName() + ".mneme", &M);
  Body->copyAttributesFrom(&F);
  Body->setLinkage(GlobalValue::InternalLinkage);
  Body->setVisibility(GlobalValue::DefaultVisibility);
  Body->setDSOLocal(true);
  Body->setComdat(F.getComdat());
  Body->copyMetadata(&F, 0);
  F.clearMetadata();
  Body->splice(Body->begin(), &F);
  for (auto [Old, New] : zip_equal(F.args(), Body->args())) {
    New.takeName(&Old);
    Old.replaceAllUsesWith(&New);
  }
  if (F.hasPersonalityFn())
    F.setPersonalityFn(nullptr);
  return Body;
}

static CallInst *callWithOwnArguments(IRBuilder<> &B, Function &F,
                                      Value *Callee) {
  SmallVector<Value *, 8> Args(make_pointer_range(F.args()));
  CallInst *Call = B.CreateCall(F.getFunctionType(), Callee, Args);
  Call->setCallingConv(F.getCallingConv());
  // Of the parameters: how they are passed.
  AttributeList Own = F.getAttributes();
  SmallVector<AttributeSet, 8> Params;
  for (unsigned I = 0; I != F.arg_size(); ++I)
    Params.push_back(Own.getParamAttrs(I));
  Call->setAttributes(AttributeList::get(F.getContext(), AttributeSet(),
                                         Own.getRetAttrs(), Params));
  if (F.getReturnType()->isVoidTy())
    B.CreateRetVoid();
  else
    B.CreateRet(Call);
  return Call;
}

void mneme::makeStub(Function &F, GlobalVariable &Entry,
                     ArrayRef<unsigned> Places) {
  LLVMContext &C = F.getContext();
  Function *Body = moveBody(F);
  weakenAttributes(F);
  // The body runs as compiled; whether the stub is inlined is up to the
  // callers. That of a group must not be: another object's group may be kept,
  // and no symbol of this one is left.
  F.removeFnAttr(Attribute::OptimizeNone);
  F.removeFnAttr(F.hasComdat() ? Attribute::AlwaysInline : Attribute::NoInline);
  if (F.hasComdat())
    F.addFnAttr(Attribute::NoInline);

  auto *Start = BasicBlock::Create(C, "", &F);
  auto *Ask = BasicBlock::Create(C, "mneme.ask", &F);
  auto *Jump = BasicBlock::Create(C, "mneme.jit", &F);
  auto *Own = BasicBlock::Create(C, "mneme.own", &F);
  IRBuilder<> B(Start);
  Type *Ptr = B.getPtrTy();
  SmallVector<AllocaInst *, 8> Copies;
  AllocaInst *Table = Places.empty()
                          ? nullptr
                          : B.CreateAlloca(ArrayType::get(Ptr, Places.size()));
  for (unsigned I : Places) {
    Argument *A = F.getArg(I);
    Copies.push_back(A->getPointeeInMemoryValueType()
                         ? nullptr
                         : B.CreateAlloca(A->getType()));
  }
  // The runtime writes it once it is ready.
  LoadInst *Dispatch = B.CreateLoad(Ptr, &Entry);
  Dispatch->setAtomic(AtomicOrdering::Acquire);
  Dispatch->setAlignment(Align(8));
  B.CreateCondBr(B.CreateIsNull(Dispatch), Own, Ask);

  B.SetInsertPoint(Ask);
  for (auto [I, Arg] : enumerate(Places)) {
    Argument *A = F.getArg(Arg);
    Value *Address = A;
    if (AllocaInst *Copy = Copies[I]) {
      B.CreateStore(A, Copy);
      Address = Copy;
    }
    B.CreateStore(Address, B.CreateConstInBoundsGEP2_32(
                               Table->getAllocatedType(), Table, 0, I));
  }
  CallInst *Code = B.CreateCall(
      FunctionType::get(Ptr, {Ptr, Ptr}, /*isVarArg=*/false), Dispatch,
      {&Entry, Table ? static_cast<Value *>(Table)
                     : ConstantPointerNull::get(PointerType::get(C, 0))});
  Code->setDoesNotThrow();
  B.CreateCondBr(B.CreateIsNull(Code), Own, Jump);

  B.SetInsertPoint(Jump);
  callWithOwnArguments(B, F, Code);
  B.SetInsertPoint(Own);
  callWithOwnArguments(B, F, Body);
}
