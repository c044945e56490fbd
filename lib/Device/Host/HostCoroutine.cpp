//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entries that run one thread each and return control at every sync point. A
// coroutine is switch-resumed, and its frame has only the values that live
// across sync points. A fiber has its own stack, so it can also wait in called
// functions.
//
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostSync.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

//===----------------------------------------------------------------------===//
// Spin loops
//===----------------------------------------------------------------------===//

/// \returns whether only another thread can change the value of \p I.
static bool isWaitingRead(const Instruction &I, const Loop &L) {
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return Load->isVolatile() || Load->isAtomic();
  // A compare-and-swap that expects the value it read last (as emulated atomics
  // do) makes progress; one with fixed operands tries to take a lock.
  if (auto *Swap = dyn_cast<AtomicCmpXchgInst>(&I))
    return L.isLoopInvariant(Swap->getCompareOperand()) &&
           L.isLoopInvariant(Swap->getNewValOperand());
  auto *RMW = dyn_cast<AtomicRMWInst>(&I);
  if (!RMW || !L.isLoopInvariant(RMW->getValOperand()))
    return false;
  auto *C = dyn_cast<ConstantInt>(RMW->getValOperand());
  switch (RMW->getOperation()) {
  case AtomicRMWInst::Xchg:
    return true;
  case AtomicRMWInst::Add:
  case AtomicRMWInst::Sub:
  case AtomicRMWInst::Or:
  case AtomicRMWInst::Xor:
    return C && C->isZero();
  case AtomicRMWInst::And:
    return C && C->isMinusOne();
  case AtomicRMWInst::Max:
  case AtomicRMWInst::Min:
  case AtomicRMWInst::UMax:
  case AtomicRMWInst::UMin:
    return true;
  default:
    return false; // A work counter, for example.
  }
}

/// \returns whether leaving \p L depends on a value that another thread must
/// change.
static bool isSpinLoop(const Loop &L) {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  SmallPtrSet<const Instruction *, 16> Seen;
  SmallVector<const Instruction *, 16> Work;
  auto Push = [&](const Value *V) {
    auto *I = dyn_cast<Instruction>(V);
    if (I && L.contains(I) && Seen.insert(I).second)
      Work.push_back(I);
  };
  for (BasicBlock *BB : Exiting)
    for (const Value *Op : BB->getTerminator()->operands())
      if (!isa<BasicBlock>(Op))
        Push(Op);
  while (!Work.empty()) {
    const Instruction *I = Work.pop_back_val();
    if (isWaitingRead(*I, L))
      return true;
    // Addresses and loop counters are no conditions: only follow computations.
    if (I->mayReadOrWriteMemory() && !isa<AtomicCmpXchgInst>(I))
      continue;
    for (const Value *Op : I->operands())
      Push(Op);
  }
  return false;
}

static bool endsInYield(BasicBlock &BB) {
  auto *Call = dyn_cast_or_null<CallInst>(BB.getTerminator()->getPrevNode());
  return Call && SyncCall::classof(Call) &&
         SyncCall(Call).getOp() == MNEME_OP_NONE;
}

bool host::insertSpinYields(Function &F) {
  DominatorTree DT(F);
  LoopInfo LI(DT);
  SmallSetVector<BasicBlock *, 4> Latches;
  for (const Loop *L : LI.getLoopsInPreorder()) {
    if (!isSpinLoop(*L))
      continue;
    SmallVector<BasicBlock *, 2> Blocks;
    L->getLoopLatches(Blocks);
    for (BasicBlock *BB : Blocks)
      if (!endsInYield(*BB))
        Latches.insert(BB);
  }
  for (BasicBlock *BB : Latches) {
    IRBuilder<> B(BB->getTerminator());
    createSync(B, MNEME_OP_NONE);
  }
  return !Latches.empty();
}

