//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArithExpr.h"
#include "Names.h"
#include "llvm/Mneme/Dialect/Mneme.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::mneme;
using llvm::mneme::Expr;
using llvm::mneme::ExprOp;

namespace {
/// Maps an operation, by the type of its first operand, to an expression
/// operator.
struct Row {
  llvm::StringLiteral Name;
  ExprOp Op;
  ValueType First; ///< Type of the first operand.
};

struct Comparison {
  ExprOp Op;
  arith::CmpIPredicate Ints;
  arith::CmpFPredicate Reals; ///< As in C: with a NaN, only != is true.
};
} // namespace

static constexpr Row Rows[] = {
    {"arith.addi", ExprOp::Add, ValueType::Int},
    {"arith.addf", ExprOp::Add, ValueType::Real},
    {"arith.subi", ExprOp::Sub, ValueType::Int},
    {"arith.subf", ExprOp::Sub, ValueType::Real},
    {"arith.muli", ExprOp::Mul, ValueType::Int},
    {"arith.mulf", ExprOp::Mul, ValueType::Real},
    {"arith.divsi", ExprOp::Div, ValueType::Int},
    {"arith.divf", ExprOp::Div, ValueType::Real},
    {"arith.remsi", ExprOp::Rem, ValueType::Int},
    {"arith.ceildivsi", ExprOp::CeilDiv, ValueType::Int},
    {"arith.minsi", ExprOp::Min, ValueType::Int},
    {"arith.minimumf", ExprOp::Min, ValueType::Real},
    {"arith.maxsi", ExprOp::Max, ValueType::Int},
    {"arith.maximumf", ExprOp::Max, ValueType::Real},
    {"arith.negf", ExprOp::Neg, ValueType::Real},
    {"arith.andi", ExprOp::And, ValueType::Bool},
    {"arith.ori", ExprOp::Or, ValueType::Bool},
    {"arith.xori", ExprOp::Xor, ValueType::Bool},
    {"arith.select", ExprOp::Select, ValueType::Bool},
    {"arith.extui", ExprOp::ToInt, ValueType::Bool},
    {"arith.fptosi", ExprOp::ToInt, ValueType::Real},
    {"arith.sitofp", ExprOp::ToReal, ValueType::Int},
    {"mneme.text_eq", ExprOp::Eq, ValueType::Text},
    {"mneme.text_ne", ExprOp::Ne, ValueType::Text},
    {"mneme.pow2", ExprOp::Pow2, ValueType::Int},
    {"mneme.log2", ExprOp::Log2, ValueType::Int},
};

static constexpr Comparison Comparisons[] = {
    {ExprOp::Eq, arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ},
    {ExprOp::Ne, arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE},
    {ExprOp::Lt, arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT},
    {ExprOp::Le, arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE},
    {ExprOp::Gt, arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT},
    {ExprOp::Ge, arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE},
};

//===----------------------------------------------------------------------===//
// Operations to expressions
//===----------------------------------------------------------------------===//

static std::optional<ExprOp> getExprOp(Operation *Op) {
  for (const Comparison &C : Comparisons) {
    if (auto Cmp = dyn_cast<arith::CmpIOp>(Op))
      if (Cmp.getPredicate() == C.Ints)
        return C.Op;
    if (auto Cmp = dyn_cast<arith::CmpFOp>(Op))
      if (Cmp.getPredicate() == C.Reals)
        return C.Op;
  }
  if (Op->getNumOperands() == 0)
    return std::nullopt;
  std::optional<ValueType> First = getValueType(Op->getOperand(0).getType());
  for (const Row &R : Rows)
    if (Op->getName().getStringRef() == R.Name && First == R.First)
      return R.Op;
  return std::nullopt;
}

