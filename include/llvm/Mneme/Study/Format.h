//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Formats results of studies for users.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_FORMAT_H
#define LLVM_MNEME_STUDY_FORMAT_H

#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace llvm {
namespace mneme {

/// "1.214x", "1.214x [1.190, 1.231]".
std::string formatSpeedup(const RatioEstimate &R);
/// "12.4 ns", "3.21 us", ...
std::string formatNanoseconds(double Nanoseconds);
/// Formats a value with six significant digits: "40", "0.75".
std::string formatMetric(double V);
/// Returns a string in single quotes and anything else as JSON.
std::string formatValue(const json::Value &V);
/// Returns text like "block.x=256 passes='default<O3>'", sorted by key; "as
/// recorded" if the configuration is empty.
std::string formatConfig(const json::Object &Config);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_FORMAT_H