Function *host::findSyncInCallee(Function &Kernel) {
  for (Function *F : findReachable(Kernel))
    if (F != &Kernel && !findSyncs(*F).empty())
      return F;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Entries of one thread
//===----------------------------------------------------------------------===//

/// Stores the operation that the thread waits for in its MnemeHostThread.
static void storeSync(IRBuilderBase &B, const SyncCall &S, Value *Thread) {
  unsigned Op = S.getOp();
  storeField(B, B.getInt32(Op), Thread, ThreadOp);
  if (Op == MNEME_OP_NONE || Op == MNEME_OP_PREEMPT)
    return;
  storeField(B, S.getMask(), Thread, ThreadMask);
  storeField(B, S.getB(), Thread, ThreadB);
  if (Op == MNEME_OP_BARRIER)
    return;
  storeField(B, B.getInt32(S.getMode()), Thread, ThreadMode);
  storeField(B, S.getValue(), Thread, ThreadValue);
  storeField(B, S.getC(), Thread, ThreadC);
  storeField(B, B.getInt32(S.getSite()), Thread, ThreadSite);
}

/// Inlines the call of the kernel and replaces its placeholders, except sync
/// and sync2.
static bool inlineKernel(CallInst *Call, const ThreadValues &V) {
  Function &Entry = *Call->getFunction();
  InlineFunctionInfo IFI;
  if (!InlineFunction(*Call, IFI).isSuccess())
    return false;
  replacePlaceholders(Entry, V);
  return true;
}

namespace {
/// Builds one coroutine entry.
class CoroutineBuilder {
  Function &Kernel;
  LLVMContext &C;
  IRBuilder<> B;
  Function *Entry = nullptr;
  Value *Thread = nullptr;
  BasicBlock *Suspend = nullptr; ///< Returns to the scheduler.
  BasicBlock *Cleanup = nullptr;

public:
  explicit CoroutineBuilder(Function &Kernel)
      : Kernel(Kernel), C(Kernel.getContext()), B(C) {}

  bool build();

private:
  /// Suspends at \p B's position, which ends its block. Execution continues at
  /// \p Resume.
  void emitSuspend(BasicBlock *Resume, bool Final);
  void lowerSync(CallInst *Call);
};
} // namespace

void CoroutineBuilder::emitSuspend(BasicBlock *Resume, bool Final) {
  Value *State = B.CreateIntrinsic(
      Intrinsic::coro_suspend, {},
      {ConstantTokenNone::get(C), Final ? B.getTrue() : B.getFalse()});
  SwitchInst *Switch = B.CreateSwitch(State, Suspend, 2);
  Switch->addCase(B.getInt8(0), Resume);
  Switch->addCase(B.getInt8(1), Cleanup);
}

void CoroutineBuilder::lowerSync(CallInst *Call) {
  SyncCall Sync(Call);
  B.SetInsertPoint(Call);
  storeSync(B, Sync, Thread);
  BasicBlock *Before = Call->getParent();
  BasicBlock *After = SplitBlock(Before, Call);
  Before->getTerminator()->eraseFromParent();
  B.SetInsertPoint(Before);
  emitSuspend(After, /*Final=*/false);
  B.SetInsertPoint(Call);
  if (!Call->use_empty())
    Call->replaceAllUsesWith(
        loadField(B, Thread, ThreadResult, B.getInt64Ty(), "", false));
  Call->eraseFromParent();
}

bool CoroutineBuilder::build() {
  Module &M = *Kernel.getParent();
  Type *Ptr = B.getPtrTy();
  Entry = createEntry(Kernel, FunctionType::get(Ptr, {Ptr, Ptr}, false),
                      "coroutine");
  Entry->setPresplitCoroutine();
  Entry->setDoesNotThrow();
  Thread = Entry->getArg(0);
  Thread->setName("thread");
  Entry->getArg(1)->setName("args");

  B.SetInsertPoint(BasicBlock::Create(C, "entry", Entry));
  Constant *Null = ConstantPointerNull::get(PointerType::get(C, 0));
  // Frames are aligned to 64 bytes, for whole vectors.
  Value *Id = B.CreateIntrinsic(Intrinsic::coro_id, {},
                                {B.getInt32(64), Null, Null, Null});
  Value *Size = B.CreateIntrinsic(Intrinsic::coro_size, {B.getInt64Ty()}, {});
  Value *Memory = B.CreateCall(
      M.getOrInsertFunction("__mneme_host_frame", Ptr, Ptr, B.getInt64Ty()),
      {Thread, Size});
  Value *Handle = B.CreateIntrinsic(Intrinsic::coro_begin, {}, {Id, Memory});
  Value *Block = loadField(B, Thread, ThreadBlock, Ptr, "block");
  ThreadValues V = loadBlockValues(B, Block, &Kernel);
  loadThreadValues(B, Thread, getWaveSize(Kernel), V);
  CallInst *Call =
      callKernel(B, Kernel, loadArguments(B, Kernel, Entry->getArg(1)));

  storeField(B, B.getInt32(MNEME_OP_EXIT), Thread, ThreadOp);
  Suspend = BasicBlock::Create(C, "suspend", Entry);
  Cleanup = BasicBlock::Create(C, "cleanup", Entry);
  BasicBlock *Dead = BasicBlock::Create(C, "resumed.after.exit", Entry);
  emitSuspend(Dead, /*Final=*/true);
  B.SetInsertPoint(Dead);
  B.CreateUnreachable();
  // Blocks are abandoned and never cleaned up, but coroutines require the path.
  B.SetInsertPoint(Cleanup);
  B.CreateIntrinsic(Intrinsic::coro_free, {}, {Id, Handle});
  B.CreateBr(Suspend);
  B.SetInsertPoint(Suspend);
  B.CreateIntrinsic(Intrinsic::coro_end, {},
                    {Handle, B.getFalse(), ConstantTokenNone::get(C)});
  B.CreateRet(Handle);

  if (!inlineKernel(Call, V)) {
    Entry->eraseFromParent();
    return false;
  }
  for (CallInst *Placeholder : findPlaceholders(*Entry)) {
    if (SyncCall::classof(Placeholder)) {
      lowerSync(Placeholder);
      continue;
    }
    // sync2 is the second result that the last sync stored in the thread.
    B.SetInsertPoint(Placeholder);
    Placeholder->replaceAllUsesWith(
        loadField(B, Thread, ThreadResult2, B.getInt64Ty(), "", false));
    Placeholder->eraseFromParent();
  }
  return true;
}

/// \returns why \p Kernel cannot be a coroutine, or an empty string.
static std::string whyNotCoroutine(Function &Kernel) {
  if (Function *F = findSyncInCallee(Kernel))
    return ("synchronization in function '" + F->getName() +
            "', which is not inlined")
        .str();
  for (Instruction &I : instructions(Kernel))
    if (auto *A = dyn_cast<AllocaInst>(&I); A && !A->isStaticAlloca())
      return "local variable of variable size";
  return "";
}

PreservedAnalyses HostCoroutinePass::run(Module &M, ModuleAnalysisManager &) {
  bool Changed = false;
  for (Function *Kernel : findKernels(M)) {
    Changed = true;
    std::string Why = whyNotCoroutine(*Kernel);
    if (Why.empty() && !CoroutineBuilder(*Kernel).build())
      Why = "kernel cannot be inlined";
    if (Why.empty())
      retireKernel(*Kernel);
    else
      setReason(*Kernel, "no coroutine: " + Why);
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

static void lowerSyncToCall(CallInst *Call) {
  Module &M = *Call->getModule();
  IRBuilder<> B(Call);
  FunctionCallee Sync =
      M.getOrInsertFunction("__mneme_host_sync", Call->getFunctionType());
  SmallVector<Value *, 8> Args(Call->args());
  CallInst *New = B.CreateCall(Sync, Args);
  New->setDoesNotThrow();
  Call->replaceAllUsesWith(New);
  Call->eraseFromParent();
}

void host::lowerSyncs(Function &F, Value *Thread) {
  for (CallInst *Placeholder : findPlaceholders(F)) {
    if (SyncCall::classof(Placeholder)) {
      lowerSyncToCall(Placeholder);
      continue;
    }
    IRBuilder<> B(Placeholder);
    Placeholder->replaceAllUsesWith(
        loadField(B, Thread, ThreadResult2, B.getInt64Ty(), "", false));
    Placeholder->eraseFromParent();
  }
}

PreservedAnalyses HostFiberPass::run(Module &M, ModuleAnalysisManager &) {
  bool Changed = false;
  for (Function *Kernel : findKernels(M)) {
    Changed = true;
    IRBuilder<> B(M.getContext());
    Type *Ptr = B.getPtrTy();
    Function *Entry = createEntry(
        *Kernel, FunctionType::get(B.getVoidTy(), {Ptr, Ptr}, false), "fiber");
    Value *Thread = Entry->getArg(0);
    Thread->setName("thread");
    Entry->getArg(1)->setName("args");
    B.SetInsertPoint(BasicBlock::Create(M.getContext(), "entry", Entry));
    Value *Block = loadField(B, Thread, ThreadBlock, Ptr, "block");
    ThreadValues V = loadBlockValues(B, Block, Kernel);
    loadThreadValues(B, Thread, getWaveSize(*Kernel), V);
    CallInst *Call =
        callKernel(B, *Kernel, loadArguments(B, *Kernel, Entry->getArg(1)));
    B.CreateRetVoid();
    // If it remains a call, HostCalls passes it its thread.
    inlineKernel(Call, V);
    lowerSyncs(*Entry, Thread);
    retireKernel(*Kernel);
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
