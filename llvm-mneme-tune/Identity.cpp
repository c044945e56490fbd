//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The identity of a study: a resumed study must not use trials of another
/// search or of other measurements.
///
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace llvm::mneme;

static std::string print(const Expr &E) { return E ? E.print() : "-"; }

/// Describes each property of the search in a line, so that differences are
/// easy to find. Unlike the dialect's text, it is available without MLIR.
static std::string describeSearch(const Study &S) {
  std::string Text;
  raw_string_ostream OS(Text);
  for (const Parameter &P : S.Parameters) {
    OS << formatv("parameter {0}: kind {1}, scale {2}", P.Name, int(P.Kind),
                  int(P.Scale));
    if (P.Kind == Parameter::Int || P.Kind == Parameter::Real)
      OS << formatv(", {0} to {1} by {2}", print(P.Low), print(P.High),
                    print(P.Step));
    for (const Expr &Choice : P.Choices)
      OS << " | " << print(Choice);
    OS << formatv("{0}, when {1}, default {2}\n",
                  P.Space.empty() ? "" : " " + P.Space, print(P.When),
                  print(P.Default));
  }
  for (const DerivedValue &D : S.Derived)
    OS << D.Name << " = " << print(D.Is) << '\n';
  for (const Constraint &C : S.Constraints)
    OS << "require " << print(C.Holds) << '\n';
  for (const ConfigField &F : S.Fields)
    OS << formatv("set {0} = {1}, when {2}\n", F.Key, print(F.Is),
                  print(F.When));
  for (const Objective &Obj : S.Objectives)
    OS << formatv("{0} {1}\n",
                  Obj.Dir == Direction::Minimize ? "minimize" : "maximize",
                  Obj.Metric);
  return Text;
}

/// Describes the measurements, except for the device.
static std::string describeMeasurements(const TuneOptions &O,
                                        const TunedKernel &K) {
  std::string Text = O.ReplayText + "--app=" + O.AppDigest + "\n";
  // The weight of a single launch has no meaning and changes with each
  // recording into the folder.
  bool IsWeighted = K.Instances.size() > 1;
  for (auto [I, Weight] : zip_equal(K.Instances, K.Weights))
    Text +=
        formatv("--weight={0}:{1}\n", I.DynamicHash, IsWeighted ? Weight : 1.0)
            .str();
  std::vector<std::string> Controls;
  for (const auto &[Name, Setting] : O.Controls)
    Controls.push_back(
        formatv("--ptxas-controls={0}: {1}\n", Name, describeControls(Setting))
            .str());
  llvm::sort(Controls);
  return Text + join(Controls, "");
}

/// Returns a digest of the study's values for this recording.
static std::string getDigest(const SearchSpace &Space) {
  std::string Text;
  for (const Dimension &D : Space.dimensions())
    Text += formatv("{0}: {1} {2} {3} {4}\n", D.Name, int(D.Kind), D.Count,
                    D.Low, D.High)
                .str();
  return utohexstr(xxh3_64bits(Text), /*LowerCase=*/true, /*Width=*/16);
}

json::Object mneme::makeIdentity(const TuneOptions &O, const TunedKernel &K,
                                 const SearchSpace &Space) {
  // The first differing member, in alphabetical order, is reported to the user.
  return json::Object{{"record_ids", json::Array(K.recordIds())},
                      {"replayed", describeMeasurements(O, K)},
                      {"searched", describeSearch(Space.study())},
                      {"searched_values", getDigest(Space)},
                      {"static_hash", K.Kernel.StaticHash}};
}
