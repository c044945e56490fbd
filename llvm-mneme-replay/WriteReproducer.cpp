//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm-mneme-replay write-reproducer: writes a program that shows the
// difference of two sides without Mneme.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/Mneme/Reduce/Reproducer.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand &mneme::getWriteReproducerCommand() {
  static cl::SubCommand Command(
      "write-reproducer",
      "Write a program that shows the sides' difference without Mneme");
  return Command;
}

static cl::opt<std::string>
    Only("program",
         cl::desc("Program of the reproducer: gpu (the driver's API) or cpu. "
                  "Default: each that is possible"),
         cl::value_desc("gpu|cpu"), cl::sub(getReduceCommand()),
         cl::sub(getWriteReproducerCommand()),
         cl::cat(getCategory(OptionGroup::Comparison)));

Error mneme::readReproducer(ReproducerOptions &O) {
  if (!Only.getNumOccurrences())
    return Error::success();
  ReproducerKind Kind;
  if (Error E = parseReproducerKind(Only).moveInto(Kind))
    return createStringError("--program: " + toString(std::move(E)));
  O.Only = Kind;
  return Error::success();
}

Expected<int> mneme::runWriteReproducer(const Invocation &I) {
  ReproducerOptions O;
  O.Output = OutputFolder;
  if (O.Output.empty())
    return createStringError(
        "write-reproducer needs a folder for the reproducer: --output");
  if (Error E = readReproducer(O))
    return std::move(E);
  const ReplayPlan &Bad = *I.Plan;
  Expected<DifferentialOptions> D = readDifference(Bad, Bad.options());
  if (!D)
    return D.takeError();
  Expected<DifferentialResult> R = CrossChecks.getNumOccurrences()
                                       ? compareSides(Bad, *D)
                                       : compareWithRecorded(Bad, *D);
  if (!R)
    return R.takeError();
  Expected<WrittenReproducer> Written = writeReproducer(Bad, D->Good, *R, O);
  if (!Written)
    return Written.takeError();
  if (!printsText()) {
    jsonOuts() << formatv(
        "{0:2}\n",
        json::Value(json::Object{{"output", O.Output},
                                 {"difference", makeReport(*R)},
                                 {"programs", json::Array(Written->Programs)},
                                 {"notes", json::Array(Written->Notes)}}));
    return 0;
  }
  textOuts() << "reproducer      " << O.Output << "\ndifference      "
             << R->Reason << '\n';
  for (const std::string &Program : Written->Programs)
    textOuts() << "program         " << Program << '\n';
  for (const std::string &Note : Written->Notes)
    textOuts() << "note            " << Note << '\n';
  return 0;
}
