//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The HTML report on all kernels of an application that were tuned together.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPORT_APPLICATIONREPORT_H
#define LLVM_MNEME_REPORT_APPLICATIONREPORT_H

#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
namespace mneme {

struct ReportedKernel {
  std::string Name;
  double Share = 0; ///< Of the time of all kernels, from 0 to 1.
  std::optional<uint64_t> Trials;
  std::optional<RatioEstimate> Speedup;  ///< Of the study.
  std::optional<RatioEstimate> Measured; ///< In the application.
  bool IsPackaged = false;
  std::string Result; ///< "packaged", or why nothing is.
  std::string Report; ///< Path of the study's report, relative; may be empty.
};

struct ApplicationRecord {
  std::string Title;
  std::vector<ReportedKernel> Kernels; ///< The most expensive first.
  RatioEstimate Predicted; ///< Of all kernels together.
  /// What is known of the application, and of the run: names and values.
  std::vector<std::pair<std::string, std::string>> Facts;
  std::vector<std::string> Caveats;
  /// Commands to repeat the steps, with a name each.
  std::vector<std::pair<std::string, std::string>> Commands;
};

/// Writes one file that needs no other. Errors name \p Path.
Error writeApplicationReport(const ApplicationRecord &R, StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPORT_APPLICATIONREPORT_H