LogicalResult mneme::verifyExprOp(Operation *Op) {
  if (!isa<arith::ArithDialect>(Op->getDialect()))
    return Op->emitOpError("cannot be part of a study");
  for (Type T : Op->getResultTypes())
    if (!getValueType(T))
      return Op->emitOpError() << "makes a value of " << T
                               << "; those of a study are i64, f64, i1 and "
                                  "!mneme.text";
  if (isa<arith::ConstantOp>(Op))
    return success();
  std::optional<ExprOp> Meaning = getExprOp(Op);
  if (!Meaning && isa<arith::CmpIOp>(Op))
    return Op->emitOpError(
        "compares unsigned; integers of a study are signed");
  if (!Meaning && isa<arith::CmpFOp>(Op))
    return Op->emitOpError("compares reals as C does not; use oeq, une, olt, "
                           "ole, ogt or oge");
  SmallVector<ValueType, 3> Types;
  for (Type T : Op->getOperandTypes()) {
    std::optional<ValueType> VT = getValueType(T);
    if (!VT)
      return Op->emitOpError() << "takes a value of " << T
                               << "; those of a study are i64, f64, i1 and "
                                  "!mneme.text";
    Types.push_back(*VT);
  }
  if (!Meaning)
    return Op->emitOpError("cannot be computed in a study");
  llvm::Expected<ValueType> T = checkOp(*Meaning, Types);
  if (!T)
    return Op->emitOpError(llvm::toString(T.takeError()));
  if (getValueType(Op->getResult(0).getType()) != *T)
    return Op->emitOpError() << "makes a value of "
                             << Op->getResult(0).getType() << ", not "
                             << mneme::getType(Op->getContext(), *T);
  return success();
}

static bool isConstant(const Expr &E, const llvm::mneme::Value &V) {
  return E.kind() == Expr::Constant && E.value() == V;
}

Expr mneme::makeExpr(Operation *Op, llvm::ArrayRef<Expr> Operands) {
  if (auto Constant = dyn_cast<arith::ConstantOp>(Op))
    return Expr::constant(toValue(Constant.getValue()));
  if (auto Text = dyn_cast<TextOp>(Op))
    return Expr::constant(Text.getValue().str());
  std::optional<ExprOp> Meaning = getExprOp(Op);
  if (!Meaning)
    return {};
  // arith has no negation or logical not.
  if (Meaning == ExprOp::Sub && isConstant(Operands[0], int64_t(0)))
    return Expr::op(ExprOp::Neg, Operands[1]);
  if (Meaning == ExprOp::Xor && isConstant(Operands[1], true))
    return Expr::op(ExprOp::Not, Operands[0]);
  return Expr::op(*Meaning, Operands);
}

llvm::mneme::Value mneme::toValue(Attribute Constant) {
  switch (*getValueType(Constant)) {
  case ValueType::Bool:
    return cast<BoolAttr>(Constant).getValue();
  case ValueType::Int:
    return cast<IntegerAttr>(Constant).getInt();
  case ValueType::Real:
    return cast<FloatAttr>(Constant).getValueAsDouble();
  case ValueType::Text:
    return cast<StringAttr>(Constant).getValue().str();
  }
  llvm_unreachable("a type of a value");
}

//===----------------------------------------------------------------------===//
// Expressions to operations
//===----------------------------------------------------------------------===//

Attribute mneme::toAttribute(Builder &B, const llvm::mneme::Value &V) {
  if (const auto *Bool = std::get_if<bool>(&V))
    return B.getBoolAttr(*Bool);
  if (const auto *Int = std::get_if<int64_t>(&V))
    return B.getI64IntegerAttr(*Int);
  if (const auto *Real = std::get_if<double>(&V))
    return B.getF64FloatAttr(*Real);
  return B.getStringAttr(std::get<std::string>(V));
}

Value mneme::buildConstant(OpBuilder &B, Location Loc,
                           const llvm::mneme::Value &V) {
  Attribute Constant = toAttribute(B, V);
  if (auto Text = dyn_cast<StringAttr>(Constant))
    return TextOp::create(B, Loc, TextType::get(B.getContext()), Text);
  return arith::ConstantOp::create(B, Loc, cast<TypedAttr>(Constant));
}

Value mneme::buildOp(OpBuilder &B, Location Loc, ExprOp Op, ValueType Result,
                     ValueRange Operands) {
  ValueType First = *getValueType(Operands[0].getType());
  if (Op == ExprOp::Not)
    return arith::XOrIOp::create(B, Loc, Operands[0],
                                 buildConstant(B, Loc, true));
  if (Op == ExprOp::Neg && First == ValueType::Int)
    return arith::SubIOp::create(B, Loc, buildConstant(B, Loc, int64_t(0)),
                                 Operands[0]);
  for (const Row &R : Rows)
    if (R.Op == Op && R.First == First)
      return B
          .create(Loc, B.getStringAttr(R.Name), Operands,
                  mneme::getType(B.getContext(), Result))
          ->getResult(0);
  for (const Comparison &C : Comparisons) {
    if (C.Op != Op)
      continue;
    if (First == ValueType::Real)
      return arith::CmpFOp::create(B, Loc, C.Reals, Operands[0], Operands[1]);
    return arith::CmpIOp::create(B, Loc, C.Ints, Operands[0], Operands[1]);
  }
  llvm_unreachable("an operator without an operation");
}
