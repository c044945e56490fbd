//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversion of studies to text.
///
//===----------------------------------------------------------------------===//

#include "ArithExpr.h"
#include "Context.h"
#include "Names.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Dialect/Import.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::mneme;
namespace tune = llvm::mneme;
using tune::Expr;

namespace {
class Exporter {
  const tune::Study &S;
  ImplicitLocOpBuilder B;
  llvm::StringMap<Value> Names; ///< Parameters and derived values.
  llvm::StringMap<Value> Built; ///< Other expressions, by their text.

  /// Either a literal or an operand; neither if the expression is not set.
  struct Bound {
    Value Operand;
    Attribute Constant;

    template <typename AttrT> AttrT constant() const {
      return cast_if_present<AttrT>(Constant);
    }
  };

public:
  Exporter(const tune::Study &S, OpBuilder Builder)
      : S(S), B(Builder.getUnknownLoc(), Builder) {}
  void run();

private:
  Value value(const Expr &E);
  Value build(const Expr &E);
  Bound bound(const Expr &E);

  bool isOption(const tune::Parameter &P) const;
  Value addParameter(const tune::Parameter &P);
  void addConfig();
};
} // namespace

/// Expressions of the same type and text are built once.
Value Exporter::value(const Expr &E) {
  if (E.kind() == Expr::Parameter)
    return Names.lookup(E.name());
  std::string Key = (getTypeName(E.type()) + " " + E.print()).str();
  if (Value V = Built.lookup(Key))
    return V;
  return Built[Key] = build(E);
}

Value Exporter::build(const Expr &E) {
  switch (E.kind()) {
  case Expr::Constant:
    return buildConstant(B, B.getLoc(), E.value());
  case Expr::Recorded:
    return RecordedOp::create(B, B.getStringAttr(E.name()));
  case Expr::Op: {
    SmallVector<Value, 3> Operands;
    for (const Expr &O : E.operands())
      Operands.push_back(value(O));
    return buildOp(B, B.getLoc(), E.op(), E.type(), Operands);
  }
  case Expr::Parameter:
    break;
  }
  llvm_unreachable("parameters are built when they are declared");
}

Exporter::Bound Exporter::bound(const Expr &E) {
  if (!E)
    return {};
  if (E.kind() == Expr::Constant)
    return {Value(), toAttribute(B, E.value())};
  return {value(E), Attribute()};
}

static bool areEqual(const Expr &A, const Expr &B) {
  return !A || !B ? !A && !B : A.print() == B.print();
}

/// Returns true if the configuration sets the option that the parameter is
/// named after, to the parameter's value, exactly when the parameter exists.
bool Exporter::isOption(const tune::Parameter &P) const {
  return StringRef(P.Name).starts_with(OptionPrefix) &&
         P.Kind != tune::Parameter::Pipeline &&
         llvm::any_of(S.Fields, [&](const tune::ConfigField &F) {
           return F.Key == P.Name && F.Is.kind() == Expr::Parameter &&
                  F.Is.name() == P.Name && areEqual(F.When, P.When);
         });
}

Value Exporter::addParameter(const tune::Parameter &P) {
  bool Option = isOption(P), Log = P.Scale == tune::Parameter::Log;
  StringRef Name = P.Name;
  if (Option)
    Name.consume_front(OptionPrefix);
  Bound Low = bound(P.Low), High = bound(P.High), Step = bound(P.Step),
        Default = bound(P.Default);
  Value When = P.When ? value(P.When) : Value();
  Type T = mlir::mneme::getType(B.getContext(), P.type());
  switch (P.Kind) {
  case tune::Parameter::Int:
    return IntOp::create(B, T, Name, Option, Low.Operand,
                         Low.constant<IntegerAttr>(), High.Operand,
                         High.constant<IntegerAttr>(), Step.Operand,
                         Step.constant<IntegerAttr>(), Log, Default.Operand,
                         Default.constant<IntegerAttr>(), When);
  case tune::Parameter::Real:
    return RealOp::create(B, T, Name, Option, Low.Operand,
                          Low.constant<FloatAttr>(), High.Operand,
                          High.constant<FloatAttr>(), Log, Default.Operand,
                          Default.constant<FloatAttr>(), When);
  case tune::Parameter::Bool:
    return BoolOp::create(B, T, Name, Option, Default.Operand,
                          Default.constant<BoolAttr>(), When);
  case tune::Parameter::Choice: {
    SmallVector<Value> Operands;
    SmallVector<Attribute> Constants;
    for (const Expr &E : P.Choices) {
      Bound Choice = bound(E);
      if (Choice.Operand)
        Operands.push_back(Choice.Operand);
      Constants.push_back(Choice.Operand ? B.getUnitAttr() : Choice.Constant);
    }
    return ChoiceOp::create(B, T, Name, Option, Operands,
                            B.getArrayAttr(Constants), Default.Operand,
                            Default.Constant, When);
  }
  case tune::Parameter::Pipeline:
    return PipelineOp::create(B, T, Name, P.Space, Default.Operand,
                              Default.constant<StringAttr>(), When);
  }
  llvm_unreachable("a kind of parameter");
}

void Exporter::addConfig() {
  SmallVector<ConfigOp::Field> Fields;
  for (const tune::ConfigField &F : S.Fields) {
    const tune::Parameter *P = S.findParameter(F.Key);
    if (P && isOption(*P))
      continue;
    Bound Is = bound(F.Is);
    Fields.push_back({B.getStringAttr(F.Key),
                      Is.Operand ? B.getUnitAttr() : Is.Constant, Is.Operand,
                      F.When ? value(F.When) : Value()});
  }
  ConfigOp::create(B, B.getArrayAttr({}), B.getArrayAttr({}),
                   B.getDenseBoolArrayAttr({}), ValueRange(), ValueRange())
      .setFields(Fields);
}

void Exporter::run() {
  auto Study = StudyOp::create(B, S.Name.empty() ? "study" : S.Name);
  B.setInsertionPointToStart(&Study.getBody().emplaceBlock());
  for (const tune::Parameter &P : S.Parameters)
    Names[P.Name] = addParameter(P);
  for (const tune::DerivedValue &D : S.Derived)
    Names[D.Name] = DerivedOp::create(B, D.Name, value(D.Is));
  for (const tune::Constraint &C : S.Constraints)
    RequireOp::create(B, value(C.Holds),
                      C.Message.empty() ? StringAttr()
                                        : B.getStringAttr(C.Message));
  addConfig();
  for (const tune::Objective &O : S.Objectives)
    ObjectiveOp::create(B,
                        O.Dir == tune::Direction::Minimize
                            ? Direction::Minimize
                            : Direction::Maximize,
                        O.Metric);
}

llvm::Expected<std::string> llvm::mneme::printStudy(const tune::Study &S) {
  if (Error E = checkStudy(S))
    return std::move(E);
  MLIRContext Context(MLIRContext::Threading::DISABLED);
  loadDialects(Context);
  OwningOpRef<ModuleOp> Module =
      ModuleOp::create(UnknownLoc::get(&Context));
  Exporter(S, OpBuilder::atBlockBegin(Module->getBody())).run();
  std::string Text;
  raw_string_ostream OS(Text);
  Module->getBody()->front().print(OS);
  OS << '\n';
  return Text;
}
