//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers placeholders in functions that were not inlined. They refer to the
// thread that currently runs on this OS thread. Such a function can wait only
// if the thread has its own stack.
//
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostSync.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

bool host::asksForThread(const CallInst &Call) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee)
    return !Call.isInlineAsm();
  return !Callee->isDeclaration() || Callee->getName() == "__assertfail";
}

void host::announceThread(CallInst &Call, Value *Block,
                          const ThreadLoops &Loops) {
  IRBuilder<> B(&Call);
  Value *Thread = loadField(B, Block, BlockThreads, B.getPtrTy());
  for (unsigned I = 0; I != 3; ++I)
    storeField(B, Loops.Tid[I], Thread, ThreadIdx + 4 * I);
  storeField(B, Loops.Linear, Thread, ThreadLinear);
}

static FunctionCallee getCurrentThread(Module &M) {
  Type *Ptr = PointerType::get(M.getContext(), 0);
  FunctionCallee Callee = M.getOrInsertFunction("__mneme_host_current", Ptr);
  auto *F = cast<Function>(Callee.getCallee());
  // Constant while a function runs: fibers stay on their OS thread.
  F->setDoesNotAccessMemory();
  F->setDoesNotThrow();
  F->setWillReturn();
  return Callee;
}

static void lowerPlaceholders(Function &F, unsigned WaveSize) {
  IRBuilder<> B(&*F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  Value *Thread = B.CreateCall(getCurrentThread(*F.getParent()), {}, "thread");
  Value *Block = loadField(B, Thread, ThreadBlock, B.getPtrTy(), "block");
  // The calling kernel is not known, so neither is its static shared memory.
  ThreadValues V = loadBlockValues(B, Block);
  loadThreadValues(B, Thread, WaveSize, V);
  replacePlaceholders(F, V);
  lowerSyncs(F, Thread);
}

PreservedAnalyses HostCallsPass::run(Module &M, ModuleAnalysisManager &) {
  unsigned WaveSize = 32;
  for (Function &F : M) {
    if (!F.hasFnAttribute(EntryAttr))
      continue;
    WaveSize = getWaveSize(F);
    StringRef Strategy = F.getFnAttribute(EntryAttr).getValueAsString();
    if (Strategy == "fiber")
      continue;
    if (Function *Callee = findSyncInCallee(F)) {
      setLoweringError(M, "a " + Strategy + " entry cannot wait in function '" +
                              Callee->getName() + "'");
      return PreservedAnalyses::all();
    }
  }
  for (Function &F : M)
    if (!F.isDeclaration() && !F.hasFnAttribute(KernelAttr) &&
        !findPlaceholders(F).empty())
      lowerPlaceholders(F, WaveSize);
  return PreservedAnalyses::none();
}
