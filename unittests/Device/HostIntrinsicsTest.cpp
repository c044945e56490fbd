//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which intrinsics of NVPTX the host device executes.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Passes/PassBuilder.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// Adds a function that only calls \p ID, and has its name.
void addCall(Module &M, Intrinsic::ID ID) {
  IRBuilder<> B(M.getContext());
  SmallVector<Type *, 1> Overloads;
  if (Intrinsic::isOverloaded(ID))
    Overloads.push_back(B.getPtrTy());
  Function *Callee = Intrinsic::getOrInsertDeclaration(&M, ID, Overloads);
  Function *F = Function::Create(FunctionType::get(B.getVoidTy(), false),
                                 GlobalValue::ExternalLinkage,
                                 Intrinsic::getBaseName(ID).drop_front(5), M);
  B.SetInsertPoint(BasicBlock::Create(M.getContext(), "", F));
  SmallVector<Value *, 8> Args;
  for (Type *Ty : Callee->getFunctionType()->params())
    Args.push_back(Constant::getNullValue(Ty));
  B.CreateCall(Callee, Args);
  B.CreateRetVoid();
}

void lower(Module &M) {
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB;
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CGAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  HostIntrinsicsPass().run(M, MAM);
}

bool isRefused(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    auto *Call = dyn_cast<CallInst>(&I);
    return Call && Call->getCalledFunction() &&
           Call->getCalledFunction()->getName() == "__mneme_host_unsupported";
  });
}

/// The intrinsics of sm_80 to sm_90 for matrices, asynchronous copies and
/// synchronization, except for those of the newer architectures and for the
/// few below.
TEST(HostIntrinsics, LowersMatricesCopiesAndBarriers) {
  constexpr StringLiteral Families[] = {
      "mma.",     "wmma.",      "ldmatrix.", "stmatrix.",      "mbarrier.",
      "cp.async", "barrier.",   "bar.",      "griddepcontrol", "elect.",
      "fence.",   "setmaxnreg", "redux.",    "match.",         "prefetch"};
  constexpr StringLiteral Missing[] = {
      // Sparse matrices, block scaling and narrow formats.
      "mma.sp.", "block.scale", ".kind.", ".b8",
      // Rounding of f64 other than to nearest.
      ".rm.f64", ".rp.f64", ".rz.f64",
      // Tensor maps.
      "bulk.tensor", "bytemask"};
  LLVMContext C;
  Module M("test", C);
  M.setTargetTriple(Triple("nvptx64-nvidia-cuda"));
  for (Intrinsic::ID ID = 1; ID != Intrinsic::num_intrinsics; ++ID) {
    StringRef Name = Intrinsic::getBaseName(ID);
    if (!Name.consume_front("llvm.nvvm.") ||
        none_of(Families, [&](StringRef F) { return Name.starts_with(F); }))
      continue;
    addCall(M, ID);
  }
  lower(M);
  unsigned Lowered = 0;
  for (const Function &F : M) {
    StringRef Name = F.getName();
    if (F.isDeclaration() || !Name.consume_front("nvvm."))
      continue;
    bool IsMissing =
        any_of(Missing, [&](StringRef Part) { return Name.contains(Part); });
    EXPECT_EQ(isRefused(F), IsMissing) << Name.str();
    Lowered += !IsMissing;
  }
  EXPECT_GT(Lowered, 400u);
}

} // namespace
