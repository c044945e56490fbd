//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/ApplicationReport.h"
#include "ReportParts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns the part of the time of all kernels that a kernel saves.
static double getGain(const ReportedKernel &K) {
  return K.IsPackaged && K.Speedup ? K.Share * (1 - 1 / K.Speedup->Value) : 0;
}

static void writeVerdict(raw_ostream &OS, const ApplicationRecord &R) {
  bool IsFaster = any_of(R.Kernels, [](const auto &K) { return K.IsPackaged; });
  OS << "<section id=\"verdict\" class=\"verdict" << (IsFaster ? " win" : "")
     << "\">\n<strong>";
  if (IsFaster)
    OS << formatv("{0:f3} times as fast", R.Predicted.Value);
  else
    OS << "nothing to deploy";
  OS << "</strong>\n";
  if (IsFaster)
    OS << "<p class=\"note\">predicted for all kernels together: "
       << escapeHTML(describeInterval(R.Predicted)) << "</p>\n";
  for (const std::string &Text : R.Caveats)
    OS << "<p class=\"caveat\">" << escapeHTML(Text) << "</p>\n";
  OS << "<dl class=\"facts\">\n";
  for (const auto &[Name, Value] : R.Facts)
    OS << "<div><dt>" << escapeHTML(Name) << "</dt><dd>" << escapeHTML(Value)
       << "</dd></div>\n";
  OS << "</dl>\n</section>\n";
}

/// Draws what each packaged kernel saves, from the time before to the time
/// after.
static void writeGains(raw_ostream &OS, const ApplicationRecord &R) {
  if (none_of(R.Kernels, [](const auto &K) { return getGain(K) > 0; }))
    return;
  std::vector<WaterfallStep> Steps;
  double Left = 1;
  Steps.push_back({"before", 0, 1, "reference"});
  for (const ReportedKernel &K : R.Kernels)
    if (double Gain = getGain(K); Gain > 0) {
      Steps.push_back({K.Name, Left - Gain, Left, "winner"});
      Left -= Gain;
    }
  Steps.push_back({"after", 0, Left, "complete"});
  OS << "<section id=\"gains\">\n<h2>Time of all kernels</h2>\n";
  drawWaterfall(OS, Steps);
  OS << "</section>\n";
}

static void writeRatio(raw_ostream &OS,
                       const std::optional<RatioEstimate> &Ratio) {
  OS << "<td class=\"n\">" << (Ratio ? escapeHTML(formatRatio(*Ratio)) : "")
     << "</td>";
}

static void writeKernels(raw_ostream &OS, const ApplicationRecord &R) {
  OS << "<section id=\"kernels\">\n<h2>Kernels</h2>\n<table>\n<tr>"
        "<th>kernel</th><th class=\"n\">share</th><th class=\"n\">trials</th>"
        "<th class=\"n\">speed-up</th><th class=\"n\">in the application</th>"
        "<th>result</th></tr>\n";
  for (const ReportedKernel &K : R.Kernels) {
    OS << "<tr><td><code>";
    if (K.Report.empty())
      OS << escapeHTML(K.Name);
    else
      OS << "<a href=\"" << escapeHTML(encodeURI(K.Report)) << "\">"
         << escapeHTML(K.Name) << "</a>";
    OS << formatv("</code></td><td class=\"n\">{0:f1} %</td><td class=\"n\">",
                  100 * K.Share);
    if (K.Trials)
      OS << *K.Trials;
    OS << "</td>";
    writeRatio(OS, K.Speedup);
    writeRatio(OS, K.Measured);
    OS << "<td>" << escapeHTML(K.Result) << "</td></tr>\n";
  }
  OS << "</table>\n</section>\n";
}

static void writeCommands(raw_ostream &OS, const ApplicationRecord &R) {
  OS << "<section id=\"commands\">\n<h2>Commands</h2>\n";
  for (const auto &[Name, Command] : R.Commands)
    OS << "<h3>" << escapeHTML(Name) << "</h3>\n<pre>" << escapeHTML(Command)
       << "</pre>\n";
  OS << "</section>\n";
}

Error mneme::writeApplicationReport(const ApplicationRecord &R,
                                    StringRef Path) {
  return writeFileAtomically(Path, [&](raw_ostream &OS) {
    beginPage(OS, R.Title);
    OS << "</header>\n";
    writeVerdict(OS, R);
    writeGains(OS, R);
    writeKernels(OS, R);
    writeCommands(OS, R);
    OS << "</body>\n</html>\n";
    return Error::success();
  });
}
