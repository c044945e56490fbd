//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Obstacles.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::HandleParameter;

//===----------------------------------------------------------------------===//
// Textures and surfaces
//===----------------------------------------------------------------------===//

// Names of instructions, in PTX and after "llvm.nvvm." in intrinsics.
static constexpr StringLiteral TextureInstructions[] = {"tex.", "tld4.",
                                                        "txq."};
static constexpr StringLiteral SurfaceInstructions[] = {"suld.", "sust.",
                                                        "sured.", "suq."};

static bool uses(const CallBase &Call, ArrayRef<StringLiteral> Instructions) {
  if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand()))
    return any_of(Instructions, [&](StringRef Name) {
      return Asm->getAsmString().contains(Name);
    });
  const Function *F = Call.getCalledFunction();
  StringRef Name = F ? F->getName() : "";
  return Name.consume_front("llvm.nvvm.") &&
         any_of(Instructions,
                [&](StringRef Prefix) { return Name.starts_with(Prefix); });
}

static bool usesSurface(const CallBase &Call) {
  return uses(Call, SurfaceInstructions);
}

static bool usesTexture(const CallBase &Call) {
  return uses(Call, TextureInstructions) || usesSurface(Call);
}

/// AMDGPU: descriptors are in memory of the HIP runtime.
static bool usesImage(const CallBase &Call) {
  const Function *F = Call.getCalledFunction();
  return F && F->getName().starts_with("llvm.amdgcn.image.");
}

//===----------------------------------------------------------------------===//
// Addresses of code
//===----------------------------------------------------------------------===//

static bool isIndirect(const CallBase &Call) {
  return !Call.isInlineAsm() &&
         !isa<Function>(Call.getCalledOperand()->stripPointerCastsAndAliases());
}

static const CallBase *findCall(const Module &M,
                                function_ref<bool(const CallBase &)> Wanted) {
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I); Call && Wanted(*Call))
        return Call;
  return nullptr;
}

/// \returns whether the memory at \p P has its contents before the launch.
static bool isFromBefore(const Value *P) {
  const Value *Object = getUnderlyingObject(P, /*MaxLookup=*/0);
  if (isa<AllocaInst>(Object))
    return false;
  // A constant is part of the code and has new contents in each compilation.
  auto *G = dyn_cast<GlobalVariable>(Object);
  return !G || !G->isConstant() || G->isExternallyInitialized();
}

/// \returns whether the address \p V may have been made before the launch.
static bool isAddressFromBefore(const Value *V, const Function *Kernel) {
  SmallPtrSet<const Value *, 16> Seen;
  SmallVector<const Value *, 8> Open = {V};
  while (!Open.empty()) {
    const Value *Next = Open.pop_back_val();
    if (!Seen.insert(Next).second)
      continue;
    if (auto *Load = dyn_cast<LoadInst>(Next)) {
      if (isFromBefore(Load->getPointerOperand()))
        return true;
    } else if (auto *A = dyn_cast<Argument>(Next)) {
      if (A->getParent() == Kernel)
        return true;
    } else if (isa<PHINode, SelectInst, CastInst, FreezeInst>(Next)) {
      append_range(Open, cast<User>(Next)->operands());
    }
  }
  return false;
}

/// \returns whether \p Store stores the address of a function or a vtable where
/// it may outlive the launch.
static bool storesCodeAddress(const StoreInst &Store) {
  if (!Store.getValueOperand()->getType()->isPointerTy())
    return false;
  SmallVector<const Value *, 4> Stored;
  getUnderlyingObjects(Store.getValueOperand(), Stored, /*LI=*/nullptr,
                       /*MaxLookup=*/0);
  return any_of(Stored,
                [](const Value *V) {
                  auto *G = dyn_cast<GlobalVariable>(V);
                  return isa<Function>(V) ||
                         (G && G->getName().starts_with("_ZTV"));
                }) &&
         !isa<AllocaInst>(getUnderlyingObject(Store.getPointerOperand(),
                                              /*MaxLookup=*/0));
}

static bool storesCodeAddress(const Module &M) {
  return any_of(M, [](const Function &F) {
    return any_of(instructions(F), [](const Instruction &I) {
      auto *Store = dyn_cast<StoreInst>(&I);
      return Store && storesCodeAddress(*Store);
    });
  });
}

