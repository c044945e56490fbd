//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/ConstantVariables.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

void mneme::setConstantVariables(Module &M,
                                 ArrayRef<ConstantVariable> Variables) {
  LLVMContext &Context = M.getContext();
  NamedMDNode *List = M.getOrInsertNamedMetadata(ConstantVariablesMetadata);
  List->clearOperands();
  auto Number = [&](uint64_t N) {
    return ConstantAsMetadata::get(
        ConstantInt::get(Type::getInt64Ty(Context), N));
  };
  for (const ConstantVariable &V : Variables)
    List->addOperand(MDNode::get(
        Context, {MDString::get(Context, V.Name), Number(V.Size),
                  Number(V.Alignment)}));
}

std::vector<ConstantVariable> mneme::getConstantVariables(const Module &M) {
  std::vector<ConstantVariable> Variables;
  const NamedMDNode *List = M.getNamedMetadata(ConstantVariablesMetadata);
  if (!List)
    return Variables;
  for (const MDNode *N : List->operands()) {
    if (N->getNumOperands() != 3)
      continue;
    auto *Name = dyn_cast_or_null<MDString>(N->getOperand(0));
    auto *Size = mdconst::dyn_extract_or_null<ConstantInt>(N->getOperand(1));
    auto *Alignment =
        mdconst::dyn_extract_or_null<ConstantInt>(N->getOperand(2));
    if (Name && Size && Alignment && Size->getBitWidth() == 64 &&
        Alignment->getBitWidth() == 64 &&
        isPowerOf2_64(Alignment->getZExtValue()))
      Variables.push_back({Name->getString().str(), Size->getZExtValue(),
                           Alignment->getZExtValue()});
  }
  return Variables;
}
