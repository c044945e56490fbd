//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Format.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

std::string mneme::formatSpeedup(const RatioEstimate &R) {
  if (R.Low == R.Value && R.High == R.Value)
    return formatv("{0:f3}x", R.Value).str();
  if (!R.hasInterval())
    return formatv("{0:f3}x ({1})", R.Value, describeInterval(R)).str();
  return formatv("{0:f3}x [{1:f3}, {2:f3}]", R.Value, R.Low, R.High).str();
}

std::string mneme::formatNanoseconds(double Nanoseconds) {
  static constexpr StringLiteral Units[] = {"ns", "us", "ms", "s"};
  size_t Unit = 0;
  for (; Nanoseconds >= 1000 && Unit + 1 < std::size(Units); ++Unit)
    Nanoseconds /= 1000;
  // Three significant digits.
  if (Nanoseconds >= 99.95)
    return formatv("{0:f0} {1}", Nanoseconds, Units[Unit]).str();
  if (Nanoseconds >= 9.995)
    return formatv("{0:f1} {1}", Nanoseconds, Units[Unit]).str();
  return formatv("{0:f2} {1}", Nanoseconds, Units[Unit]).str();
}

std::string mneme::formatMetric(double V) {
  std::string Text;
  raw_string_ostream(Text) << format("%.6g", V);
  return Text;
}

std::string mneme::formatValue(const json::Value &V) {
  if (std::optional<StringRef> Text = V.getAsString())
    return "'" + Text->str() + "'";
  return formatv("{0}", V).str();
}

std::string mneme::formatConfig(const json::Object &Config) {
  if (Config.empty())
    return "as recorded";
  std::vector<std::string> Parts;
  for (const auto &KV : Config)
    Parts.push_back(KV.first.str() + "=" + formatValue(KV.second));
  llvm::sort(Parts);
  return join(Parts, " ");
}
