//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Guard.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value getSide(const Regression &R, bool IsBad) {
  if (R.isMetric())
    return IsBad ? R.BadValue : R.GoodValue;
  return IsBad ? R.BadVerdict : R.GoodVerdict;
}

static json::Value toJSON(const GuardedKernel &K, const Regression &R) {
  return json::Object{
      {"kernel", K.Name},
      {"static_hash", K.StaticHash},
      {"record_id", R.RecordId},
      {"metric", R.Metric},
      {"good", getSide(R, false)},
      {"bad", getSide(R, true)},
      {"interval", R.Ratio ? makeInterval(*R.Ratio) : json::Value(nullptr)},
      {"error", orNull(R.Error)},
      {"known", R.IsKnown},
      {"cause", orNull(R.Cause)},
      {"pass", orNull(R.Pass)},
      {"function", orNull(R.Function)},
      {"no_cause", orNull(R.NoCause)},
      {"report", orNull(R.Report)}};
}

static StringRef getCodeName(GuardedKernel::CodeTy C) {
  static constexpr StringLiteral Names[] = {"same", "different", "missing"};
  return Names[C];
}

json::Value mneme::toJSON(const GuardReport &R) {
  json::Array Kernels, Regressions, Warnings;
  for (const GuardedKernel &K : R.Kernels) {
    Kernels.push_back(json::Object{{"kernel", K.Name},
                                   {"file", json::fixUTF8(K.File)},
                                   {"static_hash", K.StaticHash},
                                   {"code", getCodeName(K.Code)},
                                   {"undecided", orNull(K.Undecided)}});
    for (const Regression &Found : K.Regressions)
      Regressions.push_back(::toJSON(K, Found));
  }
  for (const std::string &Text : R.Warnings)
    Warnings.push_back(json::fixUTF8(Text));
  return json::Object{{"good", json::fixUTF8(R.Good)},
                      {"bad", json::fixUTF8(R.Bad)},
                      {"kernels", std::move(Kernels)},
                      {"regressions", std::move(Regressions)},
                      {"warnings", std::move(Warnings)},
                      {"seconds", json::Object{{"compile", R.ScreenSeconds},
                                               {"replay", R.ReplaySeconds},
                                               {"bisect", R.BisectSeconds}}}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string formatSide(const Regression &R, bool IsBad) {
  if (!R.isMetric())
    return IsBad ? R.BadVerdict : R.GoodVerdict;
  double Value = IsBad ? R.BadValue : R.GoodValue;
  return R.Metric == "time" ? formatNanoseconds(Value) : formatMetric(Value);
}

/// Returns the cause, or the first line of why it is unknown.
static std::string describeCause(const Regression &R) {
  if (!R.Cause.empty())
    return R.Cause;
  StringRef Why = R.NoCause.empty() ? R.Error : R.NoCause;
  Why = Why.split('\n').first;
  return Why.empty() ? "" : ("(" + Why + ")").str();
}

/// Returns "verify: Match -> Mismatch", and the cause if there is one.
static std::string describeRegression(const Regression &R) {
  std::string Text =
      R.Metric + ": " + formatSide(R, false) + " -> " + formatSide(R, true);
  std::string Cause = describeCause(R);
  return Cause.empty() ? Text : Text + "  " + Cause;
}

void mneme::printReport(raw_ostream &OS, const GuardReport &R) {
  TextTable Table({"kernel", "metric", "good", "bad", "cause", "report"});
  size_t Known = 0;
  for (const GuardedKernel &K : R.Kernels)
    for (const Regression &Found : K.Regressions) {
      if (Found.IsKnown) {
        ++Known;
        continue;
      }
      Table.add({K.Name, Found.Metric, formatSide(Found, false),
                 formatSide(Found, true), describeCause(Found), Found.Report});
    }
  if (!Table.empty())
    Table.print(OS, "llrrll");
  for (const GuardedKernel &K : R.Kernels)
    if (!K.Undecided.empty())
      OS << "undecided: " << K.Name << ": " << K.Undecided << '\n';
  OS << formatCount(R.Kernels.size(), "kernel") << ": "
     << R.count([](const auto &K) { return K.Code == GuardedKernel::Same; })
     << " with the same code, "
     << R.count([](const auto &K) { return K.isWorse(); })
     << " worse or wrong, "
     << R.count([](const auto &K) { return !K.Undecided.empty(); })
     << " undecided";
  if (Known)
    OS << "; " << formatCount(Known, "known regression");
  OS << '\n';
}

//===----------------------------------------------------------------------===//
// JUnit
//===----------------------------------------------------------------------===//

static std::string escapeXML(StringRef Text) {
  std::string Escaped;
  raw_string_ostream OS(Escaped);
  printHTMLEscaped(printableLines(Text), OS);
  return Escaped;
}

void mneme::printJUnit(raw_ostream &OS, const GuardReport &R) {
  size_t Failures = R.count([](const auto &K) { return K.isWorse(); });
  size_t Skipped = R.count(
      [](const auto &K) { return !K.isWorse() && !K.Undecided.empty(); });
  OS << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
     << formatv("<testsuites>\n<testsuite name=\"llvm-mneme-replay guard\" "
                "tests=\"{0}\" failures=\"{1}\" skipped=\"{2}\">\n",
                R.Kernels.size(), Failures, Skipped);
  for (const GuardedKernel &K : R.Kernels) {
    OS << formatv("<testcase classname=\"{0}\" name=\"{1}\">", K.StaticHash,
                  escapeXML(K.Name));
    if (K.isWorse()) {
      OS << "\n<failure message=\"worse or wrong\">";
      for (const Regression &Found : K.Regressions)
        if (!Found.IsKnown)
          OS << escapeXML(describeRegression(Found) + "\n");
      OS << "</failure>\n";
    } else if (!K.Undecided.empty()) {
      OS << "\n<skipped message=\"" << escapeXML(K.Undecided) << "\"/>\n";
    }
    OS << "</testcase>\n";
  }
  OS << "</testsuite>\n</testsuites>\n";
}

//===----------------------------------------------------------------------===//
// SARIF
//===----------------------------------------------------------------------===//

static json::Object makeMessage(const Twine &Text) {
  return json::Object{{"text", json::fixUTF8(Text.str())}};
}

static json::Object makeResult(const GuardedKernel &K, const Regression &R) {
  json::Object Result{
      {"ruleId", R.Metric},
      {"level", R.isMetric() ? "warning" : "error"},
      {"message", makeMessage(K.Name + ": " + describeRegression(R))},
      {"partialFingerprints",
       json::Object{{"regression/v1", K.StaticHash + "/" + R.Metric}}},
      {"properties", toJSON(K, R)}};
  // Of the sources, a recording need not know anything.
  std::string File = sys::path::convert_to_slash(K.File);
  StringRef Scheme = sys::path::is_absolute(File) ? "file://" : "";
  Result["locations"] = json::Array{json::Object{
      {"physicalLocation",
       json::Object{{"artifactLocation",
                     json::Object{{"uri", (Scheme + encodeURI(File)).str()}}}}},
      {"logicalLocations",
       json::Array{json::Object{{"fullyQualifiedName", json::fixUTF8(K.Name)},
                                {"kind", "function"}}}}}};
  if (R.IsKnown)
    Result["suppressions"] = json::Array{json::Object{{"kind", "external"}}};
  return Result;
}

json::Value mneme::toSARIF(const GuardReport &R) {
  json::Array Results, Notes;
  std::set<std::string> Metrics;
  auto AddNote = [&](const Twine &Text) {
    Notes.push_back(
        json::Object{{"level", "warning"}, {"message", makeMessage(Text)}});
  };
  for (const std::string &Text : R.Warnings)
    AddNote(Text);
  for (const GuardedKernel &K : R.Kernels) {
    if (!K.Undecided.empty())
      AddNote("undecided: " + K.Name + ": " + K.Undecided);
    for (const Regression &Found : K.Regressions) {
      Metrics.insert(Found.Metric);
      Results.push_back(makeResult(K, Found));
    }
  }
  json::Array Rules;
  for (const std::string &Metric : Metrics)
    Rules.push_back(json::Object{{"id", Metric}});
  json::Object Driver{{"name", "llvm-mneme-replay guard"},
                      {"version", getVersion()},
                      {"rules", std::move(Rules)}};
  json::Object Run{
      {"tool", json::Object{{"driver", std::move(Driver)}}},
      {"invocations", json::Array{json::Object{
                          {"executionSuccessful", true},
                          {"toolExecutionNotifications", std::move(Notes)}}}},
      {"results", std::move(Results)}};
  return json::Object{
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", json::Array{std::move(Run)}}};
}

//===----------------------------------------------------------------------===//
// Accepted regressions
//===----------------------------------------------------------------------===//

Expected<AcceptedRegressions> AcceptedRegressions::read(StringRef Path) {
  Expected<json::Value> V = readJSONFile(Path);
  if (!V)
    return V.takeError();
  const json::Object *O = V->getAsObject();
  const json::Array *All = O ? O->getArray("regressions") : nullptr;
  if (!All)
    return createFileError(Path, createStringError("no report of guard: has "
                                                   "no 'regressions'"));
  AcceptedRegressions A;
  for (const json::Value &One : *All) {
    const json::Object *R = One.getAsObject();
    std::optional<StringRef> Hash, Metric;
    const json::Value *Bad = nullptr;
    if (R) {
      Hash = R->getString("static_hash");
      Metric = R->getString("metric");
      Bad = R->get("bad");
    }
    if (!Hash || !Metric || !Bad)
      return createFileError(
          Path, createStringError("no report of guard: a regression lacks "
                                  "'static_hash', 'metric' or 'bad'"));
    A.BadSides.emplace(std::pair(Hash->str(), Metric->str()), *Bad);
  }
  return std::move(A);
}

bool AcceptedRegressions::contains(const GuardedKernel &K, const Regression &R,
                                   ArrayRef<Criterion> Criteria) const {
  auto C = find_if(Criteria,
                   [&](const Criterion &C) { return C.Metric == R.Metric; });
  auto Accepts = [&](const json::Value &Bad) {
    if (!R.isMetric())
      return Bad.getAsString() == StringRef(R.BadVerdict);
    std::optional<double> Value = Bad.getAsNumber();
    return Value && !C->isWorse(R.BadValue, *Value);
  };
  auto Range = BadSides.equal_range({K.StaticHash, R.Metric});
  return any_of(make_range(Range.first, Range.second),
                [&](const auto &Known) { return Accepts(Known.second); });
}
