//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Object/OffloadBinary.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

/// The names of the CUDA and HIP runtimes, and of what the CUDA driver does
/// with memory. What the translation unit defines itself is not the runtime's.
static bool isRuntimeFunction(const Function &F) {
  if (!F.isDeclaration())
    return false;
  StringRef Name = F.getName();
  if (Name.starts_with("__cuda") || Name.starts_with("__hip"))
    return true;
  for (StringRef OfDriver : {"cuMem", "cuStreamWriteValue",
                             "cuStreamBatchMemOp", "cuCtxEnablePeerAccess"})
    if (Name.starts_with(OfDriver))
      return true;
  return (Name.consume_front("cuda") || Name.consume_front("hip")) &&
         !Name.empty() && isUpper(Name.front());
}

namespace {
/// The slot of one runtime function, and the code that goes through it.
class Hook {
public:
  explicit Hook(Function &F)
      : F(F), M(*F.getParent()),
        HasFixedAddress(
            any_of(F.users(), [](const User *U) { return isa<Constant>(U); })) {
  }

  /// \returns the slot, or null when nothing in \c M needs one.
  GlobalVariable *redirectUses();
  GlobalVariable *getSlot();

private:
  void redirectUse(Use &U);
  Value *loadBefore(Instruction *I);

  Function &F;
  Module &M;
  GlobalVariable *Slot = nullptr;
  /// An initializer holds the function's address and cannot hold the slot's
  /// value. Then no code may get another address, or the two would not compare
  /// equal.
  bool HasFixedAddress;
  /// A phi has one value for all edges from a block.
  DenseMap<BasicBlock *, Value *> LoadsAtEnd;
};
} // namespace

GlobalVariable *Hook::getSlot() {
  if (Slot)
    return Slot;
  LLVMContext &Context = M.getContext();
  Constant *Text = ConstantDataArray::getString(Context, F.getName());
  auto *Name =
      new GlobalVariable(M, Text->getType(), /*isConstant=*/true,
                         GlobalValue::PrivateLinkage, Text, ".mneme.name");
  Name->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  Constant *Init = ConstantStruct::getAnon(Context, {&F, Name});
  Slot = new GlobalVariable(M, Init->getType(), /*isConstant=*/false,
                            GlobalValue::InternalLinkage, Init,
                            "mneme.hook." + F.getName());
  Slot->setSection(MNEME_HOOKS_SECTION);
  Slot->setAlignment(Align(8));
  // A runtime writes it where the optimizer cannot see.
  Slot->setExternallyInitialized(true);
  return Slot;
}

Value *Hook::loadBefore(Instruction *I) {
  auto *Load =
      new LoadInst(F.getType(), getSlot(), "mneme.fn", I->getIterator());
  Load->setDebugLoc(I->getDebugLoc());
  return Load;
}

void Hook::redirectUse(Use &U) {
  auto *I = dyn_cast<Instruction>(U.getUser());
  if (!I || isa<LandingPadInst>(I) || isa<IntrinsicInst>(I))
    return;
  if (auto *Call = dyn_cast<CallBase>(I); Call && Call->isCallee(&U)) {
    // An indirect call knows no more about its callee than is written on it.
    if (F.doesNotThrow())
      Call->setDoesNotThrow();
    if (F.doesNotReturn())
      Call->setDoesNotReturn();
    U.set(loadBefore(I));
    return;
  }
  if (HasFixedAddress)
    return;
  // "if (cudaFoo)" asks whether a weak function is there at all.
  if (auto *Compare = dyn_cast<ICmpInst>(I);
      Compare && any_of(Compare->operands(), [](const Value *V) {
        return isa<ConstantPointerNull>(V);
      }))
    return;
  if (auto *Phi = dyn_cast<PHINode>(I)) {
    BasicBlock *Block = Phi->getIncomingBlock(U);
    Instruction *Terminator = Block->getTerminator();
    if (Terminator->isEHPad())
      return;
    Value *&Load = LoadsAtEnd[Block];
    if (!Load)
      Load = loadBefore(Terminator);
    U.set(Load);
    return;
  }
  U.set(loadBefore(I));
}

GlobalVariable *Hook::redirectUses() {
  for (Use &U : make_early_inc_range(F.uses()))
    redirectUse(U);
  return Slot;
}

/// Whether \p M tells the CUDA runtime of __device__ variables, with calls or,
/// under -fgpu-rdc, with entries for the linker to collect.
static bool registersCudaVariables(const Module &M) {
  const Function *Register = M.getFunction("__cudaRegisterVar");
  if (Register && !Register->use_empty())
    return true;
  enum Field { Kind = 2, Size = 6, NumFields = 9 };
  return any_of(M.globals(), [](const GlobalVariable &G) {
    if (G.getSection() != "llvm_offload_entries" || !G.hasInitializer())
      return false;
    auto *Entry = dyn_cast<ConstantStruct>(G.getInitializer());
    if (!Entry || Entry->getNumOperands() != NumFields)
      return false;
    auto *Language = dyn_cast<ConstantInt>(Entry->getOperand(Kind));
    auto *Bytes = dyn_cast<ConstantInt>(Entry->getOperand(Size));
    return Language && Language->getZExtValue() == object::OFK_Cuda && Bytes &&
           !Bytes->isZero();
  });
}

PreservedAnalyses HooksPass::run(Module &M, ModuleAnalysisManager &) {
  if (M.getTargetTriple().isGPU())
    return PreservedAnalyses::all();
  SmallVector<GlobalValue *> Slots;
  for (Function &F : M)
    if (isRuntimeFunction(F))
      if (GlobalVariable *Slot = Hook(F).redirectUses())
        Slots.push_back(Slot);
  // Where a variable is, only the runtime knows that it was registered with,
  // which may be a part of this very object.
  if (registersCudaVariables(M)) {
    Type *Ptr = PointerType::getUnqual(M.getContext());
    auto *F = dyn_cast<Function>(
        M.getOrInsertFunction("cudaGetSymbolAddress",
                              Type::getInt32Ty(M.getContext()), Ptr, Ptr)
            .getCallee());
    GlobalVariable *Slot =
        M.getNamedGlobal("mneme.hook.cudaGetSymbolAddress");
    if (F && F->isDeclaration() && !Slot)
      Slots.push_back(Hook(*F).getSlot());
  }
  if (Slots.empty())
    return PreservedAnalyses::all();
  // Not llvm.used: with --gc-sections, a slot must not keep a runtime function
  // alive, and so perhaps undefined, that no code calls any more.
  appendToCompilerUsed(M, Slots);
  addAttachCall(M);
  return PreservedAnalyses::none();
}
