//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlaces.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

static Value *createAllZero(IRBuilderBase &B, ArrayRef<Intrinsic::ID> Axes) {
  Value *Any = B.getInt32(0);
  for (Intrinsic::ID Axis : Axes)
    Any = B.CreateOr(Any, createCall(B, Axis));
  return B.CreateIsNull(Any);
}

static bool isAMDGPU(const IRBuilderBase &B) {
  return getTriple(*B.GetInsertBlock()->getModule()).isAMDGPU();
}

Value *mneme::createIsFirstThread(IRBuilderBase &B) {
  if (isAMDGPU(B))
    return createAllZero(B, {Intrinsic::amdgcn_workitem_id_x,
                             Intrinsic::amdgcn_workitem_id_y,
                             Intrinsic::amdgcn_workitem_id_z});
  return createAllZero(B, {Intrinsic::nvvm_read_ptx_sreg_tid_x,
                           Intrinsic::nvvm_read_ptx_sreg_tid_y,
                           Intrinsic::nvvm_read_ptx_sreg_tid_z});
}

Value *mneme::createIsFirstBlock(IRBuilderBase &B) {
  if (isAMDGPU(B))
    return createAllZero(B, {Intrinsic::amdgcn_workgroup_id_x,
                             Intrinsic::amdgcn_workgroup_id_y,
                             Intrinsic::amdgcn_workgroup_id_z});
  return createAllZero(B, {Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                           Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                           Intrinsic::nvvm_read_ptx_sreg_ctaid_z});
}

BasicBlock::iterator mneme::moveLocalsToFront(Function &F) {
  BasicBlock &Entry = F.getEntryBlock();
  for (Instruction &I : make_early_inc_range(Entry))
    if (auto *A = dyn_cast<AllocaInst>(&I); A && A->isStaticAlloca())
      A->moveBefore(Entry, Entry.begin());
  BasicBlock::iterator First = Entry.begin();
  while (isa<AllocaInst>(*First))
    ++First;
  return First;
}

bool mneme::canBeDeviceMemory(const Value *Pointer) {
  auto IsDevice = [](const Value *V) {
    unsigned AS = V->getType()->getPointerAddressSpace();
    return AS == 0 || AS == GlobalAddressSpace;
  };
  const Value *Object = getUnderlyingObject(Pointer);
  if (!IsDevice(Pointer) || !IsDevice(Object) || isa<AllocaInst>(Object))
    return false;
  const auto *A = dyn_cast<Argument>(Object);
  return !A || !A->hasByValAttr();
}
