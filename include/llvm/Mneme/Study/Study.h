//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A study: its search space, constraints and objectives. The dialect `mneme`
/// (lib/Dialect) is its textual form; command-line options can define one too.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_STUDY_H
#define LLVM_MNEME_STUDY_STUDY_H

#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Study/Expr.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A parameter of the search space.
struct Parameter {
  enum KindTy { Int, Real, Bool, Choice, Pipeline };
  enum ScaleTy {
    Linear,
    Log, ///< Int: Low * 2^k up to High, without Step. Real: uniform in the
         ///< logarithm.
  };
  std::string Name; ///< Unique among parameters and derived values.
  KindTy Kind = Int;
  /// For Int and Real: expressions of constants and recorded facts only.
  Expr Low, High, Step; ///< Step: Int only; unset: 1.
  ScaleTy Scale = Linear;
  /// For Choice: at least one value, all of one type, from constants and
  /// recorded facts. Equal values count once.
  std::vector<Expr> Choices;
  std::string Space; ///< For Pipeline (PipelineSpace).
  /// The parameter exists only if this condition over earlier parameters holds.
  /// Otherwise its value is Default or, if unset, its first value.
  Expr When;
  /// The initial value. If unset: the recorded value if the parameter directly
  /// sets a field and has that value; otherwise its first value.
  Expr Default;

  ValueType type() const;
};

/// A named expression over parameters and earlier derived values.
struct DerivedValue {
  std::string Name;
  Expr Is;
};

/// A condition that every configuration must satisfy.
struct Constraint {
  Expr Holds;          ///< Bool.
  std::string Message; ///< Why it is violated; may be empty.
};

/// A field of the configuration: a key of Config.def ("block.x",
/// "passes", "llvm.unroll-threshold") and its value.
struct ConfigField {
  std::string Key;
  Expr Is;
  /// The field is set only if this holds; unset: always.
  Expr When = {};
};

/// A metric to optimize.
struct Objective {
  std::string Metric; ///< Metrics.def: "time", "reg_usage", "obj_size", ...
  Direction Dir = Direction::Minimize;
};

/// The textual definition of a search, independent of a recording.
struct Study {
  std::string Name;
  std::vector<Parameter> Parameters;
  std::vector<DerivedValue> Derived;
  std::vector<Constraint> Constraints;
  std::vector<ConfigField> Fields;
  std::vector<Objective> Objectives; ///< At least one; metrics are unique.

  const Parameter *findParameter(StringRef Name) const;
};

/// Fails if there is no such metric; the error lists all metrics.
Error checkMetric(StringRef Metric);

/// Returns the type of a configuration field; unset for LLVM options, which may
/// have any type. Fails if there is no such field.
Expected<std::optional<ValueType>> getFieldType(StringRef Key);

/// Returns \p E with "Context: " in front of its message.
Error addContext(const Twine &Context, Error E);

/// Fails if \p Name is not valid for a parameter or derived value.
Error checkName(StringRef Name);

/// Checks the bounds and the step of an integer or real parameter, as far as
/// they do not depend on a recording.
Error checkRange(const Parameter &P);

/// Checks everything that does not depend on a recording: duplicate and missing
/// names, types, unknown keys and metrics, invalid pipeline spaces. Returns the
/// first error.
Error checkStudy(const Study &S);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_STUDY_H
