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
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Object/OffloadBinary.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns true for functions of the CUDA and HIP runtimes and for memory
/// functions of the CUDA driver. Functions that the translation unit defines
/// itself do not count.
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
/// The slot of a runtime function, and the rewriting of its uses.
class Hook {
public:
  explicit Hook(Function &F)
      : F(F), M(*F.getParent()),
        HasFixedAddress(
            any_of(F.users(), [](const User *U) { return isa<Constant>(U); })) {
  }

  /// \returns the slot, or null if nothing in \c M needs it.
  GlobalVariable *redirectUses();
  GlobalVariable *getSlot();

private:
  void redirectUse(Use &U);
  Value *loadBefore(Instruction *I);

  Function &F;
  Module &M;
  GlobalVariable *Slot = nullptr;
  /// True if an initializer holds the function's address, which it cannot load
  /// from the slot. Then all other code must use that address, too, or the two
  /// would compare unequal.
  bool HasFixedAddress;
  /// A phi must have the same value for all edges from a block.
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
  // A runtime writes the slot; the optimizer cannot see that write.
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
    // An indirect call does not inherit its callee's attributes.
    if (F.doesNotThrow())
      Call->setDoesNotThrow();
    if (F.doesNotReturn())
      Call->setDoesNotReturn();
    U.set(loadBefore(I));
    return;
  }
  if (HasFixedAddress)
    return;
  // "if (cudaFoo)" tests whether a weak function exists.
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

/// Returns true if \p M registers __device__ variables with the CUDA runtime,
/// by calls or, with -fgpu-rdc, by entries that the linker collects.
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
  if (isGPU(M))
    return PreservedAnalyses::all();
  SmallVector<GlobalValue *> Slots;
  for (Function &F : M)
    if (isRuntimeFunction(F))
      if (GlobalVariable *Slot = Hook(F).redirectUses())
        Slots.push_back(Slot);
  // Only the runtime with which a variable was registered knows its address,
  // and that runtime may be linked into this very object. Hence the slot for
  // cudaGetSymbolAddress.
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
  // Not llvm.used: with --gc-sections, a slot must not keep a reference to a
  // runtime function that no code calls any more and that may be undefined.
  appendToCompilerUsed(M, Slots);
  addAttachCall(M);
  return PreservedAnalyses::none();
}
