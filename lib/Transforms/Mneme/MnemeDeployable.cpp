//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Deployable.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

namespace {
enum class VariableUse {
  None,  ///< Not in the memory of a device, or not a variable.
  Baked, ///< A constant of the image.
  Slot,
  Copy,
};
} // namespace

bool mneme::isSpecialRegister(const GlobalVariable &G) {
  if (G.getName().starts_with("_ZN17__HIP_CoordinatesI"))
    return true;
  return G.isDeclaration() &&
         is_contained({"threadIdx", "blockIdx", "blockDim", "gridDim"},
                      G.getName());
}

static VariableUse classify(const GlobalVariable &G) {
  constexpr unsigned GenericAddressSpace = 0;
  unsigned Space = G.getAddressSpace();
  if (G.getName().starts_with("llvm.") || G.getName() == VariableSlots ||
      isSpecialRegister(G) ||
      (Space != GenericAddressSpace && Space != GlobalAddressSpace &&
       Space != ConstantAddressSpace))
    return VariableUse::None;
  // A __constant__ variable is a constant that the host writes.
  if (G.isConstant() && !G.isExternallyInitialized() && !G.isDeclaration())
    return VariableUse::Baked;
  return Space == ConstantAddressSpace ? VariableUse::Copy : VariableUse::Slot;
}

static uint64_t sizeOf(const GlobalVariable &G) {
  return G.getDataLayout().getTypeAllocSize(G.getValueType());
}

/// Returns the first variable with a slot whose address is in \p Initializer.
static const GlobalVariable *findSlotIn(const Constant &Initializer) {
  SmallVector<const Constant *, 8> Work{&Initializer};
  SmallPtrSet<const Constant *, 8> Seen;
  while (!Work.empty()) {
    const Constant *C = Work.pop_back_val();
    if (!Seen.insert(C).second || isa<Function>(C))
      continue;
    auto *G = dyn_cast<GlobalVariable>(C);
    if (G && classify(*G) == VariableUse::Slot)
      return G;
    if (G)
      continue;
    for (const Use &Op : C->operands())
      if (auto *Operand = dyn_cast<Constant>(Op))
        Work.push_back(Operand);
  }
  return nullptr;
}

