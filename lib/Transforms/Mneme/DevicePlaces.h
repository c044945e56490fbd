//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a thread is in its launch, and where memory is on its device, for
/// passes that add code to kernels of NVPTX and AMDGPU.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_DEVICEPLACES_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_DEVICEPLACES_H

#include "llvm/IR/IRBuilder.h"

namespace llvm {
namespace mneme {

/// Of NVPTX and AMDGPU.
constexpr unsigned GlobalAddressSpace = 1, SharedAddressSpace = 3;

/// Whether this thread is (0, 0, 0) of its block, as an i1.
Value *createIsFirstThread(IRBuilderBase &B);
/// Whether its block is (0, 0, 0) of the grid.
Value *createIsFirstBlock(IRBuilderBase &B);

/// The first instruction of \p F behind its local variables of a fixed size,
/// which are moved together: the entry block may be split there.
BasicBlock::iterator moveLocalsToFront(Function &F);

/// False for what is known to be a thread's own, a block's, constant or a
/// parameter.
bool canBeDeviceMemory(const Value *Pointer);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_DEVICEPLACES_H
