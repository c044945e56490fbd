//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;
using namespace llvm::mneme;

void mneme::registerHostPasses(PassBuilder &PB) {
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &MPM,
         ArrayRef<PassBuilder::PipelineElement>) {
#define HOST_PASS(NAME, CLASS, DESC)                                           \
  if (Name == NAME) {                                                          \
    MPM.addPass(CLASS());                                                      \
    return true;                                                               \
  }
#include "llvm/Mneme/Device/Host/HostPasses.def"
        return false;
      });
}

static constexpr StringLiteral ErrorName = "mneme.error";

void mneme::setLoweringError(Module &M, const Twine &Message) {
  LLVMContext &C = M.getContext();
  M.getOrInsertNamedMetadata(ErrorName)->addOperand(
      MDNode::get(C, MDString::get(C, Message.str())));
}

Error mneme::takeLoweringError(Module &M) {
  NamedMDNode *Node = M.getNamedMetadata(ErrorName);
  if (!Node || Node->getNumOperands() == 0)
    return Error::success();
  // Only the first error: the others may be consequences.
  std::string Text =
      cast<MDString>(Node->getOperand(0)->getOperand(0))->getString().str();
  Node->eraseFromParent();
  return createStringError(Text);
}
