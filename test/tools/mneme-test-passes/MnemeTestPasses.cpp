//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that go wrong, for tests of what must survive them. Some harm the
// compiler; some the functions that a host launches, and nothing else.
//
//===----------------------------------------------------------------------===//

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/ErrorHandling.h"
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

using namespace llvm;

//===----------------------------------------------------------------------===//
// The compiler
//===----------------------------------------------------------------------===//

static void crash(Module &) { std::raise(SIGSEGV); }

static void hang(Module &) {
  while (true)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// As fast as memory can be had.
static void eatMemory(Module &) {
  constexpr size_t Bytes = size_t(1) << 24;
  std::vector<std::unique_ptr<char[]>> All;
  while (true) {
    All.emplace_back(new char[Bytes]);
    // What counts is what is asked for: to touch it all takes time.
    *static_cast<volatile char *>(All.back().get()) = 1;
  }
}

static void fail(Module &) { report_fatal_error("as the test wants it"); }

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// The stores to memory that somebody may look at.
static SmallVector<StoreInst *> findStores(Function &F) {
  SmallVector<StoreInst *> Stores;
  for (Instruction &I : instructions(F))
    if (auto *S = dyn_cast<StoreInst>(&I))
      if (!isa<AllocaInst>(S->getPointerOperand()->stripPointerCasts()))
        Stores.push_back(S);
  return Stores;
}

/// Stores other numbers.
static void makeWrong(Function &F) {
  for (StoreInst *S : findStores(F)) {
    Value *V = S->getValueOperand();
    IRBuilder<> B(S);
    if (V->getType()->isIntOrIntVectorTy())
      S->setOperand(0, B.CreateNot(V));
    else if (V->getType()->isFPOrFPVectorTy())
      S->setOperand(0, B.CreateFSub(ConstantFP::get(V->getType(), 1.5), V));
  }
}

static void makeNaN(Function &F) {
  for (StoreInst *S : findStores(F)) {
    Type *T = S->getValueOperand()->getType();
    if (T->isFPOrFPVectorTy())
      S->setOperand(0, ConstantFP::getNaN(T));
  }
}

static void makeEndless(Function &F) {
  BasicBlock *Entry = &F.getEntryBlock();
  BasicBlock *Loop = BasicBlock::Create(F.getContext(), "endless", &F, Entry);
  BasicBlock *First = BasicBlock::Create(F.getContext(), "first", &F, Loop);
  IRBuilder<> B(First);
  AllocaInst *Go = B.CreateAlloca(B.getInt32Ty(),
                                  F.getDataLayout().getAllocaAddrSpace());
  B.CreateStore(B.getInt32(1), Go, /*isVolatile=*/true);
  B.CreateBr(Loop);
  // Nobody can know that it never ends.
  B.SetInsertPoint(Loop);
  Value *Again = B.CreateLoad(B.getInt32Ty(), Go, /*isVolatile=*/true);
  B.CreateCondBr(B.CreateIsNotNull(Again), Loop, Entry);
}

static void makeTrap(Function &F) {
  IRBuilder<> B(&*F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  B.CreateIntrinsic(Intrinsic::trap, {});
}

/// Leaves a block without an end, which only the verifier survives.
static void makeInvalid(Function &F) {
  F.getEntryBlock().getTerminator()->eraseFromParent();
}

/// Writes where nothing is mapped.
static void makeOutOfBounds(Function &F) {
  IRBuilder<> B(&*F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  Value *Nowhere = B.CreateIntToPtr(B.getInt64(64), B.getPtrTy());
  B.CreateStore(B.getInt32(1), Nowhere, /*isVolatile=*/true);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

static bool isKernel(const Function &F) {
  return !F.isDeclaration() &&
         (F.getCallingConv() == CallingConv::PTX_Kernel ||
          F.getCallingConv() == CallingConv::AMDGPU_KERNEL);
}

namespace {
class CompilerPass : public PassInfoMixin<CompilerPass> {
public:
  using ActTy = void (*)(Module &);
  explicit CompilerPass(ActTy Act) : Act(Act) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Act(M);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  ActTy Act;
};

class KernelPass : public PassInfoMixin<KernelPass> {
public:
  using ActTy = void (*)(Function &);
  explicit KernelPass(ActTy Act) : Act(Act) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    for (Function &F : M)
      if (isKernel(F))
        Act(F);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  ActTy Act;
};

struct CompilerPassInfo {
  StringRef Name;
  CompilerPass::ActTy Act;
};
struct KernelPassInfo {
  StringRef Name;
  KernelPass::ActTy Act;
};
} // namespace

static const CompilerPassInfo CompilerPasses[] = {
    {"test-crash", crash},
    {"test-hang", hang},
    {"test-eat-memory", eatMemory},
    {"test-fatal", fail},
};

static const KernelPassInfo KernelPasses[] = {
    {"test-wrong", makeWrong},
    {"test-nan", makeNaN},
    {"test-endless", makeEndless},
    {"test-trap", makeTrap},
    {"test-out-of-bounds", makeOutOfBounds},
    {"test-invalid", makeInvalid},
};

static bool addPass(StringRef Name, ModulePassManager &PM,
                    ArrayRef<PassBuilder::PipelineElement>) {
  for (const CompilerPassInfo &P : CompilerPasses)
    if (P.Name == Name) {
      PM.addPass(CompilerPass(P.Act));
      return true;
    }
  for (const KernelPassInfo &P : KernelPasses)
    if (P.Name == Name) {
      PM.addPass(KernelPass(P.Act));
      return true;
    }
  return false;
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "MnemeTestPasses", "1",
          [](PassBuilder &PB) {
            PB.registerPipelineParsingCallback(addPass);
          }};
}
