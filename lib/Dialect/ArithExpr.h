//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversion between operations of `arith` and this dialect and the
/// expressions of a study.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DIALECT_ARITHEXPR_H
#define LLVM_MNEME_LIB_DIALECT_ARITHEXPR_H

#include "mlir/IR/Builders.h"
#include "llvm/Mneme/Study/Expr.h"
#include <optional>

namespace mlir {
namespace mneme {

/// Succeeds if an operation of another dialect can be part of a study; reports
/// the reason otherwise.
LogicalResult verifyExprOp(Operation *Op);

/// Returns the expression of a verified operation, given those of its operands;
/// unset if the operation is not an expression.
llvm::mneme::Expr makeExpr(Operation *Op,
                           llvm::ArrayRef<llvm::mneme::Expr> Operands);

Value buildConstant(OpBuilder &B, Location Loc, const llvm::mneme::Value &V);
/// Builds the operation for an inner node of an expression.
Value buildOp(OpBuilder &B, Location Loc, llvm::mneme::ExprOp Op,
              llvm::mneme::ValueType Result, ValueRange Operands);

llvm::mneme::Value toValue(Attribute Constant);
Attribute toAttribute(Builder &B, const llvm::mneme::Value &V);

} // namespace mneme
} // namespace mlir

#endif // LLVM_MNEME_LIB_DIALECT_ARITHEXPR_H
