//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Study.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Support/Words.h"

using namespace llvm;
using namespace llvm::mneme;

ValueType Parameter::type() const {
  switch (Kind) {
  case Int:
    return ValueType::Int;
  case Real:
    return ValueType::Real;
  case Bool:
    return ValueType::Bool;
  case Choice:
    return Choices.empty() ? ValueType::Text : Choices.front().type();
  case Pipeline:
    return ValueType::Text;
  }
  llvm_unreachable("all kinds are handled");
}

const Parameter *Study::findParameter(StringRef Name) const {
  for (const Parameter &P : Parameters)
    if (P.Name == Name)
      return &P;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Returns "there is no X 'passe'; did you mean 'passes'?".
static Error unknownName(const Twine &What, StringRef Name,
                         ArrayRef<StringRef> Names) {
  std::string Hint = suggest(Name, Names);
  if (Hint.empty())
    Hint = "; there are: " + join(Names, ", ");
  return createStringError("there is no " + What + " '" + Name + "'" + Hint);
}

Error mneme::checkMetric(StringRef Metric) {
  if (findMetric(Metric))
    return Error::success();
  return unknownName("metric", Metric, getMetricNames());
}

/// Indexed by SettingType.
static constexpr ValueType SettingTypes[] = {ValueType::Bool, ValueType::Int,
                                             ValueType::Text};

Expected<std::optional<ValueType>> mneme::getFieldType(StringRef Key) {
  if (const SettingInfo *S = findSetting(Key))
    return SettingTypes[static_cast<unsigned>(S->Type)];
  if (StringRef Prefix = getKeyPrefix(Key);
      !Prefix.empty() && Key.size() > Prefix.size())
    return std::nullopt;
  SmallVector<StringRef, 32> Names;
  for (const SettingInfo &S : getSettings())
    Names.push_back(S.Key);
  return unknownName("configuration field", Key, Names);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

Error mneme::checkName(StringRef Name) {
  if (Name.empty())
    return createStringError("it has no name");
  for (char C : Name)
    if (!isPrint(C) || C == ' ' || C == '`' || C == '/')
      return createStringError("a name may not contain '" + Twine(C) + "'");
  if (Name.starts_with("recorded."))
    return createStringError(
        "names that start with 'recorded.' are reserved for recorded facts");
  return Error::success();
}

namespace {
class Checker {
public:
  explicit Checker(const Study &S) : S(S) {}
  Error check();
  Error checkRange(const Parameter &P);

private:
  Error checkParameter(const Parameter &P);
  Error checkChoices(const Parameter &P);
  Error declare(StringRef Name, ValueType Type);
  /// \p Fixed allows only constants and recorded facts.
  Error checkExpr(const Expr &E, bool Fixed);
  /// Checks that an expression is set, and of type \p Type if that is set.
  Error checkExpr(StringRef What, const Expr &E, std::optional<ValueType> Type,
                  bool Fixed);
  Error checkField(const ConfigField &F);

  const Study &S;
  StringMap<ValueType> Types; ///< Types of the names declared so far.
};
} // namespace

Error mneme::addContext(const Twine &Context, Error E) {
  if (!E)
    return E;
  return createStringError(Context + ": " + toString(std::move(E)));
}

Error Checker::checkExpr(const Expr &E, bool Fixed) {
  switch (E.kind()) {
  case Expr::Constant:
    return Error::success();
  case Expr::Recorded:
    if (getRecordedType(E.name()))
      return Error::success();
    return unknownName("recorded", E.name(),
                       SmallVector<StringRef, 32>(getRecordedNames()));
  case Expr::Parameter: {
    if (Fixed)
      return createStringError("'" + E.name() +
                               "' is neither a constant nor recorded");
    auto It = Types.find(E.name());
    if (It == Types.end()) {
      if (S.findParameter(E.name()) ||
          any_of(S.Derived,
                 [&](const DerivedValue &D) { return D.Name == E.name(); }))
        return createStringError("'" + E.name() + "' is declared later");
      SmallVector<StringRef, 32> Names(Types.keys());
      sort(Names);
      return unknownName("parameter", E.name(), Names);
    }
    if (It->second != E.type())
      return createStringError("'" + E.name() + "' is " +
                               getTypeName(It->second) + ", not " +
                               getTypeName(E.type()));
    return Error::success();
  }
  case Expr::Op:
    for (const Expr &O : E.operands())
      if (Error Err = checkExpr(O, Fixed))
        return Err;
    return Error::success();
  }
  llvm_unreachable("all kinds are handled");
}

Error Checker::checkExpr(StringRef What, const Expr &E,
                         std::optional<ValueType> Type, bool Fixed) {
  if (!E)
    return createStringError(What + " is missing");
  if (Error Err = checkExpr(E, Fixed))
    return addContext(What, std::move(Err));
  if (Type && E.type() != *Type)
    return createStringError(What + " must be " + getTypeName(*Type) +
                             ", not " + getTypeName(E.type()));
  return Error::success();
}

Error Checker::declare(StringRef Name, ValueType Type) {
  if (Error E = checkName(Name))
    return E;
  if (!Types.try_emplace(Name, Type).second)
    return createStringError("the name is used twice");
  return Error::success();
}

/// Returns the value of an expression that needs no recording.
static std::optional<Value> getConstant(const Expr &E) {
  if (!E)
    return std::nullopt;
  auto Unknown = [](StringRef, Expr::KindTy) -> Expected<Value> {
    return createStringError("unknown");
  };
  Expected<Value> V = E.evaluate(Unknown);
  if (V)
    return *V;
  consumeError(V.takeError());
  return std::nullopt;
}

Error Checker::checkRange(const Parameter &P) {
  bool IsLog = P.Scale == Parameter::Log;
  if (Error E = checkExpr("lower bound", P.Low, P.type(), /*Fixed=*/true))
    return E;
  if (Error E = checkExpr("upper bound", P.High, P.type(), /*Fixed=*/true))
    return E;
  if (P.Step) {
    if (P.Kind != Parameter::Int)
      return createStringError("a real range has no step");
    if (IsLog)
      return createStringError("a logarithmic range has no step");
    if (Error E = checkExpr("step", P.Step, P.type(), /*Fixed=*/true))
      return E;
    if (std::optional<Value> V = getConstant(P.Step);
        V && std::get<int64_t>(*V) <= 0)
      return createStringError("the step " + print(*V) + " is not positive");
  }
  std::optional<Value> Low = getConstant(P.Low), High = getConstant(P.High);
  if (Low && High && *Low > *High)
    return createStringError("the range " + print(*Low) + ".." + print(*High) +
                             " is empty");
  if (IsLog && Low &&
      (P.Kind == Parameter::Int ? std::get<int64_t>(*Low) <= 0
                                : std::get<double>(*Low) <= 0))
    return createStringError("the lower bound " + print(*Low) +
                             " of a logarithmic range is not positive");
  return Error::success();
}

Error Checker::checkChoices(const Parameter &P) {
  if (P.Choices.empty())
    return createStringError("it has no choices");
  for (const Expr &C : P.Choices) {
    if (!C)
      return createStringError("a choice is missing");
    if (Error E = checkExpr("choice", C, std::nullopt, /*Fixed=*/true))
      return E;
    if (C.type() != P.type())
      return createStringError("choices of two types, " +
                               getTypeName(P.type()) + " and " +
                               getTypeName(C.type()));
  }
  return Error::success();
}

Error Checker::checkParameter(const Parameter &P) {
  switch (P.Kind) {
  case Parameter::Int:
  case Parameter::Real:
    if (Error E = checkRange(P))
      return E;
    break;
  case Parameter::Bool:
    break;
  case Parameter::Choice:
    if (Error E = checkChoices(P))
      return E;
    break;
  case Parameter::Pipeline:
    if (Expected<PipelineSpace> Space = PipelineSpace::parse(P.Space); !Space)
      return Space.takeError();
    break;
  }
  // Before the name is declared, as a condition may use only earlier names.
  if (P.When)
    if (Error E = checkExpr("condition", P.When, ValueType::Bool, false))
      return E;
  if (P.Default)
    if (Error E = checkExpr("default", P.Default, P.type(), /*Fixed=*/true))
      return E;
  return declare(P.Name, P.type());
}

Error Checker::checkField(const ConfigField &F) {
  Expected<std::optional<ValueType>> Type = getFieldType(F.Key);
  if (!Type)
    return Type.takeError();
  if (F.When)
    if (Error E = checkExpr("condition", F.When, ValueType::Bool, false))
      return E;
  return checkExpr("value", F.Is, *Type, /*Fixed=*/false);
}

Error Checker::check() {
  for (const Parameter &P : S.Parameters)
    if (Error E = checkParameter(P))
      return addContext("parameter '" + P.Name + "'", std::move(E));
  for (const DerivedValue &D : S.Derived) {
    Error E = checkExpr("value", D.Is, std::nullopt, /*Fixed=*/false);
    if (!E)
      E = declare(D.Name, D.Is.type());
    if (E)
      return addContext("derived value '" + D.Name + "'", std::move(E));
  }
  for (const Constraint &C : S.Constraints)
    if (Error E = checkExpr("constraint", C.Holds, ValueType::Bool, false))
      return C.Message.empty()
                 ? std::move(E)
                 : addContext("constraint '" + C.Message + "'", std::move(E));
  StringMap<bool> Keys;
  for (const ConfigField &F : S.Fields) {
    Error E = checkField(F);
    if (!E && !Keys.try_emplace(F.Key).second)
      E = createStringError("it is set twice");
    if (E)
      return addContext("field '" + F.Key + "'", std::move(E));
  }
  if (S.Objectives.empty())
    return createStringError("the study has no objective");
  StringMap<bool> Seen;
  for (const Objective &O : S.Objectives) {
    if (Error E = checkMetric(O.Metric))
      return E;
    if (!Seen.try_emplace(O.Metric).second)
      return createStringError("the objective '" + O.Metric + "' occurs twice");
  }
  return Error::success();
}

Error mneme::checkStudy(const Study &S) { return Checker(S).check(); }

Error mneme::checkRange(const Parameter &P) {
  return Checker(Study()).checkRange(P);
}
