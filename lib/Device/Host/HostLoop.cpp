//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Strategy "loop": no thread ever waits for another, so a block is a loop over
/// its threads, which the vectorizer may process several at a time.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostSync.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

namespace {
/// Requirements of a kernel's callees for its strategy.
struct CalleeNeeds {
  bool Sync = false;   ///< Some thread waits.
  bool Thread = false; ///< Some callee reads its thread's index.
};
} // namespace

static CalleeNeeds findNeeds(Function &Kernel) {
  CalleeNeeds Needs;
  for (Function *F : findReachable(Kernel))
    for (CallInst *Call : findPlaceholders(*F)) {
      Needs.Sync |= SyncCall::classof(Call);
      Needs.Thread |= F != &Kernel;
    }
  return Needs;
}

/// Makes the thread of \p Loops current, for functions that remained calls.
static void announceThread(IRBuilderBase &B, Value *Block, Value *Thread,
                           const ThreadLoops &Loops) {
  for (unsigned I = 0; I != 3; ++I)
    storeField(B, Loops.Tid[I], Thread, ThreadIdx + 4 * I);
  storeField(B, Loops.Linear, Thread, ThreadLinear);
  storeField(B, Block, Thread, ThreadBlock);
}

static bool hasAlloca(Function &F) {
  return any_of(instructions(F),
                [](Instruction &I) { return isa<AllocaInst>(I); });
}

static void buildLoop(Function &Kernel, bool NeedsThread,
                      FunctionAnalysisManager &FAM) {
  LLVMContext &C = Kernel.getContext();
  PointerType *Ptr = PointerType::get(C, 0);
  Function *Entry = createEntry(
      Kernel, FunctionType::get(Type::getVoidTy(C), {Ptr, Ptr}, false), "loop");
  Value *Block = Entry->getArg(0);
  Block->setName("block");
  Entry->getArg(1)->setName("args");
  Entry->addParamAttr(0, Attribute::NoAlias);
  Entry->addParamAttr(1, Attribute::NoAlias);

  IRBuilder<> B(BasicBlock::Create(C, "entry", Entry));
  ThreadValues V = loadBlockValues(B, Block, &Kernel);
  SmallVector<Value *, 8> Args = loadArguments(B, Kernel, Entry->getArg(1));
  Value *Thread =
      NeedsThread ? loadField(B, Block, BlockThreads, Ptr, "thread") : nullptr;
  ThreadLoops Loops = createThreadLoops(B, V);
  std::copy(Loops.Tid.begin(), Loops.Tid.end(), V.Tid.begin());
  setLane(B, Loops.Linear, getWaveSize(Kernel), V);
  if (Thread)
    announceThread(B, Block, Thread, Loops);
  CallInst *Call = callKernel(B, Kernel, Args);
  B.CreateBr(Loops.Latch);
  B.SetInsertPoint(Loops.Exit);
  B.CreateRetVoid();

  InlineFunctionInfo IFI;
  InlineResult Inlined = InlineFunction(*Call, IFI);
  if (!Inlined.isSuccess()) {
    setLoweringError(*Kernel.getParent(),
                     "cannot inline kernel '" + Kernel.getName() +
                         "': " + Inlined.getFailureReason());
    return;
  }
  replacePlaceholders(*Entry, V);
  retireKernel(Kernel);
  if (!Thread)
    for (Instruction &I : instructions(*Entry))
      if (auto *Assert = dyn_cast<CallInst>(&I);
          Assert && asksForThread(*Assert))
        host::announceThread(*Assert, Block, Loops);

  FunctionPassManager FPM;
  FPM.addPass(SROAPass(SROAOptions::PreserveCFG));
  FPM.addPass(EarlyCSEPass());
  FAM.invalidate(*Entry, FPM.run(*Entry, FAM));
  // All threads use the same local array, and callees read the thread's index
  // from the same MnemeHostThread, so iterations do depend on each other.
  if (NeedsThread || hasAlloca(*Entry))
    return;
  Loop *Threads = FAM.getResult<LoopAnalysis>(*Entry).getLoopFor(Loops.Body);
  if (Threads)
    markParallel(Loops.LatchBranch, Threads->getBlocks());
}

PreservedAnalyses HostLoopPass::run(Module &M, ModuleAnalysisManager &MAM) {
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  for (Function *Kernel : findKernels(M)) {
    CalleeNeeds Needs = findNeeds(*Kernel);
    if (Needs.Sync)
      setReason(*Kernel, "its threads synchronize");
    else
      buildLoop(*Kernel, Needs.Thread, FAM);
  }
  return PreservedAnalyses::none();
}