/// \returns an optimized copy, in which most calls through pointers are direct.
static std::unique_ptr<Module> simplify(const Module &M) {
  std::unique_ptr<Module> Copy = CloneModule(M);
  runPasses(*Copy, "default<O2>");
  return Copy;
}

/// Adds the operands that calls of a function that was not inlined pass as \p
/// A. \returns false if there may be other callers.
static bool addCallers(const Argument &A, SmallVectorImpl<const Value *> &To) {
  for (const User *U : A.getParent()->users()) {
    auto *Call = dyn_cast<CallBase>(U);
    if (!Call || Call->getCalledFunction() != A.getParent())
      return false;
    To.push_back(Call->getArgOperand(A.getArgNo()));
  }
  return true;
}

/// Adds the parameters that \p V can be. \returns false if \p V may be
/// something else.
static bool findParameters(const Value *V, bool IsSurface,
                           const Function &Kernel, ArrayRef<KernelArg> Args,
                           std::vector<HandleParameter> &Handles) {
  SmallPtrSet<const Value *, 8> Seen;
  SmallVector<const Value *, 8> Open = {V};
  while (!Open.empty()) {
    const Value *Next = Open.pop_back_val();
    if (!Seen.insert(Next).second)
      continue;
    if (isa<PHINode, FreezeInst>(Next)) {
      append_range(Open, cast<User>(Next)->operands());
      continue;
    }
    if (auto *Select = dyn_cast<SelectInst>(Next)) {
      Open.append({Select->getTrueValue(), Select->getFalseValue()});
      continue;
    }
    APInt Offset(64, 0);
    auto *Load = dyn_cast<LoadInst>(Next);
    auto *A = dyn_cast<Argument>(
        Load ? Load->getPointerOperand()->stripAndAccumulateConstantOffsets(
                   Kernel.getDataLayout(), Offset, /*AllowNonInbounds=*/true)
             : Next);
    if (!A || A->hasByValAttr() != !!Load)
      return false;
    if (A->getParent() != &Kernel) {
      if (Load || !addCallers(*A, Open))
        return false;
      continue;
    }
    uint32_t At = Args[A->getArgNo()].Offset + uint32_t(Offset.getZExtValue());
    if (none_of(Handles, [&](auto &H) { return H.Offset == At; }))
      Handles.push_back({At, IsSurface});
  }
  return true;
}

/// Finds the parameters that are the handles of all textures and surfaces of a
/// kernel. \returns false if a handle may be elsewhere.
static bool findHandles(const Module &Simple, StringRef Kernel,
                        std::vector<HandleParameter> &Handles) {
  const Function *F = Simple.getFunction(Kernel);
  std::vector<KernelArg> Args = describeArgs(Simple, Kernel);
  return !findCall(Simple, [&](const CallBase &Call) {
    return usesTexture(Call) &&
           (Call.arg_empty() ||
            !findParameters(Call.getArgOperand(0), usesSurface(Call), *F, Args,
                            Handles));
  });
}

std::string llvm::mneme::findObstacle(const Module &M, StringRef Kernel,
                                      bool ForHost,
                                      std::vector<HandleParameter> &Handles) {
  // On the host device, a handle is an address and can be stored anywhere.
  if (!ForHost && findCall(M, usesTexture) &&
      !findHandles(*simplify(M), Kernel, Handles))
    return "its code uses textures or surfaces whose handles are not among its "
           "parameters";
  if (!ForHost && findCall(M, usesImage))
    return "its code uses textures or surfaces, which are not recorded on AMD "
           "GPUs";
  if (!findCall(M, isIndirect) && !storesCodeAddress(M))
    return "";
  std::unique_ptr<Module> Simple = simplify(M);
  const Function *F = Simple->getFunction(Kernel);
  if (findCall(*Simple, [&](const CallBase &Call) {
        return isIndirect(Call) &&
               isAddressFromBefore(Call.getCalledOperand(), F);
      }))
    return CallsFromMemory.str();
  if (storesCodeAddress(*Simple))
    return "its code stores addresses of functions";
  return "";
}
