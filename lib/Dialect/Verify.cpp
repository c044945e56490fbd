//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Verifiers of the dialect's operations.
///
//===----------------------------------------------------------------------===//

#include "ArithExpr.h"
#include "Names.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Dialect/Mneme.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Study/Study.h"

using namespace mlir;
using namespace mlir::mneme;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Returns a parameter that \p V depends on, or null.
static ParameterOpInterface findParameter(Value V) {
  SmallVector<Value> Todo = {V};
  llvm::SmallPtrSet<Operation *, 8> Seen;
  while (!Todo.empty()) {
    Operation *Op = Todo.pop_back_val().getDefiningOp();
    if (!Op || !Seen.insert(Op).second)
      continue;
    if (auto Parameter = dyn_cast<ParameterOpInterface>(Op))
      return Parameter;
    llvm::append_range(Todo, Op->getOperands());
  }
  return nullptr;
}

/// Checks that a bound has either a value or a literal; a bound that is not
/// \p Needed may have neither. The value must not depend on a parameter.
static LogicalResult verifyBound(Operation *Op, StringRef What, Value Operand,
                                 Attribute Constant, bool Needed) {
  if (Operand && Constant)
    return Op->emitOpError() << "has two of: " << What;
  if (!Operand && !Constant)
    return Needed ? Op->emitOpError() << "needs a " << What : success();
  ParameterOpInterface Parameter = Operand ? findParameter(Operand) : nullptr;
  if (!Parameter)
    return success();
  return (Op->emitOpError() << "has a " << What << " that depends on parameter '"
                            << Parameter.getParamName() << "'")
             .attachNote(Parameter.getLoc())
         << "the parameter is here";
}

/// Checks the properties that all parameters share.
static LogicalResult verifyParameter(ParameterOpInterface Op) {
  if (llvm::Error E = llvm::mneme::checkName(Op.getParamName()))
    return Op->emitOpError() << "has a wrong name: "
                             << llvm::toString(std::move(E));
  return verifyBound(Op, "default", Op.getDefaultValue(),
                     Op.getDefaultConstantAttr(), false);
}

LogicalResult IntOp::verify() {
  if (failed(verifyParameter(*this)) ||
      failed(verifyBound(*this, "low end", getLow(), getLowConstantAttr(),
                         true)) ||
      failed(verifyBound(*this, "high end", getHigh(), getHighConstantAttr(),
                         true)) ||
      failed(
          verifyBound(*this, "step", getStep(), getStepConstantAttr(), false)))
    return failure();
  IntegerAttr Low = getLowConstantAttr(), High = getHighConstantAttr(),
              Step = getStepConstantAttr();
  if (Low && High && Low.getInt() > High.getInt())
    return emitOpError() << "has an empty range: " << Low.getInt()
                         << " is above " << High.getInt();
  if (getLog() && (getStep() || Step))
    return emitOpError("has a step and a logarithmic scale");
  if (getLog() && Low && Low.getInt() < 1)
    return emitOpError() << "has a logarithmic scale that begins at "
                         << Low.getInt() << ", which is not positive";
  if (Step && Step.getInt() < 1)
    return emitOpError() << "has a step that is not positive: "
                         << Step.getInt();
  IntegerAttr Default = getDefaultConstantAttr();
  if (!Default || !Low || !High)
    return success();
  int64_t D = Default.getInt(), L = Low.getInt();
  bool Among = D >= L && D <= High.getInt();
  if (Among && getLog())
    Among = D % L == 0 && llvm::isPowerOf2_64(D / L);
  else if (Among && !getStep())
    Among = (uint64_t(D) - uint64_t(L)) % (Step ? Step.getInt() : 1) == 0;
  if (!Among)
    return emitOpError() << "has a default that is not one of its values: "
                         << D;
  return success();
}

