//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversion of text to studies.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/Import.h"
#include "ArithExpr.h"
#include "Context.h"
#include "Names.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Mneme/Support/TextError.h"

using namespace mlir;
using namespace mlir::mneme;
namespace tune = llvm::mneme;
using tune::Expr;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

namespace {
/// Keeps the first error and its notes.
class FirstError {
  StringRef FileName, Text;
  ScopedDiagnosticHandler Handler;
  std::string Message;

public:
  FirstError(MLIRContext *Context, StringRef FileName, StringRef Text)
      : FileName(FileName), Text(Text), Handler(Context, [this](Diagnostic &D) {
          if (D.getSeverity() == DiagnosticSeverity::Error && Message.empty())
            keep(D);
          return success();
        }) {}

  llvm::Error take() {
    return llvm::createStringError(
        Message.empty() ? FileName.str() + ": cannot be parsed" : Message);
  }

private:
  std::string quote(Diagnostic &D, StringRef Kind) const {
    std::string Message = (Kind + D.str()).str();
    auto At = D.getLocation()->findInstanceOf<FileLineColLoc>();
    if (!At || !At.getLine() || !At.getColumn())
      return (FileName + ": " + Message).str();
    // The location may name another file, e.g. in a trailing loc("...").
    if (At.getFilename().getValue() != FileName)
      return (At.getFilename().getValue() + ":" + llvm::Twine(At.getLine()) +
              ":" + llvm::Twine(At.getColumn()) + ": " + Message)
          .str();
    return llvm::toString(
        tune::quoteText(FileName, Text,
                        llvm::make_error<tune::TextError>(
                            At.getLine(), At.getColumn(), Message)));
  }

