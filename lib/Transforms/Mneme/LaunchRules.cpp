//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchRules.h"
#include "SideFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// The side file: a line per rule, "kernel from.x from.y from.z to.x to.y to.z"
//===----------------------------------------------------------------------===//

Error mneme::writeLaunchRules(const Module &M,
                              const std::vector<LaunchRule> &Rules) {
  std::string Text, Target = getTriple(M).str();
  raw_string_ostream OS(Text);
  for (const LaunchRule &R : Rules) {
    OS << R.Kernel;
    for (const uint32_t *Sizes : {R.From, R.To})
      OS << ' ' << Sizes[0] << ' ' << Sizes[1] << ' ' << Sizes[2];
    OS << '\n';
  }
  for (const Function &F : M)
    if (F.hasFnAttribute("target-cpu"))
      Target += F.getFnAttribute("target-cpu").getValueAsString();
  return writeSideFile(M.getSourceFileName(), Target, Text,
                       SideFile::LaunchRules);
}

Expected<std::vector<LaunchRule>> mneme::takeLaunchRules(const Module &M) {
  Expected<std::vector<std::string>> Texts =
      takeSideFiles(M.getSourceFileName(), SideFile::LaunchRules);
  std::vector<LaunchRule> Rules;
  // Without the folder there are no payloads either, for which there is a
  // warning. Kernels of launch rules are correct for all launches.
  if (!Texts)
    consumeError(Texts.takeError());
  if (!Texts || Texts->empty())
    return Rules;
  for (const std::string &Text : *Texts)
    if (Text != Texts->front())
      return createStringError(
          "tuned kernels of '" + M.getSourceFileName() +
          "' have other launches for some architectures only: compile for one, "
          "or use a package at run time (llvm-mneme-deploy)");
  for (StringRef Line : split(StringRef(Texts->front()).rtrim(), '\n')) {
    SmallVector<StringRef, 7> Words;
    Line.split(Words, ' ', -1, /*KeepEmpty=*/false);
    if (Words.size() != 7)
      continue;
    LaunchRule &R = Rules.emplace_back();
    R.Kernel = Words[0].str();
    for (unsigned Axis = 0; Axis != 3; ++Axis)
      if (Words[1 + Axis].getAsInteger(10, R.From[Axis]) ||
          Words[4 + Axis].getAsInteger(10, R.To[Axis]) || R.From[Axis] == 0 ||
          R.To[Axis] == 0)
        return createStringError("damaged launch rules of '" +
                                 M.getSourceFileName() + "'");
  }
  return Rules;
}

//===----------------------------------------------------------------------===//
// Launch stubs
//===----------------------------------------------------------------------===//

/// Returns the call that reads the launch of a stub's caller; null if \p Stub
/// has none.
static CallInst *findConfiguration(Function &Stub) {
  for (Instruction &I : instructions(Stub))
    if (auto *Call = dyn_cast<CallInst>(&I))
      if (const Function *Callee = Call->getCalledFunction();
          Callee && Callee->getName() == "__cudaPopCallConfiguration" &&
          Call->arg_size() == 4)
        return Call;
  return nullptr;
}

/// The proof that a launch may be changed holds for fewer than 2^31 threads
/// along each axis. A launch that would fail must still fail.
Error mneme::addLaunchRule(Function &Stub, const LaunchRule &Rule) {
  CallInst *Call = findConfiguration(Stub);
  if (!Call)
    return createStringError("the launch of kernel '" + Rule.Kernel +
                             "' cannot be changed: '" + Stub.getName() +
                             "' is not a launch stub of CUDA 9.2 or later");
  constexpr uint64_t MaxThreads = 0x7fffffff, MaxBlocksYZ = 65535;
  IRBuilder<> B(Call->getNextNode());
  Type *I32 = B.getInt32Ty(), *I64 = B.getInt64Ty();
  Value *Places[2][3], *Old[2][3], *New[3];
  Value *Applies = B.getTrue();
  auto Require = [&](Value *Condition) {
    Applies = B.CreateAnd(Applies, Condition);
  };
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    for (unsigned What = 0; What != 2; ++What) { // The grid, the block.
      Places[What][Axis] =
          B.CreateConstInBoundsGEP1_32(I32, Call->getArgOperand(What), Axis);
      Old[What][Axis] = B.CreateLoad(I32, Places[What][Axis]);
    }
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    auto [Grid, Block] = std::pair(Old[0][Axis], Old[1][Axis]);
    Value *To = ConstantInt::get(I64, Rule.To[Axis]);
    Value *Threads =
        B.CreateMul(B.CreateZExt(Grid, I64), B.CreateZExt(Block, I64));
    Value *Blocks = B.CreateUDiv(Threads, To);
    Require(B.CreateICmpEQ(Block, ConstantInt::get(I32, Rule.From[Axis])));
    Require(B.CreateICmpNE(Grid, ConstantInt::get(I32, 0)));
    Require(B.CreateICmpULE(Threads, ConstantInt::get(I64, MaxThreads)));
    Require(B.CreateICmpEQ(B.CreateMul(Blocks, To), Threads));
    if (Axis != 0) {
      Require(B.CreateICmpULE(Grid, ConstantInt::get(I32, MaxBlocksYZ)));
      Require(B.CreateICmpULE(Blocks, ConstantInt::get(I64, MaxBlocksYZ)));
    }
    New[Axis] = B.CreateTrunc(Blocks, I32);
  }
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    B.CreateStore(B.CreateSelect(Applies, New[Axis], Old[0][Axis]),
                  Places[0][Axis]);
    B.CreateStore(B.CreateSelect(Applies, ConstantInt::get(I32, Rule.To[Axis]),
                                 Old[1][Axis]),
                  Places[1][Axis]);
  }
  return Error::success();
}
