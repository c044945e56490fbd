//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Bisect/OptCommand.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Mneme/Support/NumberedIR.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace llvm::mneme;

/// Names in the report's scripts and text.
static constexpr char Tool[] = "llvm-mneme-replay", Recording[] = "recording";

namespace {
class ReportWriter {
public:
  ReportWriter(const ReplayPlan &Plan, const ReduceOptions &O,
               const ReduceOutcome &Outcome)
      : Plan(Plan), O(O), Outcome(Outcome) {}

  Error write();

private:
  const ReplayPlan &Plan;
  const ReduceOptions &O;
  const ReduceOutcome &Outcome;
  std::string Good, Bad, Test; ///< Command lines.
  ReplayResult GoodResult, BadResult;

  std::string path(StringRef Name) const { return pathIn(O.Output, Name); }
  Error makeCommands();
  Error replaySide(StringRef Name, ReplayOptions Side, ReplayResult &R);
  Error writeIR();
  Error writeScript(StringRef Name, const Twine &Text);
  std::string makeReadme() const;
  void describeResults(raw_ostream &OS) const;
  void describeWithoutMneme(raw_ostream &OS) const;
  void describeSizes(raw_ostream &OS) const;
};
} // namespace

Error ReportWriter::makeCommands() {
  auto Make = [&](const ReplayOptions &Side) {
    std::vector<std::string> Words = {Tool, Recording};
    llvm::append_range(Words, makeArguments(Side));
    if (O.Difference.wantsResources())
      Words.push_back("--resources");
    return quoteCommand(Words);
  };
  Good = Make(O.Difference.Good);
  Bad = Make(Plan.options());
  Expected<std::vector<std::string>> Words =
      makeTestCommand(Plan, O, Tool, Recording);
  if (!Words)
    return Words.takeError();
  Test = quoteCommand(*Words);
  return Error::success();
}

/// Writes NAME.json, the report of the tool, and NAME.ll, the IR after the
/// pipeline.
Error ReportWriter::replaySide(StringRef Name, ReplayOptions Side,
                               ReplayResult &R) {
  Side.IRFile.clear();
  Side.Resources = O.Difference.wantsResources();
  Side.OutputIR = path((Name + ".ll").str());
  Expected<std::unique_ptr<ReplayPlan>> One = Plan.vary(std::move(Side));
  if (!One)
    return One.takeError();
  if (Error E = runIsolatedReplay(**One).moveInto(R))
    return E;
  return writeFileAtomically(path((Name + ".json").str()),
                             formatv("{0:2}\n", makeReport(**One, R)).str());
}

Error ReportWriter::writeIR() {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  M->setModuleIdentifier("reduced.ll"); // not a path of this machine
  return writeReadableIR(Plan, *M, path("reduced.ll"));
}

Error ReportWriter::writeScript(StringRef Name, const Twine &Text) {
  return mneme::writeScript(path(Name), ("#!/bin/sh\n" + Text).str());
}

static void describeBuffers(raw_ostream &OS, const ReplayResult &R) {
  for (const BufferReport &B : R.Buffers) {
    if (B.Stats.Pass)
      continue;
    OS << formatv("- buffer {0}{1}: {2} of {3} elements ({4}) differ", B.Id,
                  B.Name.empty() ? "" : " (" + B.Name + ")", B.Stats.Mismatches,
                  B.Stats.Elements, getDTypeName(B.Rule.DType));
    if (B.Stats.First)
      OS << formatv(", first at {0}: expected `{1}`, is `{2}`", *B.Stats.First,
                    B.Stats.Expected, B.Stats.Actual);
    OS << '\n';
  }
}

void ReportWriter::describeResults(raw_ostream &OS) const {
  OS << "Expected (good side): " << getVerdictName(GoodResult.V) << "\n\n    "
     << Good << "\n\n";
  OS << "Actual (bad side): " << getVerdictName(BadResult.V);
  if (!BadResult.Error.empty())
    OS << ": " << BadResult.Error;
  OS << "\n\n    " << Bad << "\n\n";
  describeBuffers(OS, BadResult);
  if (O.Difference.By != "verify")
    OS << "\nCompared by `" << O.Difference.By
       << "`: " << Outcome.Difference.Reason << '\n';
  if (!O.Culprit.empty())
    OS << "\nWithout these pass executions the bad side is good: `" << O.Culprit
       << "`\n";
}

void mneme::printCode(raw_ostream &OS, StringRef Folder, StringRef Input) {
  static constexpr size_t MaxLines = 120;
  const StringRef Names[] = {Input, "good.ll", "bad.ll"};
  std::string Texts[3];
  for (auto [Name, Text] : zip_equal(Names, Texts)) {
    Expected<std::unique_ptr<MemoryBuffer>> File =
        readFile(pathIn(Folder, Name));
    if (File)
      Text = (*File)->getBuffer().str();
    else
      consumeError(File.takeError()); // a compiler that died left none
  }
  auto Print = [&](StringRef What, StringRef Language, StringRef Text) {
    if (!Text.empty() && splitLines(Text).size() <= MaxLines)
      OS << What << ":\n\n```" << Language << '\n'
         << Text.rtrim() << "\n```\n\n";
  };
  Print(("`" + Input + "`").str(), "llvm", Texts[0]);
  if (Texts[1].empty() || Texts[2].empty())
    return;
  JointIR Joint = numberJointly(Texts[1], Texts[2]);
  Print("From `good.ll` to `bad.ll`", "diff",
        makeIRDiff(Joint, Joint.Before, Joint.After,
                   /*RenumberedValues=*/false));
}

