//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlaces.h"
#include "ParsePass.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Fill.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Expected<FillOptions> mneme::parseFillOptions(StringRef Text) {
  FillOptions Options;
  while (!Text.empty()) {
    StringRef Param;
    std::tie(Param, Text) = Text.split(';');
    auto [Name, Value] = Param.split('=');
    bool Bad = Name == "byte" ? Value.getAsInteger(0, Options.Byte)
               : Name == "dynamic-shared"
                   ? Value.getAsInteger(0, Options.DynamicShared)
                   : true;
    if (Bad)
      return createStringError(
          formatv("invalid mneme-fill pass parameter '{0}'", Param).str());
  }
  return Options;
}

void FillPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName2PassName) {
  OS << "mneme-fill<byte=" << format_hex(Options.Byte, 4);
  if (Options.DynamicShared)
    OS << ";dynamic-shared=" << Options.DynamicShared;
  OS << '>';
}

//===----------------------------------------------------------------------===//
// Undefined constants
//===----------------------------------------------------------------------===//

/// Returns a value of type \p Ty with all bytes equal to \p Byte; null for
/// types that cannot be filled.
static Constant *makeFilled(Type *Ty, uint8_t Byte, const DataLayout &DL) {
  if (auto *Vector = dyn_cast<FixedVectorType>(Ty)) {
    Constant *Element = makeFilled(Vector->getElementType(), Byte, DL);
    return Element ? ConstantVector::getSplat(Vector->getElementCount(),
                                              Element)
                   : nullptr;
  }
  if (!Ty->isIntegerTy() && !Ty->isFloatingPointTy() && !Ty->isPointerTy())
    return nullptr;
  unsigned Bits = DL.getTypeSizeInBits(Ty).getFixedValue();
  APInt Pattern =
      APInt::getSplat(alignTo(Bits, 8), APInt(8, Byte)).trunc(Bits);
  if (Ty->isFloatingPointTy())
    return ConstantFP::get(Ty, APFloat(Ty->getFltSemantics(), Pattern));
  Constant *Number = ConstantInt::get(Ty->getContext(), Pattern);
  return Ty->isPointerTy() ? ConstantExpr::getIntToPtr(Number, Ty) : Number;
}

static bool fillUndefined(Function &F, uint8_t Byte) {
  bool Changed = false;
  for (Instruction &I : instructions(F)) {
    if (I.isLifetimeStartOrEnd())
      continue; // Lifetime markers use no value.
    for (Use &U : I.operands())
      if (isa<UndefValue>(U))
        if (Constant *C = makeFilled(U->getType(), Byte, F.getDataLayout())) {
          U = C;
          Changed = true;
        }
  }
  return Changed;
}

//===----------------------------------------------------------------------===//
// Local variables
//===----------------------------------------------------------------------===//

/// Returns the points at which \p A becomes undefined: the starts of its
/// lifetime, or the alloca itself.
static SmallVector<Instruction *, 2> findStarts(AllocaInst &A) {
  SmallVector<Instruction *, 2> Starts;
  for (User *U : A.users())
    if (auto *II = dyn_cast<IntrinsicInst>(U);
        II && II->getIntrinsicID() == Intrinsic::lifetime_start)
      Starts.push_back(II);
  if (Starts.empty())
    Starts.push_back(&A);
  return Starts;
}

static bool fillLocals(Function &F, uint8_t Byte) {
  SmallVector<AllocaInst *, 16> Locals;
  for (Instruction &I : instructions(F))
    if (auto *A = dyn_cast<AllocaInst>(&I))
      Locals.push_back(A);
  for (AllocaInst *A : Locals)
    for (Instruction *Start : findStarts(*A)) {
      BasicBlock::iterator Next = std::next(Start->getIterator());
      while (isa<AllocaInst>(*Next))
        ++Next;
      IRBuilder<> B(Start->getParent(), Next);
      Value *Size = B.CreateTypeSize(
          B.getInt64Ty(), F.getDataLayout().getTypeAllocSize(
                              A->getAllocatedType()));
      if (A->isArrayAllocation())
        Size = B.CreateMul(
            Size, B.CreateZExtOrTrunc(A->getArraySize(), B.getInt64Ty()));
      B.CreateMemSet(A, B.getInt8(Byte), Size, A->getAlign());
    }
  return !Locals.empty();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static void createBarrier(IRBuilder<> &B, bool IsAMDGPU) {
  if (!IsAMDGPU) {
    createNVPTXBarrier(B);
    return;
  }
  SyncScope::ID Block = B.getContext().getOrInsertSyncScopeID("workgroup");
  B.CreateFence(AtomicOrdering::Release, Block);
  createCall(B, Intrinsic::amdgcn_s_barrier);
  B.CreateFence(AtomicOrdering::Acquire, Block);
}

/// Variables and their sizes in bytes.
using SharedVariables = SmallVector<std::pair<GlobalVariable *, uint64_t>, 4>;

static SharedVariables findShared(Module &M, uint64_t DynamicShared) {
  SharedVariables Found;
  for (GlobalVariable &G : M.globals()) {
    if (G.getAddressSpace() != SharedAddressSpace || G.use_empty())
      continue;
    uint64_t Size = M.getDataLayout().getTypeAllocSize(G.getValueType());
    if (Size == 0) // extern: sized by the launch.
      Size = DynamicShared;
    if (Size)
      Found.push_back({&G, Size});
  }
  return Found;
}

static void fillShared(Function &Kernel, const SharedVariables &Shared,
                       uint8_t Byte) {
  bool IsAMDGPU = Kernel.getCallingConv() == CallingConv::AMDGPU_KERNEL;
  BasicBlock::iterator First = moveLocalsToFront(Kernel);
  IRBuilder<> B(&Kernel.getEntryBlock(), First);
  Instruction *Then =
      SplitBlockAndInsertIfThen(createIsFirstThread(B), First, false);
  B.SetInsertPoint(&*First);
  createBarrier(B, IsAMDGPU);
  B.SetInsertPoint(Then);
  for (auto [Variable, Size] : Shared)
    B.CreateMemSet(Variable, B.getInt8(Byte), Size, Variable->getAlign());
}

PreservedAnalyses FillPass::run(Module &M, ModuleAnalysisManager &) {
  bool Changed = false;
  SmallVector<Function *, 4> Kernels;
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    Changed |= fillUndefined(F, Options.Byte);
    Changed |= fillLocals(F, Options.Byte);
    if (isKernel(F))
      Kernels.push_back(&F);
  }
  SharedVariables Shared = findShared(M, Options.DynamicShared);
  if (!Shared.empty())
    for (Function *Kernel : Kernels) {
      fillShared(*Kernel, Shared, Options.Byte);
      Changed = true;
    }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

void mneme::registerFillPass(PassBuilder &PB) {
  registerPass<FillPass>(PB, "mneme-fill", parseFillOptions);
}
