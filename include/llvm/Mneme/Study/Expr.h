//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Expressions over parameters and recorded facts of a study: bounds,
/// conditions, constraints and derived values. Immutable trees, cheap to copy.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_EXPR_H
#define LLVM_MNEME_STUDY_EXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace llvm {
namespace mneme {

/// A bool, 64-bit signed integer, real or string.
using Value = std::variant<bool, int64_t, double, std::string>;
enum class ValueType { Bool, Int, Real, Text };
ValueType getType(const Value &V);
StringRef getTypeName(ValueType T); ///< "bool", "int", "real", "text".
json::Value toJSON(const Value &V);
/// Prints a value in expression syntax: strings in double quotes, reals with a
/// point or exponent.
std::string print(const Value &V);

/// The operation of an inner node. Division and remainder truncate, ceildiv
/// rounds up. ExprOps.def lists name, spelling and number of operands.
enum class ExprOp {
#define EXPR_OP(Name, Spelling, Operands) Name,
#include "llvm/Mneme/Study/ExprOps.def"
};

/// An expression of a study.
class Expr {
public:
  enum KindTy { Constant, Parameter, Recorded, Op };

  static Expr constant(Value V);
  /// Creates a reference to a parameter or derived value.
  static Expr parameter(StringRef Name, ValueType Type);
  /// Creates a reference to a fact of the recorded launch ("block.x",
  /// "threads"; Recorded.def).
  static Expr recorded(StringRef Name);
  /// Creates an operation. The types of the operands must fit (checkOp()).
  static Expr op(ExprOp Op, ArrayRef<Expr> Operands);

  /// Creates an unset expression; only operator bool may be called on it.
  Expr() = default;
  explicit operator bool() const { return N != nullptr; }

  KindTy kind() const;
  ValueType type() const;
  const Value &value() const; ///< For Constant.
  StringRef name() const;     ///< For Parameter and Recorded.
  ExprOp op() const;          ///< For Op.
  ArrayRef<Expr> operands() const;

  /// Returns the value of a parameter or a recorded fact, according to \p Kind.
  using LookupFn = function_ref<Expected<Value>(StringRef Name, KindTy Kind)>;
  /// Evaluates the expression. &&, || and ?: evaluate only the necessary
  /// operands. Fails on division by zero, overflow and errors of \p Lookup.
  Expected<Value> evaluate(LookupFn Lookup) const;

  /// Substitutes the values that \p Known returns and folds constants.
  Expr fold(function_ref<std::optional<Value>(StringRef Name, KindTy Kind)>
                Known) const;

  /// Prints in the syntax of parseExpr(), with the necessary brackets.
  std::string print() const;

private:
  struct Node;
  std::shared_ptr<const Node> N;
};

/// The minimum and maximum value; unset if unknown.
using ValueRange = std::optional<std::pair<Value, Value>>;

/// Returns the range of \p E, if it can be computed, for the ranges of
/// parameters and recorded facts that \p Of returns.
ValueRange
getRange(const Expr &E,
         function_ref<ValueRange(StringRef Name, Expr::KindTy Kind)> Of);

/// Computes any operator except &&, || and ?:. Fails like evaluate(). Unary
/// operators ignore \p B.
Expected<Value> computeOp(ExprOp Op, const Value &A, const Value &B);

/// \returns the type of the result, or an error about the types of the
/// operands.
Expected<ValueType> checkOp(ExprOp Op, ArrayRef<ValueType> Operands);

/// Parses text like "ceildiv(recorded.threads, block.x) * 2 <= 1024 &&
/// !specialize". Operators are those of C (|| && ^ == != < <= > >= + - * / % !
/// ?:), functions are min, max, ceildiv, pow2, log2, int and real. A name is
/// "recorded.NAME" or a parameter with a type from \p TypeOf; names with
/// characters other than letters, digits, '_', '$' and '.' need `backquotes`.
/// Integers among reals become reals. Errors are TextErrors.
Expected<Expr>
parseExpr(StringRef Text,
          function_ref<Expected<ValueType>(StringRef Parameter)> TypeOf);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_EXPR_H
