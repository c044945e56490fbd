//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Parts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace llvm::mneme;

bool mneme::dropUnused(Module &M) {
  bool Changed = StripDebugInfo(M);
  for (Function &F : make_early_inc_range(M))
    if (F.isDeclaration() && F.use_empty()) {
      F.eraseFromParent();
      Changed = true;
    }
  for (GlobalVariable &G : make_early_inc_range(M.globals()))
    if (G.isDeclaration() && G.use_empty()) {
      G.eraseFromParent();
      Changed = true;
    }
  for (StringRef Name : {"llvm.ident", "llvm.errno.tbaa"})
    if (NamedMDNode *Node = M.getNamedMetadata(Name)) {
      Node->eraseFromParent();
      Changed = true;
    }
  return Changed;
}

/// Attributes that a GPU's code generator reads.
static bool isOfTarget(StringRef Name) {
  return any_of(ArrayRef<StringRef>{"target-", "nvvm.", "amdgpu-",
                                    "uniform-work-group-size", "denormal-fp-"},
                [&](StringRef Prefix) { return Name.starts_with(Prefix); });
}

static AttributeMask findStringAttributes(AttributeSet Attributes) {
  AttributeMask Mask;
  for (const Attribute &A : Attributes)
    if (A.isStringAttribute() && !isOfTarget(A.getKindAsString()))
      Mask.addAttribute(A.getKindAsString());
  return Mask;
}

bool mneme::dropStringAttributes(Module &M) {
  bool Changed = false;
  for (Function &F : M) {
    AttributeList Old = F.getAttributes();
    F.removeFnAttrs(findStringAttributes(Old.getFnAttrs()));
    Changed |= F.getAttributes() != Old;
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      AttributeList OfCall = Call->getAttributes();
      Call->setAttributes(OfCall.removeFnAttributes(
          M.getContext(), findStringAttributes(OfCall.getFnAttrs())));
      Changed |= Call->getAttributes() != OfCall;
    }
  }
  return Changed;
}
