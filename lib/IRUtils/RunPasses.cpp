//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

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
