//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Names.h"
#include "llvm/Mneme/Study/Recorded.h"

using namespace mlir;
using namespace mlir::mneme;

std::string mlir::mneme::getFullName(ParameterOpInterface Op) {
  StringRef Prefix = Op.getOption() ? OptionPrefix : llvm::StringLiteral("");
  return (Prefix + Op.getParamName()).str();
}

Type mlir::mneme::getType(MLIRContext *Context, ValueType T) {
  switch (T) {
  case ValueType::Bool:
    return IntegerType::get(Context, 1);
  case ValueType::Int:
    return IntegerType::get(Context, 64);
  case ValueType::Real:
    return Float64Type::get(Context);
  case ValueType::Text:
    return TextType::get(Context);
  }
  llvm_unreachable("a type of a value");
}

std::optional<ValueType> mlir::mneme::getValueType(Type T) {
  if (T.isSignlessInteger(1))
    return ValueType::Bool;
  if (T.isSignlessInteger(64))
    return ValueType::Int;
  if (T.isF64())
    return ValueType::Real;
  if (isa<TextType>(T))
    return ValueType::Text;
  return std::nullopt;
}

std::optional<ValueType> mlir::mneme::getValueType(Attribute Constant) {
  if (isa<StringAttr>(Constant))
    return ValueType::Text;
  if (isa<IntegerAttr, FloatAttr>(Constant))
    return getValueType(cast<TypedAttr>(Constant).getType());
  return std::nullopt;
}
