//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Types and names of studies as the dialect sees them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DIALECT_NAMES_H
#define LLVM_MNEME_LIB_DIALECT_NAMES_H

#include "llvm/Mneme/Dialect/Mneme.h"
#include "llvm/Mneme/Study/Expr.h"
#include <optional>

namespace mlir {
namespace mneme {

using llvm::mneme::ValueType;

/// What LLVM's options are called in configurations: "llvm.NAME".
inline constexpr llvm::StringLiteral OptionPrefix = "llvm.";

/// The name of a parameter in studies: that of an option has its prefix.
std::string getFullName(ParameterOpInterface Op);


Type getType(MLIRContext *Context, ValueType T);
/// Unset: no type of a study.
std::optional<ValueType> getValueType(Type T);
/// Of a literal; unset: it is none.
std::optional<ValueType> getValueType(Attribute Constant);

} // namespace mneme
} // namespace mlir

#endif // LLVM_MNEME_LIB_DIALECT_NAMES_H
