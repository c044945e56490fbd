//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

bool mneme::isKernel(const Function &F) {
  return !F.isDeclaration() &&
         (F.getCallingConv() == CallingConv::PTX_Kernel ||
          F.getCallingConv() == CallingConv::AMDGPU_KERNEL ||
          F.getCallingConv() == CallingConv::SPIR_KERNEL ||
          isAnnotatedKernel(F));
}

/// Clang discards the names of arguments; debug info retains them.
static void nameFromDebugInfo(const Function &F, std::vector<KernelArg> &Args) {
  const DISubprogram *SP = F.getSubprogram();
  if (!SP)
    return;
  auto Note = [&](const DILocalVariable *V) {
    unsigned Number = V ? V->getArg() : 0;
    if (Number && Number <= Args.size() && Args[Number - 1].Name.empty() &&
        V->getScope() == SP)
      Args[Number - 1].Name = V->getName().str();
  };
  for (const DINode *N : SP->getRetainedNodes())
    Note(dyn_cast_or_null<DILocalVariable>(N));
  for (const Instruction &I : instructions(F))
    for (const DbgVariableRecord &R : filterDbgVars(I.getDbgRecordRange()))
      Note(R.getVariable());
}

std::vector<KernelArg> mneme::describeArgs(const Module &M, StringRef Kernel) {
  std::vector<KernelArg> Args;
  const Function *F = M.getFunction(Kernel);
  if (!F)
    return Args;
  const DataLayout &DL = M.getDataLayout();
  uint64_t Offset = 0;
  for (const Argument &A : F->args()) {
    KernelArg Arg;
    Type *T = A.getType();
    Align Alignment = DL.getABITypeAlign(T);
    if (Type *Pointee = A.hasByValAttr()   ? A.getParamByValType()
                        : A.hasByRefAttr() ? A.getParamByRefType()
                                           : nullptr) {
      T = Pointee;
      Alignment = A.getParamAlign().value_or(DL.getABITypeAlign(T));
      Arg.Kind = MNEME_ARG_AGGREGATE;
    } else if (T->isPointerTy()) {
      Arg.Kind = MNEME_ARG_POINTER;
    } else if (T->isAggregateType()) {
      Arg.Kind = MNEME_ARG_AGGREGATE;
    }
    Offset = alignTo(Offset, Alignment);
    Arg.Offset = Offset;
    Arg.Size = DL.getTypeAllocSize(T);
    Offset += Arg.Size;
    Arg.Name = A.getName().str();
    raw_string_ostream OS(Arg.Type);
    T->print(OS, /*IsForDebug=*/false, /*NoDetails=*/true);
    Args.push_back(std::move(Arg));
  }
  nameFromDebugInfo(*F, Args);
  return Args;
}
