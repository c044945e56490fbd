//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Thread and block indices and address spaces, for passes that add code to
/// kernels for NVPTX and AMDGPU.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_DEVICEPLACES_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_DEVICEPLACES_H

#include "llvm/IR/IRBuilder.h"

namespace llvm {
namespace mneme {

/// Numbers that NVPTX and AMDGPU have in common.
constexpr unsigned GlobalAddressSpace = 1, SharedAddressSpace = 3,
                   ConstantAddressSpace = 4;

/// Returns an i1: whether this thread is (0, 0, 0) in its block.
Value *createIsFirstThread(IRBuilderBase &B);
/// Returns an i1: whether this thread's block is (0, 0, 0) in the grid.
Value *createIsFirstBlock(IRBuilderBase &B);

/// Moves the static allocas of \p F to the front of the entry block. Returns
/// the first instruction after them, at which the block may be split.
BasicBlock::iterator moveLocalsToFront(Function &F);

/// Returns false if \p Pointer is known to point to local, shared or constant
/// memory or to a parameter.
bool canBeDeviceMemory(const Value *Pointer);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_DEVICEPLACES_H
