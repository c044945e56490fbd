//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Transforms/Number.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;
using namespace llvm::mneme;

void mneme::forEachNumbered(Module &M,
                            function_ref<void(Instruction &, unsigned)> Visit) {
  unsigned Number = 0;
  for (Function &F : M)
    for (BasicBlock &Block : F)
      for (Instruction &I : Block)
        if (!isa<DbgInfoIntrinsic>(I))
          Visit(I, ++Number);
}

PreservedAnalyses NumberPass::run(Module &M, ModuleAnalysisManager &) {
  StripDebugInfo(M);
  DIBuilder B(M);
  DIFile *File = B.createFile("instructions", ".");
  // As clang does for -gline-directives-only: no sections, and no change of the
  // optimization of ptxas.
  B.createCompileUnit(dwarf::DW_LANG_C, File, "mneme", /*isOptimized=*/true,
                      /*Flags=*/"", /*RV=*/0, /*SplitName=*/"",
                      DICompileUnit::DebugDirectivesOnly);
  DISubroutineType *Type = B.createSubroutineType(B.getOrCreateTypeArray({}));
  forEachNumbered(M, [&](Instruction &I, unsigned Number) {
    Function &F = *I.getFunction();
    if (!F.getSubprogram())
      F.setSubprogram(B.createFunction(File, F.getName(), F.getName(), File,
                                       Number, Type, Number, DINode::FlagZero,
                                       DISubprogram::SPFlagDefinition |
                                           DISubprogram::SPFlagOptimized));
    I.setDebugLoc(
        DILocation::get(M.getContext(), Number, 0, F.getSubprogram()));
  });
  B.finalize();
  // Without the version, the verifier drops the information.
  if (!M.getModuleFlag("Debug Info Version"))
    M.addModuleFlag(Module::Warning, "Debug Info Version",
                    DEBUG_METADATA_VERSION);
  return PreservedAnalyses::all();
}

void mneme::registerNumberPass(PassBuilder &PB) {
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &MPM,
         ArrayRef<PassBuilder::PipelineElement>) {
        if (Name != "mneme-number")
          return false;
        MPM.addPass(NumberPass());
        return true;
      });
  if (PassInstrumentationCallbacks *PIC = PB.getPassInstrumentationCallbacks())
    PIC->addClassToPassName(NumberPass::name(), "mneme-number");
}
