//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Demangle/Demangle.h"
#include "llvm/Mneme/Deploy/Prove.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Value orNull(const std::optional<RatioEstimate> &R) {
  return R ? toJSON(*R) : nullptr;
}

static json::Value variantToJSON(const ProvedVariant &V) {
  StringRef Agreement = V.agreement();
  return json::Object{{"kernel", json::fixUTF8(V.Kernel)},
                      {"demangled_name", json::fixUTF8(demangle(V.Kernel))},
                      {"static_hash", V.StaticHash},
                      {"package", json::fixUTF8(V.Package)},
                      {"variant", V.Number},
                      {"served", V.Served},
                      {"pairs", V.Measured.Pairs},
                      {"measured", orNull(V.Measured.Ratio)},
                      {"promised", orNull(V.Promised)},
                      {"waiting", json::Object{{"plain", V.PlainWaiting},
                                               {"tuned", V.TunedWaiting}}},
                      {"agreement", orNull(Agreement)}};
}

json::Value mneme::toJSON(const Proof &P) {
  json::Object Reasons;
  for (const auto &[Reason, Count] : P.Use.Reasons)
    Reasons[Reason] = Count;
  json::Array Variants;
  for (const ProvedVariant &V : P.Variants)
    Variants.push_back(variantToJSON(V));
  json::Value Difference =
      P.isEqual() ? json::Value(nullptr) : json::fixUTF8(P.Difference);
  return json::Object{{"equal", P.isEqual()},
                      {"difference", std::move(Difference)},
                      {"judge", P.IsChecked         ? "check"
                                : P.Ignored.empty() ? "bytes"
                                                    : "lines"},
                      {"host_finish", orNull(P.Finish)},
                      {"served", P.Use.Served},
                      {"fell_back", P.Use.FellBack},
                      {"too_early", P.Use.TooEarly},
                      {"unmatched", P.Use.Unmatched},
                      {"reasons", std::move(Reasons)},
                      {"pairs", P.Application.Pairs},
                      {"speedup", orNull(P.Application.Ratio)},
                      {"plain_seconds", json::Array(P.PlainSeconds)},
                      {"tuned_seconds", json::Array(P.TunedSeconds)},
                      {"variants", std::move(Variants)}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string describeSpeedup(const MeasuredSpeedup &M) {
  if (!M.Ratio)
    return "not measured";
  return formatv("speed-up {0:f3} ({1}), {2} of runs", M.Ratio->Value,
                 describeInterval(*M.Ratio), formatCount(M.Pairs, "pair"));
}

static std::string describeAgreement(const ProvedVariant &V) {
  if (V.isDisturbed())
    return formatv("not judged: launches of the application's own kernel "
                   "waited for a CPU for {0:f0} % of their time, tuned ones "
                   "for {1:f0} %; end other programs, and prove it again",
                   100 * V.PlainWaiting, 100 * V.TunedWaiting);
  StringRef Agreement = V.agreement();
  if (Agreement == "yes")
    return "as promised";
  return Agreement.empty() ? "" : (Agreement + " than promised").str();
}

void mneme::printProof(raw_ostream &OS, const Proof &P) {
  auto Line = [&](StringRef Name, const Twine &Text) {
    OS << formatv("{0,-12} {1}\n", Name, printable(Text.str()));
  };
  uint64_t All =
      P.Use.Served + P.Use.FellBack + P.Use.TooEarly + P.Use.Unmatched;
  auto PrintServed = [&] {
    Line("served", Twine(P.Use.Served) + " of " + formatCount(All, "launch") +
                       (P.Use.Served ? "" : ": " + P.Use.explain()));
  };
  // That the results are equal then says nothing.
  if (P.isEqual() && !P.Use.Served) {
    PrintServed();
    Line("results", "equal, without tuned kernels");
    return;
  }
  if (P.isEqual())
    Line("results", P.IsChecked         ? "the same, judged by --check"
                    : P.Ignored.empty() ? "equal"
                                        : "equal, but for lines that match '" +
                                              printable(P.Ignored) + "'");
  else
    Line("results", "different: " + P.Difference);
  if (P.Use.NumReports || P.isEqual())
    PrintServed();
  if (P.Use.Served)
    for (const auto &[Reason, Count] : P.Use.Reasons)
      Line("", Twine(Count) + " fell back: " + Reason);
  if (!P.holds())
    return;
  if (!P.Finish.empty())
    Line("device",
         "host; the application's own kernels are compiled at its -O level, "
         "with --host-finish=" +
             P.Finish);
  Line("application", describeSpeedup(P.Application));
  for (const ProvedVariant &V : P.Variants) {
    Line("kernel", shorten(demangle(V.Kernel), 64) + ", variant " +
                       Twine(V.Number) + " of '" + V.Package + "', " +
                       formatCount(V.Served, "launch"));
    Line("  measured", describeSpeedup(V.Measured));
    if (V.Promised)
      Line("  promised",
           formatv("speed-up {0:f3} ({1:f3} to {2:f3}{3})", V.Promised->Value,
                   V.Promised->Low, V.Promised->High,
                   V.SpansCaches ? " with cold and warm caches" : "")
               .str());
    if (std::string Text = describeAgreement(V); !Text.empty())
      Line("  agreement", Text);
  }
}
