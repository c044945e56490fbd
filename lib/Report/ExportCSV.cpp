//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a line for each completed trial, in the format of RFC 4180. Lines end
// with only a line feed, which every reader accepts.
//
//===----------------------------------------------------------------------===//

#include "Exports.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

namespace {
class Row {
public:
  explicit Row(raw_ostream &OS) : OS(OS) {}
  ~Row() { OS << '\n'; }

  void text(StringRef Text) {
    OS << LS;
    if (Text.find_first_of(",\"\r\n") == StringRef::npos) {
      OS << Text;
      return;
    }
    OS << '"';
    for (char C : Text) {
      if (C == '"')
        OS << '"';
      OS << C;
    }
    OS << '"';
  }
  /// Writes a string as it is, null as an empty field, and other values as
  /// JSON.
  void value(const json::Value &V) {
    if (V.kind() == json::Value::Null)
      text("");
    else if (std::optional<StringRef> S = V.getAsString())
      text(*S);
    else
      text(formatv("{0}", V).str());
  }
  /// Writes an empty field for 0, which means unknown.
  void known(double Number) {
    value(Number != 0 ? json::Value(Number) : json::Value(nullptr));
  }

private:
  raw_ostream &OS;
  ListSeparator LS{","};
};
} // namespace

Error mneme::exportCSV(const StudyRecord &R, StringRef Path) {
  std::set<std::string> Metrics;
  for (const Trial &T : R.Trials)
    for (const auto &[Name, V] : T.Metrics)
      Metrics.insert(Name.str());
  const Study &S = R.Space.study();

  auto WriteHeader = [&](raw_ostream &OS) {
    Row Line(OS);
    for (StringRef Column : {"number", "kind", "state", "failure"})
      Line.text(Column);
    for (const Objective &O : S.Objectives)
      Line.text("objective." + O.Metric);
    for (const Parameter &P : S.Parameters)
      Line.text("param." + P.Name);
    for (const std::string &M : Metrics)
      Line.text("metric." + M);
    for (StringRef Column :
         {"baseline_ns", "samples", "duplicate", "duplicate_of", "suspect",
          "ir_hash", "assembly_hash", "code_hash", "compile_seconds",
          "run_seconds", "started", "ended", "worker", "device", "config",
          "error"})
      Line.text(Column);
  };
  auto WriteTrial = [&](raw_ostream &OS, const Trial &T) {
    Row Line(OS);
    Line.value(T.Number);
    Line.text(getTrialKindName(T.Kind));
    Line.text(getTrialStateName(T.State));
    Line.text(T.Failure.name());
    for (size_t I = 0; I < S.Objectives.size(); ++I)
      Line.value(I < T.Values.size() ? json::Value(T.Values[I])
                                     : json::Value(nullptr));
    StringMap<Value> Values = R.Space.values(T.P);
    for (const Parameter &P : S.Parameters) {
      auto It = Values.find(P.Name);
      Line.value(It == Values.end() ? json::Value(nullptr)
                                    : toJSON(It->second));
    }
    for (const std::string &M : Metrics) {
      auto It = T.Metrics.find(M);
      Line.value(It == T.Metrics.end() ? json::Value(nullptr)
                                       : json::Value(It->second));
    }
    Line.known(T.BaselineNanoseconds);
    Line.value(T.Samples.size());
    Line.text(getDuplicateName(T.DuplicateKind));
    Line.value(T.DuplicateOf ? json::Value(*T.DuplicateOf)
                             : json::Value(nullptr));
    Line.value(T.Suspect);
    Line.text(T.IRHash);
    Line.text(T.AssemblyHash);
    Line.text(T.CodeHash);
    Line.known(T.CompileSeconds);
    Line.known(T.RunSeconds);
    Line.known(T.Started);
    Line.known(T.Ended);
    Line.text(T.Worker);
    Line.text(T.Device);
    Line.value(json::Object(T.Config));
    Line.text(T.Error);
  };
  return writeFileAtomically(Path, [&](raw_ostream &OS) {
    WriteHeader(OS);
    for (const Trial &T : R.Trials)
      if (T.State != TrialState::Running)
        WriteTrial(OS, T);
    return Error::success();
  });
}
