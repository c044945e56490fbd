//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_INLINEPTX_H
#define LLVM_MNEME_IRUTILS_INLINEPTX_H

namespace llvm {
class InlineAsm;
namespace mneme {

/// Returns true for PTX that computes with its operands, as in libdevice: no
/// special registers (%), memory ([), branches, or other threads.
bool isArithmeticPTX(const InlineAsm &Asm);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_INLINEPTX_H
