//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Trials in Optuna's representation: dimensions are parameters with
/// distributions, and data that Optuna does not know are user attributes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_STUDYLOG_OPTUNATRIAL_H
#define LLVM_MNEME_LIB_STUDYLOG_OPTUNATRIAL_H

#include "OptunaLog.h"
#include "llvm/Mneme/Study/Trial.h"

namespace llvm {
namespace mneme {

/// The dimensions of a space as Optuna's parameters: floats for real
/// dimensions, ints for evenly spaced integers, and categorical parameters for
/// all others.
class OptunaSpace {
public:
  explicit OptunaSpace(const SearchSpace &Space);

  /// Returns JSON text.
  StringRef getDistribution(unsigned Dim) const {
    return Params[Dim].Distribution;
  }
  /// Returns Optuna's internal value for the number \p X: the value, or the
  /// index of the choice.
  json::Value toInternal(unsigned Dim, double X) const;
  /// Returns the number of an external value, as users of Optuna see it; unset
  /// if the dimension has no such value.
  std::optional<double> find(unsigned Dim, const json::Value &External) const;
  std::optional<unsigned> findDimension(StringRef Name) const;

  /// Returns the point of a trial's parameters. Fails if one is missing or
  /// unknown.
  Expected<Point> makePoint(
      const std::map<std::string, json::Value> &Params) const;
  /// Returns the point of the parameters that a user has enqueued. Missing
  /// parameters have their defaults. A pipeline may be given as a whole, under
  /// its parameter's name.
  Expected<Point> makeEnqueued(const json::Object &Fixed) const;
  /// Returns the valid point with those of the values that this space has, and
  /// defaults for all else; unset if it is invalid or the default point.
  std::optional<Point>
  adapt(const std::map<std::string, json::Value> &Params) const;

private:
  struct Param {
    bool Evenly = false; ///< First + X * Step.
    int64_t First = 0, Step = 1;
    std::vector<json::Value> Choices;
    std::string Distribution;
  };
  static Param makeParam(const SearchSpace &Space, unsigned Dim);

  const SearchSpace &Space;
  std::vector<Param> Params;
  StringMap<unsigned> ByName;
};

/// Returns the user attributes of a trial. They do not refer to \p T.
std::map<std::string, json::Value> makeAttributes(const Trial &T);
/// Returns the trial of user attributes; for a running trial, only the data
/// from when it began. Fails if the attributes are invalid.
Expected<Trial> makeTrial(const json::Object &Attributes, OptunaState State);
/// Returns true if the attributes are those of a trial of Mneme.
bool isOwnTrial(const json::Object &Attributes);

/// Returns the state of a trial in Optuna. A canary measures the baseline, not
/// a point. Its state is FAIL, the only state of a finished trial that Optuna
/// ignores in best trials, samplers and charts. Its values are in its
/// attributes.
OptunaState getOptunaState(const Trial &T);
/// Returns the objective values that go with that state.
ArrayRef<double> getOptunaValues(const Trial &T);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_STUDYLOG_OPTUNATRIAL_H
