//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operations of `arith` and this dialect as expressions of a study, and back.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DIALECT_ARITHEXPR_H
#define LLVM_MNEME_LIB_DIALECT_ARITHEXPR_H

#include "mlir/IR/Builders.h"
#include "llvm/Mneme/Study/Expr.h"
#include <optional>

namespace mlir {
namespace mneme {

/// Can the operation of another dialect be part of a study? Reports why not.
LogicalResult verifyExprOp(Operation *Op);

/// The expression of an operation over those of its operands; unset: it is
/// none. The operation is verified.
llvm::mneme::Expr makeExpr(Operation *Op,
                           llvm::ArrayRef<llvm::mneme::Expr> Operands);

Value buildConstant(OpBuilder &B, Location Loc, const llvm::mneme::Value &V);
/// The operation for an inner node of an expression.
Value buildOp(OpBuilder &B, Location Loc, llvm::mneme::ExprOp Op,
              llvm::mneme::ValueType Result, ValueRange Operands);

llvm::mneme::Value toValue(Attribute Constant);
Attribute toAttribute(Builder &B, const llvm::mneme::Value &V);

} // namespace mneme
} // namespace mlir

#endif // LLVM_MNEME_LIB_DIALECT_ARITHEXPR_H
