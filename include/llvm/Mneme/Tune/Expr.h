//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Expressions over a study's parameters and what was recorded: bounds,
/// conditions, constraints, derived values. Immutable trees, cheap to copy.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_EXPR_H
#define LLVM_MNEME_TUNE_EXPR_H

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

/// bool, 64-bit signed integer, real, text.
using Value = std::variant<bool, int64_t, double, std::string>;
enum class ValueType { Bool, Int, Real, Text };
ValueType getType(const Value &V);
StringRef getTypeName(ValueType T); ///< "bool", "int", "real", "text".
json::Value toJSON(const Value &V);
/// As in an expression: texts in double quotes, reals with a point or exponent.
std::string print(const Value &V);

/// What an inner node computes. Division and remainder truncate, ceildiv
/// rounds up; min, max, shifts and logic as one expects. One line each in
/// ExprOps.def: name, spelling, number of operands.
enum class ExprOp {
#define EXPR_OP(Name, Spelling, Operands) Name,
#include "llvm/Mneme/Tune/ExprOps.def"
};

class Expr {
public:
  enum KindTy { Constant, Parameter, Recorded, Op };

  static Expr constant(Value V);
  /// The value of the parameter, or of the derived value, of this name.
  static Expr parameter(StringRef Name, ValueType Type);
  /// A fact of the recorded launch ("block.x", "threads"; Recorded.def).
  static Expr recorded(StringRef Name);
  /// Operands have fitting types (checkOp()).
  static Expr op(ExprOp Op, ArrayRef<Expr> Operands);

  /// An unset expression; nothing may be asked of it.
  Expr() = default;
  explicit operator bool() const { return N != nullptr; }

  KindTy kind() const;
  ValueType type() const;
  const Value &value() const;  ///< Of a Constant.
  StringRef name() const;      ///< Of a Parameter or Recorded.
  ExprOp op() const;           ///< Of an Op.
  ArrayRef<Expr> operands() const;

  /// Where the values of parameters and recorded facts come from. The last
  /// argument says which.
  using LookupFn = function_ref<Expected<Value>(StringRef Name, KindTy Kind)>;
  /// && || and ?: leave out what they do not need. Errors: division by zero,
  /// overflow, what \p Lookup says.
  Expected<Value> evaluate(LookupFn Lookup) const;

  /// The same with what \p Known knows put in and computed as far as it goes.
  Expr fold(function_ref<std::optional<Value>(StringRef Name, KindTy Kind)>
                Known) const;

  /// In the syntax of parseExpr(), fully bracketed where it matters.
  std::string print() const;

private:
  struct Node;
  std::shared_ptr<const Node> N;
};

/// The least and the greatest value; unset: not known.
using ValueRange = std::optional<std::pair<Value, Value>>;

/// What \p E is within, where it can be computed, when parameters and recorded
/// facts are within what \p Of says.
ValueRange
getRange(const Expr &E,
         function_ref<ValueRange(StringRef Name, Expr::KindTy Kind)> Of);

/// The result of an operator but && || and ?:. Errors: as evaluate().
/// \p B  of an operator with one operand: anything.
Expected<Value> computeOp(ExprOp Op, const Value &A, const Value &B);

/// \returns the type of the result, or what is wrong with the operands' types.
Expected<ValueType> checkOp(ExprOp Op, ArrayRef<ValueType> Operands);

/// Parses "ceildiv(recorded.threads, block.x) * 2 <= 1024 && !specialize".
/// Operators as in C (|| && ^ == != < <= > >= + - * / % ! ?:), functions min,
/// max, ceildiv, pow2, log2, int, real. Names: "recorded.NAME", else a
/// parameter whose type \p TypeOf tells; `in backquotes` if it is not made of
/// letters, digits, '_', '$' and '.'. Integers among reals become reals. Errors
/// have a column: "column 7: expected ')'".
Expected<Expr>
parseExpr(StringRef Text,
          function_ref<Expected<ValueType>(StringRef Parameter)> TypeOf);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_EXPR_H
