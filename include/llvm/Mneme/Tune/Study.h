//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A study: what is searched, under which constraints, for what. The dialect
/// `mneme` (lib/Dialect) is its text; command-line options make one too.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_STUDY_H
#define LLVM_MNEME_TUNE_STUDY_H

#include "llvm/Mneme/Tune/Expr.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct Parameter {
  enum KindTy { Int, Real, Bool, Choice, Pipeline };
  enum ScaleTy {
    Linear,
    Log, ///< Int: Low * 2^k up to High, no Step. Real: uniform logarithm.
  };
  std::string Name; ///< Unique among parameters and derived values.
  KindTy Kind = Int;
  /// Of Int and Real; in them only constants and recorded facts.
  Expr Low, High, Step; ///< Step unset: 1; only Int.
  ScaleTy Scale = Linear;
  /// Of Choice: at least one, of one type; constants and recorded facts, equal
  /// values count once.
  std::vector<Expr> Choices;
  std::string Space; ///< Of Pipeline (PipelineSpace).
  /// The parameter exists only where this holds; of earlier parameters. Where
  /// it does not exist its value is Default's, or else its first one.
  Expr When;
  /// The value to start with; unset: the recorded one if the parameter goes
  /// straight into a field and has it among its values, else the first.
  Expr Default;

  ValueType type() const;
};

/// A name for an expression, of parameters and of earlier ones of these.
struct DerivedValue {
  std::string Name;
  Expr Is;
};

struct Constraint {
  Expr Holds;          ///< Bool.
  std::string Message; ///< Why not; may be empty.
};

/// What a configuration sets: a key of Replay/Config.def ("block.x", "passes",
/// "llvm.unroll-threshold") and its value.
struct ConfigField {
  std::string Key;
  Expr Is;
  /// Where this does not hold the field is not set; unset: it always is.
  Expr When = {};
};

enum class Direction { Minimize, Maximize };

struct Objective {
  std::string Metric; ///< Metrics.def: "time", "reg_usage", "obj_size", ...
  Direction Dir = Direction::Minimize;
};

struct Study {
  std::string Name;
  std::vector<Parameter> Parameters;
  std::vector<DerivedValue> Derived;
  std::vector<Constraint> Constraints;
  std::vector<ConfigField> Fields;
  std::vector<Objective> Objectives; ///< At least one, each metric once.

  const Parameter *findParameter(StringRef Name) const;
};

/// How a metric of Metrics.def is better when nobody says; unset: there is no
/// such metric.
std::optional<Direction> getMetricDirection(StringRef Metric);
/// Error: there is no such metric; with those that there are.
Error checkMetric(StringRef Metric);

/// The type of a configuration's field; unset for LLVM's options, which may be
/// of any. Error: there is no such field.
Expected<std::optional<ValueType>> getFieldType(StringRef Key);

/// Is it of the launch alone, so that another value makes no other code?
bool isLaunchField(StringRef Key);

/// Error: not the name of a parameter or derived value.
Error checkName(StringRef Name);

/// Everything that can be wrong with a study before a recording is known:
/// names that are twice or not there, types, an unknown key or metric, a space
/// that does not parse. The first mistake.
Error checkStudy(const Study &S);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_STUDY_H
