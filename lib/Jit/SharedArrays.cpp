//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileRequest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral MarkerAttr = "mneme-shared-array";

/// Returns the number of bytes that all calls of \p F ask for, if it is a
/// constant: (count, bytes of an element).
static std::optional<uint64_t> findSize(const Function &F) {
  uint64_t Size = 0;
  for (const Use &U : F.uses()) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    if (!Call || !Call->isCallee(&U) || Call->arg_size() < 2)
      return std::nullopt;
    auto *Count = dyn_cast<ConstantInt>(Call->getArgOperand(0));
    auto *Element = dyn_cast<ConstantInt>(Call->getArgOperand(1));
    constexpr uint64_t MaxBytes = 1 << 20;
    if (!Count || !Element || Element->isZero() ||
        Count->getZExtValue() > MaxBytes / Element->getZExtValue())
      return std::nullopt;
    Size = std::max(Size, Count->getZExtValue() * Element->getZExtValue());
  }
  return Size;
}

void llvm::mneme::resolveSharedArrays(Module &M) {
  SmallVector<Function *, 4> Markers;
  for (Function &F : M)
    if (F.hasFnAttribute(MarkerAttr) && !F.use_empty())
      Markers.push_back(&F);
  if (Markers.empty())
    return;
  // The sizes may come through other functions.
  runPasses(M, "function(sroa,early-cse),cgscc(inline),ipsccp,"
               "function(sroa,early-cse,instcombine<no-verify-fixpoint>)");
  constexpr unsigned Shared = 3;
  for (Function *F : Markers) {
    F->removeFnAttr(llvm::Attribute::NoInline);
    std::optional<uint64_t> Size = findSize(*F);
    if (!Size || F->use_empty())
      continue;
    Type *T = ArrayType::get(Type::getInt8Ty(M.getContext()), *Size);
    auto *Array = new GlobalVariable(
        M, T, /*isConstant=*/false, GlobalValue::InternalLinkage,
        PoisonValue::get(T), "mneme.shared", nullptr,
        GlobalValue::NotThreadLocal, Shared);
    Array->setAlignment(Align(16));
    for (User *U : make_early_inc_range(F->users())) {
      auto *Call = cast<CallBase>(U);
      Call->replaceAllUsesWith(ConstantExpr::getPointerBitCastOrAddrSpaceCast(
          Array, Call->getType()));
      Call->eraseFromParent();
    }
  }
}