LogicalResult RealOp::verify() {
  if (failed(verifyParameter(*this)) ||
      failed(verifyBound(*this, "low end", getLow(), getLowConstantAttr(),
                         true)) ||
      failed(verifyBound(*this, "high end", getHigh(), getHighConstantAttr(),
                         true)))
    return failure();
  FloatAttr Low = getLowConstantAttr(), High = getHighConstantAttr(),
            Default = getDefaultConstantAttr();
  for (FloatAttr A : {Low, High, Default})
    if (A && !A.getValue().isFinite())
      return emitOpError("has a bound or a default that is not finite");
  if (Low && High && Low.getValueAsDouble() > High.getValueAsDouble())
    return emitOpError() << "has an empty range: " << Low.getValueAsDouble()
                         << " is above " << High.getValueAsDouble();
  if (getLog() && Low && Low.getValueAsDouble() <= 0)
    return emitOpError() << "has a logarithmic scale that begins at "
                         << Low.getValueAsDouble() << ", which is not positive";
  if (Default &&
      ((Low && Default.getValueAsDouble() < Low.getValueAsDouble()) ||
       (High && Default.getValueAsDouble() > High.getValueAsDouble())))
    return emitOpError() << "has a default that is not one of its values: "
                         << Default.getValueAsDouble();
  return success();
}

LogicalResult BoolOp::verify() { return verifyParameter(*this); }

/// Checks that literals have the types that \p TypeOf returns (unset: any
/// type), and that the number of unit attributes equals that of the operands.
static LogicalResult
verifyMixed(Operation *Op, ArrayAttr Constants, size_t Operands,
            llvm::function_ref<std::optional<ValueType>(size_t)> TypeOf) {
  size_t Units = 0;
  for (auto [I, Constant] : llvm::enumerate(Constants)) {
    if (isa<UnitAttr>(Constant)) {
      ++Units;
      continue;
    }
    std::optional<ValueType> T = getValueType(Constant), Wanted = TypeOf(I);
    if (!T || (Wanted && T != Wanted))
      return Op->emitOpError()
             << "has a literal that is "
             << (Wanted ? "not of type " + llvm::mneme::getTypeName(*Wanted)
                        : llvm::Twine("no value"))
             << ": " << Constant;
  }
  if (Units != Operands)
    return Op->emitOpError() << "has " << Operands << " operands for " << Units
                             << " places";
  return success();
}

LogicalResult ChoiceOp::verify() {
  if (failed(verifyParameter(*this)))
    return failure();
  if (getConstants().empty())
    return emitOpError("has no values to choose from");
  std::optional<ValueType> T = getValueType(getType());
  if (failed(verifyMixed(*this, getConstants(), getValues().size(),
                         [&](size_t) { return T; })))
    return failure();
  for (Value V : getValues()) {
    if (V.getType() != getType())
      return emitOpError() << "has values of two types: " << getType()
                           << " and " << V.getType();
    if (failed(verifyBound(*this, "value", V, Attribute(), true)))
      return failure();
  }
  if (getDefaultValue() && getDefaultValue().getType() != getType())
    return emitOpError() << "has a default of type "
                         << getDefaultValue().getType() << ", not "
                         << getType();
  if (Attribute Default = getDefaultConstantAttr();
      Default && getValues().empty() &&
      !llvm::is_contained(getConstants(), Default))
    return emitOpError() << "has a default that is not one of its values: "
                         << Default;
  return success();
}

LogicalResult PipelineOp::verify() {
  if (failed(verifyParameter(*this)))
    return failure();
  llvm::Expected<llvm::mneme::PipelineSpace> Space =
      llvm::mneme::PipelineSpace::parse(getSpace());
  if (!Space)
    return emitOpError() << "has a space that cannot be parsed: "
                         << llvm::toString(Space.takeError());
  return success();
}

//===----------------------------------------------------------------------===//
// Configurations and objectives
//===----------------------------------------------------------------------===//

