//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Folding and canonicalization.
///
//===----------------------------------------------------------------------===//

#include "Names.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Mneme/Dialect/Mneme.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::mneme;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

OpFoldResult TextOp::fold(FoldAdaptor) { return getValueAttr(); }

/// Returns std::nullopt if the values cannot be compared yet.
static std::optional<bool> areEqual(Value A, Attribute AConstant, Value B,
                                    Attribute BConstant) {
  if (A == B)
    return true;
  if (!AConstant || !BConstant)
    return std::nullopt;
  return AConstant == BConstant;
}

OpFoldResult TextEqOp::fold(FoldAdaptor A) {
  auto Equal = areEqual(getLhs(), A.getLhs(), getRhs(), A.getRhs());
  return Equal ? BoolAttr::get(getContext(), *Equal) : OpFoldResult();
}

OpFoldResult TextNeOp::fold(FoldAdaptor A) {
  auto Equal = areEqual(getLhs(), A.getLhs(), getRhs(), A.getRhs());
  return Equal ? BoolAttr::get(getContext(), !*Equal) : OpFoldResult();
}

OpFoldResult Pow2Op::fold(FoldAdaptor A) {
  auto Operand = dyn_cast_or_null<IntegerAttr>(A.getOperand());
  if (!Operand || Operand.getInt() < 0 || Operand.getInt() > 62)
    return {};
  return IntegerAttr::get(getType(), int64_t(1) << Operand.getInt());
}

OpFoldResult Log2Op::fold(FoldAdaptor A) {
  auto Operand = dyn_cast_or_null<IntegerAttr>(A.getOperand());
  if (!Operand || Operand.getInt() < 1)
    return {};
  return IntegerAttr::get(getType(), llvm::Log2_64(Operand.getInt()));
}

//===----------------------------------------------------------------------===//
// Constant operands become literals
//===----------------------------------------------------------------------===//

template <typename AttrT>
static bool foldOperand(Attribute Constant, MutableOperandRange Operand,
                        llvm::function_ref<void(AttrT)> Set) {
  auto Typed = dyn_cast_or_null<AttrT>(Constant);
  if (!Typed)
    return false;
  Set(Typed);
  Operand.clear();
  return true;
}

template <typename AttrT, typename OpT, typename AdaptorT>
static bool foldDefault(OpT Op, AdaptorT A) {
  return foldOperand<AttrT>(
      A.getDefaultValue(), Op.getDefaultValueMutable(),
      [&](AttrT C) { Op.setDefaultConstantAttr(C); });
}

template <typename AttrT, typename OpT, typename AdaptorT>
static bool foldRange(OpT Op, AdaptorT A) {
  bool Changed = foldDefault<AttrT>(Op, A);
  Changed |= foldOperand<AttrT>(A.getLow(), Op.getLowMutable(),
                                [&](AttrT C) { Op.setLowConstantAttr(C); });
  Changed |= foldOperand<AttrT>(A.getHigh(), Op.getHighMutable(),
                                [&](AttrT C) { Op.setHighConstantAttr(C); });
  return Changed;
}

OpFoldResult IntOp::fold(FoldAdaptor A) {
  bool Changed = foldRange<IntegerAttr>(*this, A);
  Changed |=
      foldOperand<IntegerAttr>(A.getStep(), getStepMutable(),
                               [&](auto C) { setStepConstantAttr(C); });
  return Changed ? getResult() : OpFoldResult();
}

OpFoldResult RealOp::fold(FoldAdaptor A) {
  return foldRange<FloatAttr>(*this, A) ? getResult() : OpFoldResult();
}

OpFoldResult BoolOp::fold(FoldAdaptor A) {
  return foldDefault<BoolAttr>(*this, A) ? getResult() : OpFoldResult();
}

OpFoldResult PipelineOp::fold(FoldAdaptor A) {
  return foldDefault<StringAttr>(*this, A) ? getResult() : OpFoldResult();
}

/// Replaces operands by literals where their constants are known.
/// \returns true if an operand was replaced.
static bool foldMixed(ArrayAttr Constants, ArrayRef<Attribute> Known,
                      MutableOperandRange Operands,
                      SmallVectorImpl<Attribute> &Folded) {
  SmallVector<Value> Left;
  unsigned Next = 0;
  for (Attribute Constant : Constants) {
    if (isa<UnitAttr>(Constant)) {
      if (Known[Next])
        Constant = Known[Next];
      else
        Left.push_back(Operands[Next].get());
      ++Next;
    }
    Folded.push_back(Constant);
  }
  if (Left.size() == Operands.size())
    return false;
  Operands.assign(Left);
  return true;
}

