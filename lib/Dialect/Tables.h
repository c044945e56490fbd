//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tables of studies as the dialect sees them: fields, metrics, types.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DIALECT_TABLES_H
#define LLVM_MNEME_LIB_DIALECT_TABLES_H

#include "llvm/Mneme/Dialect/Mneme.h"
#include "llvm/Mneme/Tune/Expr.h"
#include <optional>

namespace mlir {
namespace mneme {

using llvm::mneme::ValueType;

/// A line of Replay/Config.def.
struct Field {
  llvm::StringLiteral Key;
  ValueType Type;
  bool Compiles;
};
/// Null: there is no field of that name.
const Field *findField(llvm::StringRef Key);
bool isMetric(llvm::StringRef Name);

/// What LLVM's options are called in configurations: "llvm.NAME".
inline constexpr llvm::StringLiteral OptionPrefix = "llvm.";

/// The name of a parameter in studies: that of an option has its prefix.
std::string getFullName(ParameterOpInterface Op);

/// "; did you mean 'X'?", or nothing if no name is near.
std::string suggestField(llvm::StringRef Key);
std::string suggestMetric(llvm::StringRef Name);
std::string suggestRecorded(llvm::StringRef Name);

Type getType(MLIRContext *Context, ValueType T);
/// Unset: no type of a study.
std::optional<ValueType> getValueType(Type T);
/// Of a literal; unset: it is none.
std::optional<ValueType> getValueType(Attribute Constant);

} // namespace mneme
} // namespace mlir

#endif // LLVM_MNEME_LIB_DIALECT_TABLES_H
