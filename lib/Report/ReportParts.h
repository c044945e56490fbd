//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts of the report: SVG charts with the colors of the page's style sheet,
/// differences between texts, numbers with units.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPORT_REPORTPARTS_H
#define LLVM_MNEME_LIB_REPORT_REPORTPARTS_H

#include "llvm/Mneme/Report/Export.h"
#include "llvm/Mneme/Report/Importance.h"

namespace llvm {
namespace mneme {

/// Escapes text for HTML.
std::string escapeHTML(StringRef Text);
/// Returns a metric's value with its unit: "12.3 us", "40 registers".
std::string formatMetric(StringRef Metric, double V);
/// Returns up to four significant digits.
std::string formatNumber(double V);
/// Returns "1.54 (1.53 to 1.56)".
std::string formatRatio(const RatioEstimate &R);

/// Returns "+12 %" and the class of its cell, "good" or "bad"; both are empty
/// if the values are equal.
std::pair<std::string, std::string> describeChange(StringRef Metric,
                                                   double Before, double After);

/// Begins a page with one heading, up to the inside of its <header>. \p Style
/// is appended to the reports' style sheet.
void beginPage(raw_ostream &OS, StringRef Title, StringRef Style = "");

/// Draws the first objective of all trials by number, and the best value so
/// far.
void drawHistory(raw_ostream &OS, const StudyRecord &R);
/// Returns true if a canary failed, or differs significantly from the baseline.
bool isOff(const Trial &Canary);
/// Times of launches, as a row of drawDistribution().
struct SampleSet {
  std::string Name;
  StringRef Class; ///< Class of its dots.
  ArrayRef<double> Nanoseconds;
};
/// Draws a row for each set, with a dot for each sample. Sets must not be
/// empty.
void drawDistribution(raw_ostream &OS, ArrayRef<SampleSet> Sets);
/// Draws occupancy by block size. Draws nothing and returns false if
/// occupancies are known for only one block size.
bool drawOccupancy(raw_ostream &OS, const StudyRecord &R);
/// Draws the first launch's baseline and winner below the device's peaks. Draws
/// nothing and returns false if their work or the peaks are unknown.
bool drawRoofline(raw_ostream &OS, const StudyRecord &R);
/// Draws two objectives against each other, with the Pareto front.
void drawFront(raw_ostream &OS, const StudyRecord &R);
/// Draws a line for each measured trial through its choices, the most important
/// parameters first.
void drawParallelCoordinates(raw_ostream &OS, const StudyRecord &R,
                             ArrayRef<ParameterImportance> Importance);
/// Draws a bar for each name. Shares are from 0 to 1.
void drawBars(raw_ostream &OS,
              ArrayRef<std::pair<std::string, double>> Shares);

/// A bar of drawWaterfall(), from \p Begin to \p End, which are from 0 to 1.
struct WaterfallStep {
  std::string Name;
  double Begin, End;
  StringRef Class; ///< Class of the bar.
};
/// Draws a bar for each step, below each other, with its length.
void drawWaterfall(raw_ostream &OS, ArrayRef<WaterfallStep> Steps);

/// Writes the words of \p Before and \p After: common, removed (del) and added
/// (ins) words.
void writeWordDiff(raw_ostream &OS, StringRef Before, StringRef After);

extern const char ReportScript[];

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPORT_REPORTPARTS_H