OpFoldResult ChoiceOp::fold(FoldAdaptor A) {
  bool Changed = foldDefault<Attribute>(*this, A);
  SmallVector<Attribute> Folded;
  Changed |= foldMixed(getConstants(), A.getValues(), getValuesMutable(), Folded);

  // Drop repeated values.
  llvm::SmallSetVector<void *, 8> Seen;
  SmallVector<Attribute> Constants;
  SmallVector<Value> Values;
  auto Operand = getValues().begin();
  for (Attribute Constant : Folded) {
    Value V = isa<UnitAttr>(Constant) ? *Operand++ : nullptr;
    if (!Seen.insert(V ? V.getAsOpaquePointer()
                       : const_cast<void *>(Constant.getAsOpaquePointer())))
      continue;
    Constants.push_back(Constant);
    if (V)
      Values.push_back(V);
  }
  if (Constants.size() != Folded.size()) {
    getValuesMutable().assign(Values);
    Changed = true;
  }
  if (Changed)
    setConstantsAttr(ArrayAttr::get(getContext(), Constants));
  return Changed ? getResult() : OpFoldResult();
}

/// Constant values become literals. A constant true condition is dropped; a
/// field with a constant false condition is dropped as a whole.
LogicalResult ConfigOp::fold(FoldAdaptor A, SmallVectorImpl<OpFoldResult> &) {
  SmallVector<Field> Fields;
  bool Changed = false;
  const Attribute *Known = A.getValues().begin();
  const Attribute *KnownCondition = A.getConditions().begin();
  for (Field F : getFields()) {
    if (F.Value)
      if (Attribute Constant = *Known++) {
        F.Constant = Constant;
        F.Value = nullptr;
        Changed = true;
      }
    if (F.When)
      if (auto Holds = dyn_cast_or_null<BoolAttr>(*KnownCondition++)) {
        F.When = nullptr;
        Changed = true;
        if (!Holds.getValue())
          continue;
      }
    Fields.push_back(F);
  }
  if (Changed)
    setFields(Fields);
  return success(Changed);
}

//===----------------------------------------------------------------------===//
// Values of parameters that do not exist
//===----------------------------------------------------------------------===//

Attribute IntOp::getFallback() {
  if (getDefaultValue())
    return {};
  return getDefaultConstantAttr() ? getDefaultConstantAttr()
                                  : getLowConstantAttr();
}

Attribute RealOp::getFallback() {
  if (getDefaultValue())
    return {};
  return getDefaultConstantAttr() ? getDefaultConstantAttr()
                                  : getLowConstantAttr();
}

Attribute BoolOp::getFallback() {
  if (getDefaultValue())
    return {};
  return getDefaultConstantAttr() ? getDefaultConstantAttr()
                                  : BoolAttr::get(getContext(), false);
}

Attribute ChoiceOp::getFallback() {
  if (getDefaultValue())
    return {};
  if (getDefaultConstantAttr())
    return getDefaultConstantAttr();
  Attribute First = *getConstants().begin();
  return isa<UnitAttr>(First) ? Attribute() : First;
}

Attribute PipelineOp::getFallback() {
  return getDefaultValue() ? StringAttr() : getDefaultConstantAttr();
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Drops the condition of a parameter that always exists, and replaces a
/// parameter that never exists by a constant.
struct SimplifyCondition : OpInterfaceRewritePattern<ParameterOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ParameterOpInterface Op,
                                PatternRewriter &R) const override {
    BoolAttr Holds;
    if (!Op.getWhen() || !matchPattern(Op.getWhen(), m_Constant(&Holds)))
      return failure();
    if (Holds.getValue()) {
      R.modifyOpInPlace(Op, [&] { Op.getWhenMutable().clear(); });
      return success();
    }
    Attribute Fallback = Op.getFallback();
    // A parameter that is an option sets a field, which a constant would not.
    if (!Fallback || Op.getOption())
      return failure();
    Operation *Constant = Op->getDialect()->materializeConstant(
        R, Fallback, Op->getResult(0).getType(), Op.getLoc());
    R.replaceOp(Op, Constant);
    return success();
  }
};
} // namespace

void MnemeDialect::getCanonicalizationPatterns(
    RewritePatternSet &Patterns) const {
  Patterns.add<SimplifyCondition>(getContext());
}

LogicalResult RequireOp::canonicalize(RequireOp Op, PatternRewriter &R) {
  bool Holds = matchPattern(Op.getCondition(), m_One());
  for (Operation *User : Op.getCondition().getUsers())
    if (isa<RequireOp>(User) && User->isBeforeInBlock(Op))
      Holds = true;
  if (!Holds)
    return failure();
  R.eraseOp(Op);
  return success();
}
