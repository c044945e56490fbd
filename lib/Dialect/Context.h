//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Setup of an MLIRContext for studies.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DIALECT_CONTEXT_H
#define LLVM_MNEME_LIB_DIALECT_CONTEXT_H

namespace mlir {
class MLIRContext;
namespace mneme {

void loadDialects(MLIRContext &Context);

} // namespace mneme
} // namespace mlir

#endif // LLVM_MNEME_LIB_DIALECT_CONTEXT_H
