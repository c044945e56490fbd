//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval arithmetic, which rejects whole ranges of values at once.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Study/Expr.h"

using namespace llvm;
using namespace llvm::mneme;

static bool isSingle(const ValueRange &R) {
  return R && R->first == R->second;
}

static ValueRange makeRange(Value Low, Value High) {
  return std::make_pair(std::move(Low), std::move(High));
}

static ValueRange makeBool(bool V) { return makeRange(V, V); }

static bool isAlways(const ValueRange &R, bool V) {
  return isSingle(R) && std::get<bool>(R->first) == V;
}

/// Returns the range of an operation that is monotonic in each operand: its
/// bounds are at the corners. Unset if a corner cannot be computed.
static ValueRange getCorners(ExprOp Op, const ValueRange &A,
                             const ValueRange &B) {
  ValueRange Result;
  for (const Value *X : {&A->first, &A->second})
    for (const Value *Y : {&B->first, &B->second}) {
      Expected<Value> V = computeOp(Op, *X, *Y);
      if (!V) {
        consumeError(V.takeError());
        return std::nullopt;
      }
      if (!Result)
        Result = makeRange(*V, *V);
      else
        Result = makeRange(std::min(Result->first, *V),
                           std::max(Result->second, *V));
    }
  return Result;
}

/// The operands are ranges of integers.
static ValueRange getRemainder(const ValueRange &A, const ValueRange &B) {
  if (isSingle(A) && isSingle(B))
    return getCorners(ExprOp::Rem, A, B);
  int64_t Low = std::get<int64_t>(A->first);
  int64_t High = std::get<int64_t>(A->second);
  int64_t Divisor = std::get<int64_t>(B->second);
  if (Low < 0 || std::get<int64_t>(B->first) <= 0)
    return std::nullopt;
  if (isSingle(B) && Low / Divisor == High / Divisor)
    return makeRange(Low % Divisor, High % Divisor);
  return makeRange(int64_t(0), std::min(High, Divisor - 1));
}

static ValueRange getEquality(bool IsEq, const ValueRange &A,
                              const ValueRange &B) {
  if (isSingle(A) && isSingle(B))
    return makeBool((A->first == B->first) == IsEq);
  if (A->second < B->first || B->second < A->first)
    return makeBool(!IsEq);
  return std::nullopt;
}

/// Returns true if a range of integers or reals contains zero.
static bool hasZero(const ValueRange &R) {
  if (const int64_t *Low = std::get_if<int64_t>(&R->first))
    return *Low <= 0 && std::get<int64_t>(R->second) >= 0;
  return std::get<double>(R->first) <= 0 && std::get<double>(R->second) >= 0;
}

static ValueRange getLogic(ExprOp Op, const ValueRange &A,
                           const ValueRange &B) {
  bool IsAnd = Op == ExprOp::And;
  if (isAlways(A, !IsAnd) || isAlways(B, !IsAnd))
    return makeBool(!IsAnd);
  if (isAlways(A, IsAnd))
    return B;
  if (isAlways(B, IsAnd))
    return A;
  return std::nullopt;
}

static ValueRange getUnion(const ValueRange &A, const ValueRange &B) {
  if (!A || !B)
    return std::nullopt;
  return makeRange(std::min(A->first, B->first),
                   std::max(A->second, B->second));
}

ValueRange
mneme::getRange(const Expr &E,
                function_ref<ValueRange(StringRef, Expr::KindTy)> Of) {
  if (E.kind() == Expr::Constant)
    return makeRange(E.value(), E.value());
  if (E.kind() != Expr::Op)
    return Of(E.name(), E.kind());

  ArrayRef<Expr> O = E.operands();
  ValueRange A = getRange(O[0], Of);
  ExprOp Op = E.op();
  if (Op == ExprOp::Select) {
    if (isSingle(A))
      return getRange(O[std::get<bool>(A->first) ? 1 : 2], Of);
    return getUnion(getRange(O[1], Of), getRange(O[2], Of));
  }
  ValueRange B = O.size() > 1 ? getRange(O[1], Of) : A;
  if (Op == ExprOp::And || Op == ExprOp::Or)
    return getLogic(Op, A, B);
  if (!A || !B)
    return std::nullopt;
  switch (Op) {
  case ExprOp::Eq:
  case ExprOp::Ne:
    return getEquality(Op == ExprOp::Eq, A, B);
  case ExprOp::Rem:
    return getRemainder(A, B);
  case ExprOp::Div:
  case ExprOp::CeilDiv:
    if (hasZero(B))
      return std::nullopt;
    break;
  default:
    break;
  }
  return getCorners(Op, A, B);
}
