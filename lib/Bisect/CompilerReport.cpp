//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Bisect/CompilerSearch.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static StringRef getEndName(CompilerReport::EndKind End) {
  switch (End) {
  case CompilerReport::FirstBad:
    return "first_bad";
  case CompilerReport::Range:
    return "range";
  case CompilerReport::NothingToFind:
    return "nothing";
  case CompilerReport::NotFound:
    return "not_found";
  }
  llvm_unreachable("no such end");
}

/// "good", "bad", "skipped" or "not tested".
static StringRef getResultName(const CompilerTest &T) {
  if (!T.Result)
    return "not tested";
  return *T.Result == Answer::Unresolved ? "skipped" : getAnswerName(*T.Result);
}

static json::Value toJSON(const CompilerTest &T) {
  return json::Object{{"name", json::fixUTF8(T.Name)},
                      {"version", T.Version},
                      {"subject", json::fixUTF8(T.Subject)},
                      {"config", json::Object(T.Config)},
                      {"result", getResultName(T)},
                      {"reason", json::fixUTF8(T.Reason)}};
}

static json::Value toJSON(const BisectCommand &C, const CompilerReport &R) {
  json::Object O{{"name", C.Name},
                 {"what", json::fixUTF8(C.What)},
                 {"command", json::fixUTF8(C.Text)},
                 {"runs", C.Runs},
                 {"exit_code", nullptr},
                 {"shows", nullptr}};
  if (C.ExitCode)
    O["exit_code"] = *C.ExitCode;
  if (C.Runs)
    O["shows"] = C.shows(R.What, R.Good.Value);
  return std::move(O);
}

/// Returns true if the command ran and did not show the expected result.
static bool isRefuted(const BisectCommand &C, const CompilerReport &R) {
  return C.Runs && !C.shows(R.What, R.Good.Value);
}

bool CompilerReport::isConfirmed() const {
  return none_of(Commands,
                 [&](const BisectCommand &C) { return isRefuted(C, *this); });
}

json::Value mneme::toJSON(const CompilerReport &R) {
  json::Array Tests, Commands;
  for (const CompilerTest &T : R.Tests)
    Tests.push_back(::toJSON(T));
  for (const BisectCommand &C : R.Commands)
    Commands.push_back(::toJSON(C, R));
  json::Object O{{"kernel", json::fixUTF8(R.Kernel)},
                 {"static_hash", R.StaticHash},
                 {"record_id", R.RecordId},
                 {"device", json::fixUTF8(R.Device)},
                 {"by", R.What.isVerify() ? "verify" : R.What.Metric},
                 {"over", getCompilerKindName(R.Kind)},
                 {"checkout", orNull(R.Checkout)},
                 {"found", getEndName(R.End)},
                 {"reason", json::fixUTF8(R.Reason)},
                 {"good", toJSON(R.Good)},
                 {"bad", toJSON(R.Bad)},
                 {"tests", std::move(Tests)},
                 {"last_good", orNull(R.LastGood)},
                 {"first_bad", json::Array(R.Candidates)},
                 {"confirmed", R.isConfirmed()},
                 {"random", nullptr},
                 {"steps", R.Counts.Steps},
                 {"compilations", R.Counts.Compilations},
                 {"launches", R.Counts.Launches},
                 {"seconds", R.Seconds},
                 {"notes", json::Array(R.Notes)},
                 {"commands", std::move(Commands)}};
  if (R.Random)
    O["random"] = json::Object{{"rate", R.Rate}, {"repeats", R.Repeats}};
  return std::move(O);
}

static raw_ostream &printField(raw_ostream &OS, StringRef Name) {
  return OS << left_justify(Name, 15) << ' ';
}

/// "/usr/lib/llvm-19 (19.1.7)", "1a2b3c4d5e6f Fold the thing".
static std::string nameOf(const CompilerTest &T) {
  if (!T.Subject.empty())
    return T.Name.substr(0, 12) + " " + T.Subject;
  return T.Version.empty() ? T.Name : T.Name + " (" + T.Version + ")";
}

void mneme::printReport(raw_ostream &OS, const CompilerReport &R) {
  printField(OS, "kernel") << R.Kernel << '\n';
  printField(OS, "device") << R.Device << '\n';
  printField(OS, "bisected over")
      << (R.Checkout.empty() ? "builds of " + getCompilerKindName(R.Kind)
                             : "commits of " + R.Checkout)
      << '\n';
  printField(OS, "bisected by")
      << (R.What.isVerify() ? "verify" : R.What.Metric);
  if (!R.What.isVerify())
    OS << format(", worse by more than %g %%", 100 * R.What.Threshold);
  OS << '\n';
  if (R.Random)
    printField(OS, "at random") << formatv(
        "fails in {0:f0} % of replays; good means no failure in {1}\n",
        100 * R.Rate, R.Repeats);
  for (const CompilerTest &T : R.Tests) {
    printField(OS, getResultName(T)) << nameOf(T);
    if (!T.Reason.empty())
      OS << ": " << T.Reason;
    OS << '\n';
  }
  if (!R.Reason.empty())
    printField(OS, "found") << R.Reason << '\n';
  if (const CompilerTest *T = R.find(R.LastGood))
    printField(OS, "last good") << nameOf(*T) << '\n';
  for (const std::string &Name : R.Candidates)
    printField(OS, R.Candidates.size() == 1 ? "first bad" : "one of")
        << nameOf(*R.find(Name)) << '\n';
  for (const std::string &Note : R.Notes)
    printField(OS, "note") << Note << '\n';
  printField(OS, "effort") << formatv(
      "{0} steps: {1} compilations, {2} launched; {3:f1} s\n", R.Counts.Steps,
      R.Counts.Compilations, R.Counts.Launches, R.Seconds);
  for (const BisectCommand &C : R.Commands) {
    OS << "\n# " << C.What;
    if (C.ExitCode)
      OS << "; exit code " << *C.ExitCode;
    if (isRefuted(C, R))
      OS << "; NOT CONFIRMED";
    OS << '\n' << C.Text << '\n';
  }
}
