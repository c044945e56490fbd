//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

void mneme::runPasses(Module &M, StringRef Passes) {
  runPasses(M, nullptr, [&](PassBuilder &PB, ModulePassManager &MPM) {
    cantFail(PB.parsePassPipeline(MPM, Passes));
  });
}

void mneme::runPasses(
    Module &M, TargetMachine *TM,
    function_ref<void(PassBuilder &, ModulePassManager &)> Add) {
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB(TM);
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  ModulePassManager MPM;
  Add(PB, MPM);
  MPM.run(M, MAM);
}

void mneme::castPointersDirectly(Module &M) {
  const DataLayout &DL = M.getDataLayout();
  // A conversion to a number counts as a use in any way.
  SmallVector<WeakTrackingVH, 16> Numbers;
  for (Function &F : M)
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      auto *ToPointer = dyn_cast<IntToPtrInst>(&I);
      auto *ToNumber =
          ToPointer ? dyn_cast<PtrToIntOperator>(ToPointer->getOperand(0))
                    : nullptr;
      if (!ToNumber)
        continue;
      Value *Pointer = ToNumber->getPointerOperand();
      TypeSize Bits = DL.getTypeSizeInBits(Pointer->getType());
      if (Bits != DL.getTypeSizeInBits(ToNumber->getType()) ||
          Bits != DL.getTypeSizeInBits(ToPointer->getType()))
        continue;
      Numbers.push_back(ToNumber);
      IRBuilder<> B(ToPointer);
      ToPointer->replaceAllUsesWith(
          B.CreateAddrSpaceCast(Pointer, ToPointer->getType()));
      ToPointer->eraseFromParent();
    }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(Numbers);
}
