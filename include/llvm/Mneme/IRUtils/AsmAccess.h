//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory that inline assembly accesses, and assembly that accesses none.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_ASMACCESS_H
#define LLVM_MNEME_IRUTILS_ASMACCESS_H

#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace llvm {
class CallBase;
class InlineAsm;
class Type;
class Value;

namespace mneme {

/// An access by an address that inline assembly is given.
struct AsmAccess {
  const Value *Address; ///< A pointer or an integer.
  bool IsLoad, IsStore;
  bool IsOwn = false; ///< In shared or local memory.
  /// Of the value in memory; null if unknown, or if it is not at the address
  /// itself.
  Type *Ty = nullptr;
};

/// Returns the accesses of a call of inline assembly. LLVM takes assembly
/// without a clobber for memory(none), although it may load: CUDA's __ldcs().
/// If the text is not understood, all arguments that can be addresses are
/// loaded from and stored to. Empty for other calls.
SmallVector<AsmAccess, 2> findAsmAccesses(const CallBase &Call);

/// Returns N if the text of inline assembly has an argument as "$N"; unset if
/// that is an output, too.
std::optional<unsigned> findAsmOperand(const CallBase &Call, unsigned Argument);

/// Returns true for PTX that computes with its operands, as in libdevice: no
/// special registers (%), memory ([), branches, or other threads.
bool isArithmeticPTX(const InlineAsm &Asm);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_ASMACCESS_H