std::string mneme::findUndeployable(const Module &M) {
  for (const GlobalVariable &G : M.globals()) {
    VariableUse Use = classify(G);
    if (Use == VariableUse::None)
      continue;
    std::string Name = ("'" + G.getName() + "'").str();
    if (Use == VariableUse::Baked) {
      if (const GlobalVariable *Slot = findSlotIn(*G.getInitializer()))
        return "the constant " + Name + " contains the address of variable '" +
               Slot->getName().str() + "'";
      continue;
    }
    if (G.isDeclaration())
      return "variable " + Name + " belongs to another translation unit";
    // The host can name, and thus find, no other variable.
    if (!G.isExternallyInitialized() || G.hasLocalLinkage())
      return "variable " + Name + " exists only in device code";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

static void setSlots(Module &M, ArrayRef<GlobalVariable *> Variables) {
  LLVMContext &Context = M.getContext();
  NamedMDNode *List = M.getOrInsertNamedMetadata(VariableSlotsMetadata);
  for (const GlobalVariable *G : Variables)
    List->addOperand(
        MDNode::get(Context, {MDString::get(Context, G->getName()),
                              ConstantAsMetadata::get(ConstantInt::get(
                                  Type::getInt64Ty(Context), sizeOf(*G)))}));
}

std::vector<SharedVariable> mneme::getVariableSlots(const Module &M) {
  std::vector<SharedVariable> Slots;
  const NamedMDNode *List = M.getNamedMetadata(VariableSlotsMetadata);
  if (!List)
    return Slots;
  for (const MDNode *N : List->operands()) {
    auto *Name = N->getNumOperands() == 2
                     ? dyn_cast_or_null<MDString>(N->getOperand(0))
                     : nullptr;
    auto *Size =
        Name ? mdconst::dyn_extract_or_null<ConstantInt>(N->getOperand(1))
             : nullptr;
    // An unnamed slot keeps its place.
    Slots.emplace_back();
    if (Size && Size->getBitWidth() == 64)
      Slots.back() = {Name->getString().str(), Size->getZExtValue()};
  }
  return Slots;
}

std::vector<SharedVariable> mneme::getVariableCopies(const Module &M) {
  std::vector<SharedVariable> Copies;
  for (const GlobalVariable &G : M.globals())
    if (classify(G) == VariableUse::Copy)
      Copies.push_back({G.getName().str(), sizeOf(G)});
  return Copies;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Replaces aliases of variables by these.
static void removeAliases(Module &M) {
  for (GlobalAlias &A : make_early_inc_range(M.aliases()))
    if (isa_and_nonnull<GlobalVariable>(A.getAliaseeObject())) {
      A.replaceAllUsesWith(A.getAliasee());
      A.eraseFromParent();
    }
}

/// Loads the address of \p G at the start of \p F.
static Instruction *loadSlot(Function &F, GlobalVariable &Slots, unsigned Index,
                             const GlobalVariable &G) {
  BasicBlock &Entry = F.getEntryBlock();
  IRBuilder<> B(&Entry, Entry.getFirstNonPHIOrDbgOrAlloca());
  LLVMContext &Context = F.getContext();
  Value *Slot =
      B.CreateConstInBoundsGEP2_64(Slots.getValueType(), &Slots, 0, Index);
  LoadInst *Load = B.CreateLoad(G.getType(), Slot);
  auto Number = [&](uint64_t N) {
    return MDNode::get(Context, ConstantAsMetadata::get(B.getInt64(N)));
  };
  Load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(Context, {}));
  Load->setMetadata(LLVMContext::MD_nonnull, MDNode::get(Context, {}));
  Load->setMetadata(LLVMContext::MD_align,
                    Number(G.getDataLayout().getPreferredAlign(&G).value()));
  if (uint64_t Size = sizeOf(G))
    Load->setMetadata(LLVMContext::MD_dereferenceable, Number(Size));
  return Load;
}

static void replaceBySlot(GlobalVariable &G, GlobalVariable &Slots,
                          unsigned Index) {
  SmallMapVector<Function *, SmallVector<Use *, 8>, 4> Uses;
  for (Use &U : G.uses())
    if (auto *I = dyn_cast<Instruction>(U.getUser()))
      Uses[I->getFunction()].push_back(&U);
  for (auto &[F, Here] : Uses) {
    Instruction *Address = loadSlot(*F, Slots, Index, G);
    for (Use *U : Here)
      U->set(Address);
  }
}

PreservedAnalyses DeployablePass::run(Module &M, ModuleAnalysisManager &) {
  if (!findUndeployable(M).empty())
    return PreservedAnalyses::all();
  // The image shares no layout with the application's.
  if (NamedMDNode *List = M.getNamedMetadata(ImageVariablesMetadata))
    List->eraseFromParent();
  removeAliases(M);
  SmallVector<GlobalVariable *, 4> InSlots;
  SmallVector<Constant *, 4> Expanded;
  for (GlobalVariable &G : M.globals()) {
    VariableUse Use = classify(G);
    // Before the first launch, the loader copies the application's contents.
    if (Use == VariableUse::Copy)
      G.setInitializer(Constant::getNullValue(G.getValueType()));
    if (Use != VariableUse::Slot)
      continue;
    InSlots.push_back(&G);
    Expanded.push_back(&G);
    G.setInitializer(nullptr);
  }
  if (InSlots.empty())
    return PreservedAnalyses::none();
  removeFromUsedLists(M, [&](Constant *C) {
    return is_contained(InSlots, C->stripPointerCasts());
  });
  convertUsersOfConstantsToInstructions(Expanded);
  Type *Array = ArrayType::get(
      PointerType::get(M.getContext(), GlobalAddressSpace), InSlots.size());
  auto *Slots = new GlobalVariable(
      M, Array, /*isConstant=*/false, GlobalValue::ExternalLinkage,
      Constant::getNullValue(Array), VariableSlots, /*InsertBefore=*/nullptr,
      GlobalValue::NotThreadLocal, ConstantAddressSpace,
      /*isExternallyInitialized=*/true);
  Slots->setAlignment(Align(8));
  // As clang does for variables that the host can find: code needs no table of
  // addresses.
  if (getTriple(M).isAMDGPU())
    Slots->setVisibility(GlobalValue::ProtectedVisibility);
  setSlots(M, InSlots);
  for (auto [Index, G] : enumerate(InSlots)) {
    replaceBySlot(*G, *Slots, Index);
    G->eraseFromParent();
  }
  return PreservedAnalyses::none();
}

void mneme::resolveVariableSlots(Module &M) {
  GlobalVariable *Slots = M.getNamedGlobal(VariableSlots);
  NamedMDNode *List = M.getNamedMetadata(VariableSlotsMetadata);
  if (Slots && List) {
    Type *Pointer = PointerType::get(M.getContext(), GlobalAddressSpace);
    SmallVector<Constant *, 4> Addresses;
    for (const SharedVariable &V : getVariableSlots(M)) {
      auto *Bytes = ArrayType::get(Type::getInt8Ty(M.getContext()), V.Size);
      Addresses.push_back(
          new GlobalVariable(M, Bytes, /*isConstant=*/false,
                             GlobalValue::ExternalLinkage, nullptr, V.Name,
                             /*InsertBefore=*/nullptr,
                             GlobalValue::NotThreadLocal, GlobalAddressSpace));
    }
    Slots->setInitializer(ConstantArray::get(
        ArrayType::get(Pointer, Addresses.size()), Addresses));
    Slots->setLinkage(GlobalValue::InternalLinkage);
    Slots->setConstant(true);
    Slots->setExternallyInitialized(false);
  }
  if (List)
    List->eraseFromParent();
}

void mneme::registerDeployablePass(PassBuilder &PB) {
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &MPM,
         ArrayRef<PassBuilder::PipelineElement>) {
        if (Name != "mneme-deployable")
          return false;
        MPM.addPass(DeployablePass());
        return true;
      });
}
