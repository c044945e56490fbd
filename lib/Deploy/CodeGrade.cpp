//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeGrade.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Record/Payload.h"

using namespace llvm;
using namespace llvm::mneme;

/// The pragmas for loops that promise nothing. Those for parallel accesses have
/// metadata of other names, and those for vectors also permit the order of
/// floating-point additions to change.
static constexpr StringRef LoopHints[] = {"llvm.loop.unroll"};

/// Launch bounds are guarded by the size of the block.
static constexpr StringLiteral FunctionHints[] = {
    "nvvm.maxntid", "nvvm.minctasm", "nvvm.maxnreg",
    "amdgpu-flat-work-group-size", "amdgpu-waves-per-eu"};

static void dropHints(Instruction &I) {
  MDNode *Loop = I.getMetadata(LLVMContext::MD_loop);
  if (!Loop)
    return;
  MDNode *Rest =
      makePostTransformationMetadata(I.getContext(), Loop, LoopHints, {});
  // The first operand is the node itself.
  I.setMetadata(LLVMContext::MD_loop,
                Rest->getNumOperands() > 1 ? Rest : nullptr);
}

static void dropHints(Module &M) {
  for (Function &F : M) {
    for (Attribute::AttrKind Kind :
         {Attribute::AlwaysInline, Attribute::NoInline, Attribute::InlineHint})
      F.removeFnAttr(Kind);
    for (StringRef Name : FunctionHints)
      F.removeFnAttr(Name);
    for (Instruction &I : instructions(F))
      dropHints(I);
  }
}

bool mneme::differInHintsOnly(Module &A, Module &B) {
  dropHints(A);
  dropHints(B);
  return computeStaticHash(A) == computeStaticHash(B);
}

static bool hasPointer(const Type *T) {
  return T->isPtrOrPtrVectorTy() || any_of(T->subtypes(), hasPointer);
}

/// Returns true for memory of the launch itself, and for constants.
static bool isPrivate(const Value &Pointer) {
  const Value *Object = getUnderlyingObject(&Pointer, /*MaxLookup=*/0);
  if (const auto *A = dyn_cast<Argument>(Object))
    return A->getPointeeInMemoryValueType();
  const auto *G = dyn_cast<GlobalVariable>(Object);
  return isa<AllocaInst>(Object) || (G && G->isConstant());
}

bool mneme::loadsPointers(Module &M, StringRef Kernel) {
  for (Function &F : M)
    if (!F.isDeclaration() && F.getName() != Kernel)
      F.setLinkage(GlobalValue::InternalLinkage);
  // Before, most pointers are loaded from local variables.
  runPasses(M, "cgscc(inline),function(sroa,early-cse,"
               "instcombine<no-verify-fixpoint>),globaldce");
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (const auto *Load = dyn_cast<LoadInst>(&I))
        if (hasPointer(Load->getType()) &&
            !isPrivate(*Load->getPointerOperand()))
          return true;
  return false;
}
