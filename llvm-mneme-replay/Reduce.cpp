//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm-mneme-replay reduce: reduces a kernel while two sides still differ.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Reduce/Reducer.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &ReduceCat = getCategory(OptionGroup::Comparison);

cl::SubCommand &mneme::getReduceCommand() {
  static cl::SubCommand Command(
      "reduce", "Reduce the kernel while the two sides still differ");
  return Command;
}

static cl::opt<std::string> LLVMReduce(
    "llvm-reduce", cl::desc("llvm-reduce program. Default: that of this LLVM"),
    cl::value_desc("file"), cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<unsigned>
    Jobs("jobs",
         cl::desc("Parallel tests. Default: one per core, one for a GPU and "
                  "for times"),
         cl::value_desc("n"), cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<double>
    Limit("limit",
          cl::desc("Time limit in seconds; the report is then of the smallest "
                   "kernel found so far (default: no limit)"),
          cl::value_desc("seconds"), cl::sub(getReduceCommand()),
          cl::cat(ReduceCat));

static cl::opt<bool>
    WithReproducer("write-reproducer",
                   cl::desc("Also write a program that shows the difference "
                            "without Mneme"),
                   cl::sub(getReduceCommand()), cl::cat(ReduceCat));

/// Adds the reproducer that the command line asks for.
static Error addReproducer(ReduceOptions &O) {
  ReproducerOptions Options;
  if (Error E = readReproducer(Options))
    return E;
  if (!WithReproducer) {
    if (Options.Only)
      return createStringError("--program needs --write-reproducer");
    return Error::success();
  }
  if (O.Difference.By != "verify")
    return createStringError("--write-reproducer needs --criterion=verify: a "
                             "reproducer shows a wrong result");
  O.Reproducer = std::move(Options);
  return Error::success();
}

static json::Value toJSON(const ReducedSize &S) {
  auto Dim = [](const Dim3 &D) { return json::Array{D.X, D.Y, D.Z}; };
  return json::Object{{"kernel_instructions", S.KernelInstructions},
                      {"instructions", S.Instructions},
                      {"functions", S.Functions},
                      {"grid", Dim(S.Grid)},
                      {"block", Dim(S.Block)},
                      {"buffers", S.Regions},
                      {"buffer_bytes", S.RegionBytes},
                      {"stored_bytes", S.StoredBytes}};
}

static void printOutcome(const ReduceOutcome &Outcome) {
  const ReducedSize &A = Outcome.Before, &B = Outcome.After;
  if (!printsText()) {
    json::Array Notes;
    for (const std::string &Note : Outcome.Notes)
      Notes.push_back(Note);
    jsonOuts() << formatv(
        "{0:2}\n",
        json::Value(json::Object{{"output", OutputFolder.getValue()},
                                 {"difference", makeReport(Outcome.Difference)},
                                 {"before", toJSON(A)},
                                 {"after", toJSON(B)},
                                 {"tests", Outcome.Tests},
                                 {"seconds", Outcome.Seconds},
                                 {"notes", std::move(Notes)}}));
    return;
  }
  textOuts() << "report          " << OutputFolder << "\ndifference      "
             << Outcome.Difference.Reason
             << formatv(
                    "\ninstructions    {0} -> {1} in the kernel, {2} -> {3} in "
                    "all\nthreads         {4} -> {5}\nmemory          {6} -> "
                    "{7} bytes, {8} -> {9} in pages that are not zero\n"
                    "tests           {10} in "
                    "{11:f1} s\n",
                    A.KernelInstructions, B.KernelInstructions, A.Instructions,
                    B.Instructions, A.Grid.count() * A.Block.count(),
                    B.Grid.count() * B.Block.count(), A.RegionBytes,
                    B.RegionBytes, A.StoredBytes, B.StoredBytes, Outcome.Tests,
                    Outcome.Seconds);
  for (const std::string &Note : Outcome.Notes)
    textOuts() << "note            " << Note << '\n';
}

/// Replaces numbers in \p Text, the value of --culprit, by names, because
/// numbers change with the IR.
static Expected<std::string> namePasses(const ReplayPlan &Plan,
                                        StringRef Text) {
  Expected<PassSet> Set = PassSet::parse(Text);
  if (!Set)
    return Set.takeError();
  // Numbers refer to a compilation in which all passes run.
  ReplayOptions All = Plan.options();
  All.RunPasses.reset();
  All.SkipPasses.reset();
  Expected<std::unique_ptr<ReplayPlan>> Numbered = Plan.vary(std::move(All));
  if (!Numbered)
    return Numbered.takeError();
  PassListOptions Wanted;
  Wanted.Details = false;
  Wanted.Limit = Plan.options().Timeout;
  Expected<PassListing> Listing = listPasses(**Numbered, Wanted);
  if (!Listing)
    return Listing.takeError();
  if (Error E = PassSelection{std::nullopt, *Set}.check(*Listing)) {
    std::string Reason = toString(std::move(E));
    return createStringError(
        "--culprit" + StringRef(Reason).substr(StringRef(Reason).find(':')));
  }
  if (!Set->hasNumbers())
    return Text.str();
  std::vector<std::string> Names;
  for (const PassExecution &E : Listing->Executions)
    if (E.Number && (Set->contains(E.Number) || Set->names(E)))
      Names.push_back(E.spec());
  if (Names.empty())
    return createStringError("no pass execution matches '" + Text + "'");
  return join(Names, ",");
}

/// Rejects numbers in --run-passes and --skip-passes: replacing them would take
/// too many names.
static Error checkPassNames(const ReplayOptions &O) {
  for (const std::optional<std::string> &Text : {O.RunPasses, O.SkipPasses}) {
    if (!Text)
      continue;
    Expected<PassSet> Set = PassSet::parse(*Text);
    if (!Set)
      return Set.takeError();
    if (Set->hasNumbers())
      return createStringError(
          "reduction renumbers pass executions: give names instead of '" +
          *Text + "', such as gvn@kernel#2");
  }
  return Error::success();
}

Expected<int> mneme::runReduce(const Invocation &I) {
  if (OutputFolder.empty())
    return createStringError("reduce needs a folder for its report: --output");
  const ReplayPlan &Plan = *I.Plan;
  ReduceOptions O;
  Expected<DifferentialOptions> D = readDifference(Plan, Plan.options());
  if (!D)
    return D.takeError();
  O.Difference = std::move(*D);
  O.Output = OutputFolder;
  if (Error E = addReproducer(O))
    return std::move(E);
  O.LLVMReduce = LLVMReduce;
  if (Culprit.getNumOccurrences())
    if (Error E = namePasses(Plan, Culprit).moveInto(O.Culprit))
      return std::move(E);
  if (Error E = checkPassNames(Plan.options()))
    return std::move(E);
  if (Error E = checkPassNames(O.Difference.Good))
    return std::move(E);
  O.Tool = sys::fs::getMainExecutable(
      I.Args.front(), reinterpret_cast<void *>(&mneme::runReduce));
  // Measurements must not run concurrently.
  StringRef Device = Plan.options().Device;
  bool Alone = (Device == "auto" ? chooseDevice(Plan) : Device) != "host" ||
               CriterionText == "time";
  O.Jobs = Jobs    ? Jobs.getValue()
           : Alone ? 1
                   : std::max(std::thread::hardware_concurrency(), 1u);
  if (Jobs.getNumOccurrences() && Jobs == 0)
    return createStringError("impossible --jobs=0");
  if (Limit.getNumOccurrences() && !(Limit > 0))
    return createStringError(
        formatv("impossible --limit={0}", Limit.getValue()).str());
  O.Limit = Limit;
  O.Say = [](StringRef Line) {
    errs() << "reduce: " << printableLines(Line) << '\n';
  };
  Expected<ReduceOutcome> Outcome = reduce(Plan, std::move(O));
  if (!Outcome)
    return Outcome.takeError();
  printOutcome(*Outcome);
  return 0;
}
