//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which parameters decide whether a configuration is good.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_IMPORTANCE_H
#define LLVM_MNEME_TUNE_IMPORTANCE_H

#include "llvm/Mneme/Tune/Trial.h"

namespace llvm {
namespace mneme {

struct ParameterImportance {
  std::string Name; ///< Of the study's parameter.
  double Share = 0; ///< Of all importance: 0 to 1, together 1.
};

/// How much worse a random forest that tells the better half of the measured
/// trials from the other one, by the value of an objective, does on trials that
/// it was not made of once it is lied to about a parameter. The most important
/// first; the same for the same trials. Empty: fewer than 20 trials were
/// measured, or no parameter makes a difference that can be told from chance.
std::vector<ParameterImportance>
computeImportance(const SearchSpace &Space, ArrayRef<Trial> Trials,
                  size_t Objective = 0);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_IMPORTANCE_H
