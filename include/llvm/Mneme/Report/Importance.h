//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Determines the parameters that decide whether a configuration is good.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPORT_IMPORTANCE_H
#define LLVM_MNEME_REPORT_IMPORTANCE_H

#include "llvm/Mneme/Study/Trial.h"

namespace llvm {
namespace mneme {

/// The importance of one parameter.
struct ParameterImportance {
  std::string Name; ///< Name of the study's parameter.
  double Share = 0; ///< Fraction of the total importance, from 0 to 1.
};

/// Computes permutation importance: a random forest classifies the measured
/// trials into the better and the worse half by an objective, and permuting a
/// parameter's values makes it less accurate on trials not used for training.
/// Returns the parameters by decreasing importance; deterministic. Empty if
/// fewer than 20 trials were measured, or no parameter has a significant
/// effect.
std::vector<ParameterImportance>
computeImportance(const SearchSpace &Space, ArrayRef<Trial> Trials,
                  size_t Objective = 0);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPORT_IMPORTANCE_H