LogicalResult ConfigOp::verify() {
  if (getKeys().size() != getConstants().size() ||
      getKeys().size() != getConditional().size())
    return emitOpError(
        "has a different number of keys than of constants or conditions");
  size_t NumConditional = llvm::count(getConditional(), true);
  if (NumConditional != getConditions().size())
    return emitOpError() << "has " << getConditions().size()
                         << " conditions for " << NumConditional << " fields";
  llvm::StringSet<> Seen;
  for (StringRef Key : getKeys().getAsValueRange<StringAttr>()) {
    if (auto T = llvm::mneme::getFieldType(Key); !T)
      return emitOpError() << "is wrong: " << llvm::toString(T.takeError());
    if (!Seen.insert(Key).second)
      return emitOpError() << "sets '" << Key << "' twice";
  }
  auto TypeOf = [&](size_t I) {
    return llvm::cantFail(llvm::mneme::getFieldType(
        cast<StringAttr>(getKeys()[I]).getValue()));
  };
  if (failed(verifyMixed(*this, getConstants(), getValues().size(), TypeOf)))
    return failure();
  for (auto [I, F] : llvm::enumerate(getFields())) {
    std::optional<ValueType> Wanted = TypeOf(I);
    if (F.Value && Wanted && getValueType(F.Value.getType()) != Wanted)
      return emitOpError() << "sets " << F.Key << " to a value of "
                           << F.Value.getType() << "; it is of "
                           << mneme::getType(getContext(), *Wanted);
  }
  return success();
}

LogicalResult ObjectiveOp::verify() {
  if (llvm::Error E = llvm::mneme::checkMetric(getMetric()))
    return emitOpError() << "is wrong: " << llvm::toString(std::move(E));
  return success();
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

namespace {
class StudyVerifier {
  StudyOp Study;
  llvm::StringMap<Operation *> Names, Metrics;
  ConfigOp Config;

public:
  explicit StudyVerifier(StudyOp Study) : Study(Study) {}

  LogicalResult verify() {
    for (Operation &Op : Study.getBody().getOps())
      if (failed(verify(Op)))
        return failure();
    if (!Config)
      return Study.emitOpError("has no 'mneme.config'");
    if (Metrics.empty())
      return Study.emitOpError("has no 'mneme.objective'");
    return verifyOptions();
  }

private:
  LogicalResult add(llvm::StringMap<Operation *> &Table, StringRef Name,
                    StringRef What, Operation &Op) {
    auto [It, New] = Table.try_emplace(Name, &Op);
    if (New)
      return success();
    return (Op.emitOpError() << "is the second " << What << " '" << Name << "'")
               .attachNote(It->second->getLoc())
           << "the first is here";
  }

  LogicalResult verify(Operation &Op) {
    if (!isa<MnemeDialect>(Op.getDialect()))
      return verifyExprOp(&Op);
    if (auto Parameter = dyn_cast<ParameterOpInterface>(Op))
      return add(Names, getFullName(Parameter), "parameter or derived value",
                 Op);
    if (auto Derived = dyn_cast<DerivedOp>(Op)) {
      if (llvm::Error E = llvm::mneme::checkName(Derived.getValueName()))
        return Op.emitOpError()
               << "has a wrong name: " << llvm::toString(std::move(E));
      return add(Names, Derived.getValueName(), "parameter or derived value",
                 Op);
    }
    if (auto Objective = dyn_cast<ObjectiveOp>(Op))
      return add(Metrics, Objective.getMetric(), "objective", Op);
    if (auto Second = dyn_cast<ConfigOp>(Op)) {
      if (Config)
        return (Op.emitOpError("is the second of its study"))
                   .attachNote(Config.getLoc())
               << "the first is here";
      Config = Second;
    }
    return success();
  }

  /// The configuration must not set an option that is a parameter: the
  /// parameter sets it.
  LogicalResult verifyOptions() {
    for (StringRef Key : Config.getKeys().getAsValueRange<StringAttr>()) {
      auto It = Names.find(Key);
      if (It == Names.end())
        continue;
      auto Parameter = dyn_cast<ParameterOpInterface>(It->second);
      if (!Parameter || !Parameter.getOption())
        continue;
      return (Config.emitOpError()
              << "sets '" << Key << "', which a parameter sets")
                 .attachNote(It->second->getLoc())
             << "the parameter is here";
    }
    return success();
  }
};
} // namespace

LogicalResult StudyOp::verifyRegions() { return StudyVerifier(*this).verify(); }