  void keep(Diagnostic &D) {
    Message = quote(D, "");
    for (Diagnostic &Note : D.getNotes())
      Message += "\n" + quote(Note, "note: ");
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Operations to a study
//===----------------------------------------------------------------------===//

namespace {
class Importer {
  /// Limits on expressions: they are trees, so values that are used many times
  /// could make them huge.
  static constexpr uint64_t MaxSize = 10000;
  static constexpr unsigned MaxHeight = 200;

  struct Known {
    Expr Named;  ///< Refers to derived values by name.
    Expr Inline; ///< Derived values expanded, for bounds and conditions.
    uint64_t Size = 1;
    unsigned Height = 1;
  };

  tune::Study S;
  llvm::DenseMap<Value, Known> Values;
  std::vector<tune::ConfigField> Options;

public:
  llvm::FailureOr<tune::Study> run(StudyOp Study);

private:
  void define(Value V, Expr E) { Values[V] = {E, E}; }
  /// Returns the bound, an operand or a literal; unset if it has neither.
  Expr bound(Value Operand, Attribute Constant) const;

  LogicalResult add(Operation &Op);
  LogicalResult addExpr(Operation &Op);
  void addParameter(ParameterOpInterface Op);
  void addDerived(DerivedOp Op);
  void addConfig(ConfigOp Op);
};
} // namespace

Expr Importer::bound(Value Operand, Attribute Constant) const {
  if (Operand)
    return Values.lookup(Operand).Inline;
  return Constant ? Expr::constant(toValue(Constant)) : Expr();
}

void Importer::addParameter(ParameterOpInterface Op) {
  tune::Parameter P;
  P.Name = getFullName(Op);
  if (auto Int = dyn_cast<IntOp>(*Op)) {
    P.Kind = tune::Parameter::Int;
    P.Low = bound(Int.getLow(), Int.getLowConstantAttr());
    P.High = bound(Int.getHigh(), Int.getHighConstantAttr());
    P.Step = bound(Int.getStep(), Int.getStepConstantAttr());
    P.Scale = Int.getLog() ? tune::Parameter::Log : tune::Parameter::Linear;
  } else if (auto Real = dyn_cast<RealOp>(*Op)) {
    P.Kind = tune::Parameter::Real;
    P.Low = bound(Real.getLow(), Real.getLowConstantAttr());
    P.High = bound(Real.getHigh(), Real.getHighConstantAttr());
    P.Scale = Real.getLog() ? tune::Parameter::Log : tune::Parameter::Linear;
  } else if (auto Choice = dyn_cast<ChoiceOp>(*Op)) {
    P.Kind = tune::Parameter::Choice;
    auto Next = Choice.getValues().begin();
    for (Attribute Constant : Choice.getConstants())
      P.Choices.push_back(isa<UnitAttr>(Constant) ? bound(*Next++, nullptr)
                                                  : bound(nullptr, Constant));
  } else if (auto Pipeline = dyn_cast<PipelineOp>(*Op)) {
    P.Kind = tune::Parameter::Pipeline;
    P.Space = Pipeline.getSpace().str();
  } else {
    P.Kind = tune::Parameter::Bool;
  }
  P.Default = bound(Op.getDefaultValue(), Op.getDefaultConstantAttr());
  P.When = bound(Op.getWhen(), nullptr);

  Expr E = Expr::parameter(P.Name, P.type());
  define(Op->getResult(0), E);
  if (Op.getOption())
    Options.push_back({P.Name, E, P.When});
  S.Parameters.push_back(std::move(P));
}

void Importer::addDerived(DerivedOp Op) {
  Known Value = Values.lookup(Op.getValue());
  S.Derived.push_back({Op.getValueName().str(), Value.Named});
  Value.Named = Expr::parameter(Op.getValueName(), Value.Named.type());
  Values[Op.getResult()] = Value;
}

void Importer::addConfig(ConfigOp Op) {
  for (const ConfigOp::Field &F : Op.getFields())
    S.Fields.push_back(
        {F.Key.str(),
         F.Value ? Values.lookup(F.Value).Named
                 : Expr::constant(toValue(F.Constant)),
         F.When ? Values.lookup(F.When).Named : Expr()});
}

LogicalResult Importer::addExpr(Operation &Op) {
  SmallVector<Expr, 3> Named, Inline;
  Known Result;
  for (Value Operand : Op.getOperands()) {
    const Known &K = Values.find(Operand)->second;
    Named.push_back(K.Named);
    Inline.push_back(K.Inline);
    Result.Size += K.Size;
    Result.Height = std::max(Result.Height, K.Height + 1);
  }
  if (Result.Size > MaxSize || Result.Height > MaxHeight)
    return Op.emitOpError("is the root of too large an expression");
  Result.Named = makeExpr(&Op, Named);
  Result.Inline = makeExpr(&Op, Inline);
  Values[Op.getResult(0)] = Result;
  return success();
}

LogicalResult Importer::add(Operation &Op) {
  if (auto Parameter = dyn_cast<ParameterOpInterface>(Op))
    addParameter(Parameter);
  else if (auto Recorded = dyn_cast<RecordedOp>(Op))
    define(Recorded, Expr::recorded(Recorded.getFact()));
  else if (auto Derived = dyn_cast<DerivedOp>(Op))
    addDerived(Derived);
  else if (auto Require = dyn_cast<RequireOp>(Op))
    S.Constraints.push_back(
        {Values.lookup(Require.getCondition()).Named,
         Require.getMessage().value_or("").str()});
  else if (auto Config = dyn_cast<ConfigOp>(Op))
    addConfig(Config);
  else if (auto Objective = dyn_cast<ObjectiveOp>(Op))
    S.Objectives.push_back(
        {Objective.getMetric().str(),
         Objective.getDirection() == Direction::Minimize
             ? tune::Direction::Minimize
             : tune::Direction::Maximize});
  else
    return addExpr(Op);
  return success();
}

llvm::FailureOr<tune::Study> Importer::run(StudyOp Study) {
  S.Name = Study.getSymName().str();
  for (Operation &Op : Study.getBody().getOps())
    if (failed(add(Op)))
      return failure();
  llvm::append_range(S.Fields, Options);
  return std::move(S);
}

llvm::Expected<tune::Study> llvm::mneme::parseStudy(StringRef Text,
                                                    StringRef FileName) {
  MLIRContext Context(MLIRContext::Threading::DISABLED);
  loadDialects(Context);
  Context.printOpOnDiagnostic(false);
  FirstError Errors(&Context, FileName, Text);
  OwningOpRef<ModuleOp> Module =
      parseSourceString<ModuleOp>(Text, ParserConfig(&Context), FileName);
  if (!Module)
    return Errors.take();
  auto Studies = llvm::to_vector(Module->getOps<StudyOp>());
  if (Studies.size() != 1)
    return createStringError(FileName + ": has " + Twine(Studies.size()) +
                             " studies, not one");
  llvm::FailureOr<tune::Study> S = Importer().run(Studies.front());
  if (failed(S))
    return Errors.take();
  if (Error E = checkStudy(*S))
    return createStringError(FileName + ": " + toString(std::move(E)));
  return std::move(*S);
}
