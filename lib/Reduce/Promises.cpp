//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Reduce/Promises.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace llvm::mneme;

/// Promises about values and memory; none affects how a call is made.
static constexpr unsigned PromisingMetadata[] = {
    LLVMContext::MD_tbaa,
    LLVMContext::MD_tbaa_struct,
    LLVMContext::MD_alias_scope,
    LLVMContext::MD_noalias,
    LLVMContext::MD_noalias_addrspace,
    LLVMContext::MD_invariant_load,
    LLVMContext::MD_invariant_group,
    LLVMContext::MD_range,
    LLVMContext::MD_nonnull,
    LLVMContext::MD_noundef,
    LLVMContext::MD_align,
    LLVMContext::MD_dereferenceable,
    LLVMContext::MD_dereferenceable_or_null,
    LLVMContext::MD_mem_parallel_loop_access,
    LLVMContext::MD_access_group,
};

static const AttributeMask &getValueAttributes() {
  static const AttributeMask Mask = [] {
    AttributeMask M;
    for (Attribute::AttrKind K :
         {Attribute::NoAlias, Attribute::NonNull, Attribute::NoUndef,
          Attribute::Dereferenceable, Attribute::DereferenceableOrNull,
          Attribute::ReadNone, Attribute::ReadOnly, Attribute::WriteOnly,
          Attribute::Captures, Attribute::NoFree, Attribute::Range,
          Attribute::NoFPClass, Attribute::Returned, Attribute::Initializes,
          Attribute::Writable, Attribute::DeadOnUnwind})
      M.addAttribute(K);
    return M;
  }();
  return Mask;
}

static const AttributeMask &getFunctionAttributes() {
  static const AttributeMask Mask = [] {
    AttributeMask M;
    for (Attribute::AttrKind K :
         {Attribute::Memory, Attribute::WillReturn, Attribute::MustProgress,
          Attribute::NoSync, Attribute::NoFree, Attribute::NoRecurse,
          Attribute::NoReturn, Attribute::Speculatable})
      M.addAttribute(K);
    return M;
  }();
  return Mask;
}

static AttributeList dropFrom(AttributeList List, LLVMContext &C,
                              unsigned NumArgs) {
  List = List.removeRetAttributes(C, getValueAttributes());
  List = List.removeFnAttributes(C, getFunctionAttributes());
  for (unsigned I = 0; I != NumArgs; ++I)
    List = List.removeParamAttributes(C, I, getValueAttributes());
  return List;
}

static bool dropFlags(Instruction &I) {
  if (!I.hasPoisonGeneratingFlags())
    return false;
  I.dropPoisonGeneratingFlags();
  return true;
}

static bool dropAttributes(Instruction &I) {
  bool Changed = false;
  for (unsigned Kind : PromisingMetadata)
    if (I.getMetadata(Kind)) {
      I.setMetadata(Kind, nullptr);
      Changed = true;
    }
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call)
    return Changed;
  AttributeList Old = Call->getAttributes();
  Call->setAttributes(dropFrom(Old, I.getContext(), Call->arg_size()));
  return Changed || Call->getAttributes() != Old;
}

static bool dropAttributes(Function &F) {
  // LLVM's own attributes of its intrinsics hold.
  if (F.isIntrinsic())
    return false;
  AttributeList Old = F.getAttributes();
  F.setAttributes(dropFrom(Old, F.getContext(), F.arg_size()));
  return F.getAttributes() != Old;
}

bool mneme::dropPromises(Module &M, Promises Which) {
  bool Changed = false;
  for (Function &F : M) {
    if (Which == Promises::Attributes)
      Changed |= dropAttributes(F);
    for (Instruction &I : instructions(F))
      Changed |= Which == Promises::Flags ? dropFlags(I) : dropAttributes(I);
  }
  return Changed;
}
