//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Types and names of studies, as the dialect uses them.
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

/// Prefix of the LLVM options in configurations: "llvm.NAME".
inline constexpr llvm::StringLiteral OptionPrefix = "llvm.";

/// Returns the parameter's name in studies; that of an option has the prefix.
std::string getFullName(ParameterOpInterface Op);


Type getType(MLIRContext *Context, ValueType T);
/// Returns std::nullopt if studies do not have the type.
std::optional<ValueType> getValueType(Type T);
/// Returns the type of a literal; std::nullopt if \p Constant is not a literal.
std::optional<ValueType> getValueType(Attribute Constant);

} // namespace mneme
} // namespace mlir

#endif // LLVM_MNEME_LIB_DIALECT_NAMES_H
