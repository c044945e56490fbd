//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts of the report: charts as SVG, whose colours are those of the page's
/// style sheet, differences between texts, numbers with units.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPORT_REPORTPARTS_H
#define LLVM_MNEME_LIB_REPORT_REPORTPARTS_H

#include "llvm/Mneme/Report/Export.h"
#include "llvm/Mneme/Report/Importance.h"

namespace llvm {
namespace mneme {

/// Text in HTML.
std::string escapeHTML(StringRef Text);
/// A value of a metric with its unit: "12.3 us", "40 registers".
std::string formatMetric(StringRef Metric, double V);
/// Up to four significant digits.
std::string formatNumber(double V);
/// "1.54 (1.53 to 1.56)".
std::string formatRatio(const RatioEstimate &R);

/// "+12 %", and the class of its cell, "good" or "bad"; both empty if the
/// values are equal.
std::pair<std::string, std::string> describeChange(StringRef Metric,
                                                   double Before, double After);

/// A page with one heading, up to within its <header>. \p Style is added to the
/// reports' style sheet.
void beginPage(raw_ostream &OS, StringRef Title, StringRef Style = "");

/// The first objective of all trials by number, and the best so far.
void drawHistory(raw_ostream &OS, const StudyRecord &R);
/// Whether a canary failed, or differs significantly from the baseline.
bool isOff(const Trial &Canary);
/// Times of launches, as a row of drawDistribution().
struct SampleSet {
  std::string Name;
  StringRef Class; ///< Of its dots.
  ArrayRef<double> Nanoseconds;
};
/// A dot for each sample, a row for each set, which must not be empty.
void drawDistribution(raw_ostream &OS, ArrayRef<SampleSet> Sets);
/// Occupancy by the size of a block. Draws nothing and returns false if blocks
/// of one size only have an occupancy.
bool drawOccupancy(raw_ostream &OS, const StudyRecord &R);
/// Two objectives against each other, with the Pareto front.
void drawFront(raw_ostream &OS, const StudyRecord &R);
/// A line for each measured trial through what it has chosen, the most
/// important parameters first.
void drawParallelCoordinates(raw_ostream &OS, const StudyRecord &R,
                             ArrayRef<ParameterImportance> Importance);
/// A bar for each name; shares are 0 to 1.
void drawBars(raw_ostream &OS,
              ArrayRef<std::pair<std::string, double>> Shares);

/// Words of \p Before and \p After: those that both have, those that went
/// (del) and came (ins).
void writeWordDiff(raw_ostream &OS, StringRef Before, StringRef After);

extern const char ReportScript[];

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPORT_REPORTPARTS_H