/// Writes the parts of an LLVM issue: the command, the IR, and the effect.
void ReportWriter::describeWithoutMneme(raw_ostream &OS) const {
  Expected<std::string> Command =
      makeOptCommand(Plan, path("reduced.ll"), "reduced.ll");
  if (Command)
    OS << "## With opt alone\n\nThis writes `bad.ll`:\n\n    " << *Command
       << "\n\n";
  else
    OS << "## With opt alone\n\nThere is no such command: "
       << toString(Command.takeError()) << ".\n\n";
  printCode(OS, O.Output, "reduced.ll");
}

void ReportWriter::describeSizes(raw_ostream &OS) const {
  const ReducedSize &A = Outcome.Before, &B = Outcome.After;
  auto Row = [&](StringRef What, const Twine &Before, const Twine &After) {
    OS << "| " << What << " | " << Before << " | " << After << " |\n";
  };
  OS << "| | recorded | reduced |\n|---|---|---|\n";
  Row("instructions of the kernel", Twine(A.KernelInstructions),
      Twine(B.KernelInstructions));
  Row("instructions in all", Twine(A.Instructions), Twine(B.Instructions));
  Row("functions", Twine(A.Functions), Twine(B.Functions));
  Row("blocks", formatDims(A.Grid), formatDims(B.Grid));
  Row("threads of a block", formatDims(A.Block), formatDims(B.Block));
  Row("buffers and variables", Twine(A.Regions), Twine(B.Regions));
  Row("their bytes", Twine(A.RegionBytes), Twine(B.RegionBytes));
  Row("bytes of pages that are not zero", Twine(A.StoredBytes), Twine(B.StoredBytes));
}

void mneme::printVersions(raw_ostream &OS, const ReplayPlan &Plan,
                          const ReplayResult &R) {
  const RecordedKernel &K = Plan.kernel();
  printVersion(OS);
  OS << "recorded kernel: " << K.displayName() << " for " << K.Triple << ", "
     << K.Arch << ", -O" << K.OptLevel << ", by " << K.Toolchain << '\n';
  OS << "replayed on: " << R.Device;
  if (R.GPU)
    OS << ", " << R.GPU->Info.Name << ", driver " << R.GPU->Info.Driver;
  OS << '\n';
  if (!R.Assembler.empty())
    OS << "ptxas: " << R.Assembler << '\n';
  OS << "machine: " << sys::getProcessTriple() << ", " << sys::getHostCPUName()
     << '\n';
}

std::string ReportWriter::makeReadme() const {
  const RecordedKernel &K = Plan.kernel();
  std::string Text;
  raw_string_ostream OS(Text);
  OS << "# " << K.displayName() << ": two compilations, two results\n\n";
  OS << "A GPU kernel, reduced while it kept the difference.\n`sh "
        "reproduce.sh` shows it; it needs `"
     << Tool
     << "` in PATH,\nor its path in the environment variable "
        "LLVM_MNEME_REPLAY.\n\n";
  OS << "## Expected and actual\n\n";
  describeResults(OS);
  OS << '\n';
  describeWithoutMneme(OS);
  OS << "## Files\n\n"
        "| file | contents |\n|---|---|\n"
        "| `reduced.ll` | the kernel; the same as in `recording` |\n"
        "| `good.ll`, `bad.ll` | what the two sides' pipelines make of it |\n"
        "| `good.json`, `bad.json` | what the two commands above report |\n"
        "| `recording` | launch, arguments and memory; what is expected of the "
        "memory is what the good side leaves |\n"
        "| `reproduce.sh` | runs both sides; succeeds when they differ |\n"
        "| `interesting.sh` | the same for a file of IR: a test for "
        "`llvm-reduce` and the like |\n";
  if (sys::fs::exists(path(ReproducerFolder)))
    OS << "| `" << ReproducerFolder
       << "` | a program that shows the difference without Mneme; has a "
          "`README.md` of its own |\n";
  OS << '\n';
  OS << "## Size\n\n";
  describeSizes(OS);
  OS << "\n## Versions\n\n```\n";
  printVersions(OS, Plan, BadResult);
  OS << "```\n";
  if (!Outcome.Notes.empty())
    OS << "\n## Notes\n\n";
  for (const std::string &Note : Outcome.Notes)
    OS << "- " << Note << ".\n";
  return Text;
}

Error ReportWriter::write() {
  if (Error E = makeCommands())
    return E;
  if (Error E = replaySide("good", O.Difference.Good, GoodResult))
    return E;
  if (Error E = replaySide("bad", Plan.options(), BadResult))
    return E;
  if (Error E = writeIR())
    return E;
  const char *Find = "replay() { \"${LLVM_MNEME_REPLAY:-llvm-mneme-replay}\" "
                     "\"$@\"; }\n";
  auto Call = [](StringRef Command) {
    return "replay" + Command.drop_front(strlen(Tool)).str();
  };
  if (Error E = writeScript(
          "reproduce.sh",
          "# Shows what the two sides do; succeeds when they differ.\n"
          "cd \"$(dirname \"$0\")\" || exit\n" +
              Twine(Find) + "echo '== the good side'\n" + Call(Good) +
              " --format=text\necho '== the bad side'\n" + Call(Bad) +
              " --format=text\necho '== both'\n" + Call(Test) + "\n"))
    return E;
  if (Error E = writeScript("interesting.sh",
                            "# interesting.sh FILE: succeeds when the two "
                            "sides differ about this "
                            "IR.\n"
                            "IR=$(realpath \"$1\") || exit\n"
                            "cd \"$(dirname \"$0\")\" || exit\n" +
                                Twine(Find) + Call(Test) + " --ir=\"$IR\"\n"))
    return E;
  return writeFileAtomically(path("README.md"), makeReadme());
}

Error mneme::writeReport(const ReplayPlan &Bad, const ReduceOptions &O,
                         const ReduceOutcome &Outcome) {
  return ReportWriter(Bad, O, Outcome).write();
}
