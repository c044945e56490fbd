//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolBisection.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include <climits>
#include <map>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral BisectPrefix = "BISECT: ";

StringRef mneme::getWholeBisection() { return "-opt-bisect-limit=-1"; }

bool mneme::isBisectionLine(StringRef Line) {
  return Line.starts_with(BisectPrefix);
}

bool mneme::isNumberedWrapper(StringRef Pass) {
  // The class ModuleInlinerWrapperPass, which runs the whole CGSCC pipeline,
  // has several names.
  static constexpr StringLiteral Names[] = {
      "inliner-wrapper",
      "inliner-wrapper-no-mandatory-first",
      "inliner-ml-advisor-development",
      "inliner-ml-advisor-release",
      "scc-oz-module-inliner",
  };
  return is_contained(Names, Pass);
}

/// Parses "BISECT: running pass (12) licm on loop %3 in function f".
static std::optional<PassExecution> parseExecution(StringRef Line) {
  static const Regex Pattern(
      "^BISECT: (NOT )?running pass \\(([0-9]+)\\) (.*) on (.*)$");
  SmallVector<StringRef, 5> Groups;
  PassExecution E;
  if (!Pattern.match(Line, &Groups) || Groups[2].getAsInteger(10, E.Number))
    return std::nullopt;
  E.Ran = Groups[1].empty();
  E.Pass = Groups[3].str();
  E.Unit = Groups[4].str();
  return E;
}

std::vector<PassExecution> mneme::parseBisection(StringRef Log) {
  std::vector<PassExecution> Executions;
  std::map<std::pair<std::string, std::string>, unsigned> Seen;
  for (StringRef Line : split(Log, '\n')) {
    std::optional<PassExecution> Execution = parseExecution(Line);
    if (!Execution)
      continue;
    Execution->Occurrence = ++Seen[{Execution->Pass, Execution->Unit}];
    Executions.push_back(std::move(*Execution));
  }
  return Executions;
}

std::string mneme::describeUnnumbered(const ToolInfo &Tool) {
  return formatv("'{0}' numbers no pass executions with {1}: its passes cannot "
                 "be skipped",
                 Tool.Path, getWholeBisection())
      .str();
}

void BisectionRanges::add(unsigned Number) {
  if (Number && endsWith(Number - 1))
    Ranges.back().second = Number;
  else
    Ranges.push_back({Number, Number});
}

void BisectionRanges::addRest(unsigned First) {
  add(First);
  Ranges.back().second = INT_MAX;
}

bool BisectionRanges::isWhole() const {
  return Ranges.size() == 1 && Ranges[0] == std::pair(1u, unsigned(INT_MAX));
}

Expected<std::string> BisectionRanges::getOption(const ToolInfo &Tool,
                                                 unsigned Last) const {
  if (Ranges.empty())
    return "-opt-bisect-limit=0";
  if (Ranges.size() == 1 && Ranges[0].first == 1)
    return "-opt-bisect-limit=" + utostr(Ranges[0].second);
  if (runsOnlyPrefixes(Tool))
    return make_error<PassSetError>(
        formatv("'{0}' of LLVM {1} can only run the first of its {2} pass "
                "executions, as with --run-passes=1-{2}",
                Tool.Path, Tool.Version, Last)
            .str());
  return "-opt-bisect=" + join(map_range(Ranges,
                                         [](const auto &R) {
                                           return R.first == R.second
                                                      ? utostr(R.first)
                                                      : utostr(R.first) + "-" +
                                                            utostr(R.second);
                                         }),
                               ",");
}
