//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file determines from the code whether a launch reads memory that it
// writes. If not, launches can be repeated without restoring memory. Comparing
// two runs would not suffice: equal results do not imply equal work, for
// example in a kernel that relaxes distances. Also, a kernel that reads, say,
// an index that it wrote may access memory outside of its buffers in the second
// launch.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace llvm::mneme;

/// Infers attributes for the use of arguments. \p M must not be used for
/// anything else afterwards.
static void inferAttributes(Module &M) {
  // LLVM does not analyze definitions that may be replaced.
  for (Function &F : M)
    if (!F.isDeclaration()) {
      F.setComdat(nullptr);
      F.setLinkage(GlobalValue::ExternalLinkage);
    }
  runPasses(M, "function(sroa,early-cse)");
  castPointersDirectly(M);
  runPasses(M, "cgscc(function-attrs)");
}

static bool holdsPointer(const Type *T) {
  return T->isPtrOrPtrVectorTy() || any_of(T->subtypes(), holdsPointer);
}

/// Returns true if \p T is a pointer to memory that no kernel writes, such as
/// the block size of an AMD kernel.
static bool pointsToConstants(const Type *T) {
  constexpr unsigned ConstantAddressSpace = 4;
  return T->isPointerTy() &&
         T->getPointerAddressSpace() == ConstantAddressSpace;
}

/// Returns true if \p I may yield a pointer that is not based on an argument or
/// a variable.
static bool makesPointer(const Instruction &I) {
  if (auto *Call = dyn_cast<CallBase>(&I))
    return !Call->getCalledFunction() ||
           (Call->getCalledFunction()->isDeclaration() &&
            holdsPointer(I.getType()) && !pointsToConstants(I.getType()));
  if (isa<LoadInst>(I) && holdsPointer(I.getType()))
    return true;
  return isa<IntToPtrInst>(I) || any_of(I.operands(), [](const Use &U) {
           auto *C = dyn_cast<ConstantExpr>(U);
           return C && C->getOpcode() == Instruction::IntToPtr;
         });
}

/// Like makesPointer(), for \p F and all functions that it calls.
static bool makesPointers(const Function &F) {
  SmallVector<const Function *> Work = {&F};
  DenseSet<const Function *> Seen = {&F};
  while (!Work.empty())
    for (const Instruction &I : instructions(Work.pop_back_val())) {
      if (makesPointer(I))
        return true;
      auto *Call = dyn_cast<CallBase>(&I);
      if (Call && Seen.insert(Call->getCalledFunction()).second)
        Work.push_back(Call->getCalledFunction());
    }
  return false;
}

bool ReplayPlan::canReadWhatItWrites() const {
  if (!hasIR())
    return true;
  LLVMContext Context;
  std::unique_ptr<Module> Copy = cloneModule(Context);
  inferAttributes(*Copy);
  const Function &F = *Copy->getFunction(Kernel->KernelName);
  ModRefInfo Others =
      F.getMemoryEffects().getWithoutLoc(IRMemLocation::ArgMem).getModRef();
  if (isModSet(Others))
    return true;
  if (isRefSet(Others) && makesPointers(F))
    return true;
  DenseSet<size_t> Read, Written;
  for (auto [I, Bytes] : enumerate(State->args())) {
    if (Kernel->Args[I].Kind != MNEME_ARG_POINTER)
      continue;
    const Argument &A = *F.getArg(I);
    if (A.hasAttribute(Attribute::ReadNone))
      continue;
    bool OnlyReads = A.hasAttribute(Attribute::ReadOnly);
    if (!OnlyReads && !A.hasAttribute(Attribute::WriteOnly))
      return true;
    std::optional<size_t> Region =
        State->findRegionOf(support::endian::read64le(Bytes.data()));
    if (!Region)
      return true;
    (OnlyReads ? Read : Written).insert(*Region);
  }
  return any_of(Written, [&](size_t Region) {
    bool IsVariable = State->regions()[Region].Info.IsGlobal;
    return Read.contains(Region) || (IsVariable && isRefSet(Others));
  });
}
