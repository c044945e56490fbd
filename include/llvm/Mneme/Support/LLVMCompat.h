//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the pass needs of LLVM and what LLVM's versions spell differently. The
/// pass is loaded into clang, so it is built for each version
/// (MNEME_PLUGIN_ONLY in docs/Compilers.rst); the tools need only one. No other
/// file of the pass asks for the version.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_LLVMCOMPAT_H
#define LLVM_MNEME_SUPPORT_LLVMCOMPAT_H

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/TargetParser/Triple.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

namespace llvm {
namespace mneme {

/// A text until LLVM 20.
inline Triple getTriple(const Module &M) { return Triple(M.getTargetTriple()); }

/// Triple::isGPU() came with LLVM 21.
inline bool isGPU(const Module &M) {
  Triple T = getTriple(M);
  return T.isNVPTX() || T.isAMDGPU() || T.isSPIRV();
}

/// The tools' LLVM. What other versions write, it reads; they cannot read what
/// it writes, and print IR that hashes differently.
inline constexpr bool IsLLVMOfTools = LLVM_VERSION_MAJOR == 22;

/// Returns true if \p F is a kernel by an annotation; since LLVM 21, kernels
/// for NVPTX have a calling convention instead.
inline bool isAnnotatedKernel(const Function &F) {
#if LLVM_VERSION_MAJOR < 21
  if (const NamedMDNode *Annotations =
          F.getParent()->getNamedMetadata("nvvm.annotations"))
    for (const MDNode *N : Annotations->operands())
      if (N->getNumOperands() &&
          mdconst::dyn_extract_or_null<Function>(N->getOperand(0)) == &F)
        for (unsigned I = 1; I + 1 < N->getNumOperands(); I += 2)
          if (auto *Key = dyn_cast<MDString>(N->getOperand(I));
              Key && Key->getString() == "kernel")
            return true;
#endif
  return false;
}

/// The attribute of pointers that a function does not capture.
#if LLVM_VERSION_MAJOR >= 21
inline constexpr Attribute::AttrKind CapturesAttr = Attribute::Captures;
#else
inline constexpr Attribute::AttrKind CapturesAttr = Attribute::NoCapture;
#endif

/// Calls an intrinsic that is not overloaded.
inline CallInst *createCall(IRBuilderBase &B, Intrinsic::ID ID,
                            ArrayRef<Value *> Args = {}) {
  return B.CreateIntrinsic(ID, ArrayRef<Type *>(), Args);
}

/// __syncthreads() for NVPTX.
inline void createNVPTXBarrier(IRBuilderBase &B) {
#if LLVM_VERSION_MAJOR >= 21
  createCall(B, Intrinsic::nvvm_barrier_cta_sync_aligned_all, {B.getInt32(0)});
#else
  createCall(B, Intrinsic::nvvm_barrier0);
#endif
}

/// Calls \p Add(PassManager, Phase) at the end of the optimizer. LLVM tells the
/// phase of LTO since version 20; before, it is None.
template <typename Callback>
void registerOptimizerLast(PassBuilder &PB, Callback Add) {
#if LLVM_VERSION_MAJOR >= 20
  PB.registerOptimizerLastEPCallback(
      [=](ModulePassManager &MPM, OptimizationLevel, ThinOrFullLTOPhase Phase) {
        Add(MPM, Phase);
      });
#else
  PB.registerOptimizerLastEPCallback(
      [=](ModulePassManager &MPM, OptimizationLevel) {
        Add(MPM, ThinOrFullLTOPhase::None);
      });
#endif
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_LLVMCOMPAT_H
