//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

void mneme::setImageVariables(Module &M, ArrayRef<ImageVariable> Variables) {
  LLVMContext &Context = M.getContext();
  NamedMDNode *List = M.getOrInsertNamedMetadata(ImageVariablesMetadata);
  List->clearOperands();
  auto Number = [&](uint64_t N) {
    return ConstantAsMetadata::get(
        ConstantInt::get(Type::getInt64Ty(Context), N));
  };
  for (const ImageVariable &V : Variables)
    List->addOperand(MDNode::get(
        Context,
        {MDString::get(Context, V.Name), Number(V.Size), Number(V.Alignment),
         Number(V.AddressSpace), Number(V.IsLocal)}));
}

static std::optional<ImageVariable> readVariable(const MDNode &N) {
  constexpr unsigned NumNumbers = 4;
  if (N.getNumOperands() != NumNumbers + 1)
    return std::nullopt;
  uint64_t Numbers[NumNumbers];
  for (unsigned I = 0; I != NumNumbers; ++I) {
    const MDOperand &Operand = N.getOperand(I + 1);
    auto *Number = mdconst::dyn_extract_or_null<ConstantInt>(Operand);
    if (!Number || Number->getBitWidth() != 64)
      return std::nullopt;
    Numbers[I] = Number->getZExtValue();
  }
  auto *Name = dyn_cast_or_null<MDString>(N.getOperand(0));
  if (!Name || !isPowerOf2_64(Numbers[1]))
    return std::nullopt;
  return ImageVariable{Name->getString().str(), Numbers[0], Numbers[1],
                       Numbers[2], Numbers[3] != 0};
}

std::vector<ImageVariable> mneme::getImageVariables(const Module &M) {
  std::vector<ImageVariable> Variables;
  if (const NamedMDNode *List = M.getNamedMetadata(ImageVariablesMetadata))
    for (const MDNode *N : List->operands())
      if (std::optional<ImageVariable> V = readVariable(*N))
        Variables.push_back(std::move(*V));
  return Variables;
}

void mneme::setHasOtherKernels(Module &M) {
  M.getOrInsertNamedMetadata(OtherKernelsMetadata);
}

bool mneme::hasOtherKernels(const Module &M) {
  return M.getNamedMetadata(OtherKernelsMetadata) != nullptr;
}

void mneme::setImageOnly(Module &M, StringRef Digest) {
  LLVMContext &C = M.getContext();
  NamedMDNode *Node = M.getOrInsertNamedMetadata(ImageOnlyMetadata);
  Node->clearOperands();
  Node->addOperand(MDNode::get(C, MDString::get(C, Digest)));
}

bool mneme::isImageOnly(const Module &M) {
  return M.getNamedMetadata(ImageOnlyMetadata) != nullptr;
}
