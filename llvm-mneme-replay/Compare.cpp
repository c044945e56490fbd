//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm-mneme-replay compare: compares two sides.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/Mneme/Reduce/Differential.h"
#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand &mneme::getCompareCommand() {
  static cl::SubCommand Command(
      "compare", "Compare a replay with the good side instead of with the "
                 "recorded launch");
  return Command;
}

json::Value mneme::makeReport(const DifferentialResult &R) {
  json::Object O{{"difference", getDifferenceName(R.D)},
                 {"reason", R.Reason},
                 {"good", R.GoodValue},
                 {"bad", R.BadValue},
                 {"ratio", nullptr}};
  if (R.Ratio)
    O["ratio"] = toArray(*R.Ratio);
  return O;
}

Expected<int> mneme::runCompare(const Invocation &I) {
  const ReplayPlan &Plan = *I.Plan;
  std::unique_ptr<ReplayPlan> Good, Bad;
  Expected<ReplayOptions> BadOptions =
      makeSide(BadSide, Plan.instance().DynamicHash, Plan.options());
  if (!BadOptions)
    return BadOptions.takeError();
  if (Error E = Plan.vary(std::move(*BadOptions)).moveInto(Bad))
    return std::move(E);
  Expected<DifferentialOptions> D = readDifference(*Bad, Plan.options());
  if (!D)
    return D.takeError();
  if (Error E = Plan.vary(D->Good).moveInto(Good))
    return std::move(E);
  D->Resources |= isCodeShown() && canBuildImage(*Bad);
  Expected<DifferentialResult> R = CrossChecks.getNumOccurrences()
                                       ? compareSides(*Bad, *D)
                                       : compareWithRecorded(*Bad, *D);
  if (!R)
    return R.takeError();
  if (isCodePrinted() ? printsTextByDefault() : printsText())
    textOuts() << "difference      " << getDifferenceName(R->D)
               << "\nreason          " << R->Reason << '\n';
  else
    jsonOuts() << formatv("{0:2}\n", makeReport(*R));
  if (isCodeShown())
    if (Error E = showCode(*Good, *Bad, *R))
      return std::move(E);
  return makeExitCode(R->D);
}
