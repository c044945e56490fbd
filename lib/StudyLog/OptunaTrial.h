//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Trials as Optuna has them: dimensions are parameters with distributions, all
/// that Optuna has no place for are user attributes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_STUDYLOG_OPTUNATRIAL_H
#define LLVM_MNEME_LIB_STUDYLOG_OPTUNATRIAL_H

#include "OptunaLog.h"
#include "llvm/Mneme/Study/Trial.h"

namespace llvm {
namespace mneme {

/// The dimensions of a space as Optuna's parameters. Real ones are floats,
/// evenly spaced integers ints, and all others categorical.
class OptunaSpace {
public:
  explicit OptunaSpace(const SearchSpace &Space);

  /// As JSON text.
  StringRef getDistribution(unsigned Dim) const {
    return Params[Dim].Distribution;
  }
  /// What Optuna stores for the number \p X: the value, or the number of the
  /// choice.
  json::Value toInternal(unsigned Dim, double X) const;
  /// The number that a value stands for, as Optuna's users see it; unset: the
  /// dimension has no such value.
  std::optional<double> find(unsigned Dim, const json::Value &External) const;
  std::optional<unsigned> findDimension(StringRef Name) const;

  /// The point of a trial's parameters. Error: one is missing or unknown.
  Expected<Point> makePoint(
      const std::map<std::string, json::Value> &Params) const;
  /// The point of parameters that a user has enqueued. What is missing has its
  /// default; a pipeline may be given as a whole, under its parameter's name.
  Expected<Point> makeEnqueued(const json::Object &Fixed) const;

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

/// The user attributes of a trial; nothing in them is borrowed from it.
std::map<std::string, json::Value> makeAttributes(const Trial &T);
/// The inverse; of a running trial only what it had when it began. Error: they
/// make no sense.
Expected<Trial> makeTrial(const json::Object &Attributes, OptunaState State);
/// Are these the attributes of a trial of Mneme?
bool isOwnTrial(const json::Object &Attributes);

/// What Optuna is to take a trial for. A canary measures the baseline, not a
/// point: it is FAIL, the only state of a finished trial that no best trial, no
/// sampler and no chart of Optuna takes into account. Its values are in its
/// attributes.
OptunaState getOptunaState(const Trial &T);
/// The values of the objectives that go with that state.
ArrayRef<double> getOptunaValues(const Trial &T);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_STUDYLOG_OPTUNATRIAL_H
