//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm-mneme-replay guard: compares two compilers on many recorded kernels.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Guard.h"
#include "Modes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Reduce/Differential.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/StatusLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &GuardCat = getCategory(OptionGroup::Comparison);

cl::SubCommand &mneme::getGuardCommand() {
  static cl::SubCommand Command(
      "guard", "Find the kernels of many recordings that one compiler makes "
               "worse or wrong");
  return Command;
}

/// In order of severity.
static constexpr StringRef DefaultMetrics =
    "verify,time,spills,local,occupancy,regs,shared,code_size";
static const std::string MetricsHelp =
    ("Criteria of a regression, the most important first: verify, time, or "
     "metrics of the machine code. Default: " +
     DefaultMetrics + ", with time on GPUs only")
        .str();
static cl::opt<std::string> Metrics("metrics", cl::desc(MetricsHelp),
                                    cl::value_desc("list"),
                                    cl::sub(getGuardCommand()),
                                    cl::cat(GuardCat));
static cl::opt<bool> NoBisect("no-bisect",
                              cl::desc("Do not bisect regressions"),
                              cl::sub(getGuardCommand()), cl::cat(GuardCat));
static cl::opt<double>
    Budget("budget",
           cl::desc("Seconds for all bisections; 0: no limit (default 600)"),
           cl::value_desc("seconds"), cl::init(600), cl::sub(getGuardCommand()),
           cl::cat(GuardCat));
static cl::opt<std::string>
    Accept("accept",
           cl::desc("Report in JSON of an earlier run, whose regressions are "
                    "accepted unless they are worse now"),
           cl::value_desc("file"), cl::sub(getGuardCommand()),
           cl::cat(GuardCat));
static cl::opt<std::string>
    JUnit("junit", cl::desc("Write a JUnit report with a test per kernel"),
          cl::value_desc("file"), cl::sub(getGuardCommand()),
          cl::cat(GuardCat));

static cl::opt<std::string>
    SARIF("sarif", cl::desc("Write the regressions as a SARIF log"),
          cl::value_desc("file"), cl::sub(getGuardCommand()),
          cl::cat(GuardCat));

std::vector<StringRef> mneme::getGuardOptions() {
  return {Metrics.ArgStr, NoBisect.ArgStr, Budget.ArgStr,
          Accept.ArgStr,  JUnit.ArgStr,    SARIF.ArgStr};
}

static Expected<std::vector<Criterion>> readCriteria() {
  Expected<double> Threshold = readThreshold();
  if (!Threshold)
    return Threshold.takeError();
  std::vector<Criterion> Criteria;
  for (StringRef Name :
       split(Metrics.empty() ? DefaultMetrics : StringRef(Metrics), ',')) {
    Expected<Criterion> C = Criterion::parse(Name, *Threshold);
    if (!C)
      return createStringError("--metrics: " + toString(C.takeError()));
    if (!C->isVerify() && !C->isTime() && !needsResources(C->Metric))
      return createStringError("--metrics: '" + Name +
                               "' is neither verify, time nor a metric of the "
                               "machine code");
    Criteria.push_back(std::move(*C));
  }
  return std::move(Criteria);
}

static Expected<GuardOptions> readOptions(ArrayRef<std::string> Paths,
                                          ReplayOptions Base, ToolArgs Args) {
  GuardOptions O;
  if (Paths.empty())
    return createStringError("no recordings: give folders of recordings");
  if (GoodSide.empty())
    return createStringError("guard needs a good compiler: --good");
  for (const std::string &Path : Paths) {
    Expected<std::vector<std::string>> Files = findRecordings(Path);
    if (!Files)
      return Files.takeError();
    append_range(O.Files, *Files);
  }
  if (Error E = readCriteria().moveInto(O.Criteria))
    return std::move(E);
  if (Error E = readProcessCounts(O.Resources))
    return std::move(E);
  if (!(Budget >= 0))
    return createStringError("invalid --budget: must not be negative");
  O.Base = std::move(Base);
  O.Good = GoodSide;
  O.Bad = BadSide;
  O.AllowPrograms = allowsPrograms();
  O.TimesOnHost = !Metrics.empty();
  O.Resources.CompileTimeout = O.Base.Timeout;
  O.Bisects = !NoBisect;
  O.Budget = Budget;
  O.Output = OutputFolder;
  static int Anchor;
  O.Program = sys::fs::getMainExecutable(Args.front(), &Anchor);
  O.MakeCommonWords = [Args](StringRef File, StringRef RecordId) {
    return makeCommonWords(Args.drop_front(), File, RecordId);
  };
  return std::move(O);
}

Expected<int> mneme::runGuard(ArrayRef<std::string> Paths, ReplayOptions Base,
                              ToolArgs Args) {
  Expected<GuardOptions> O = readOptions(Paths, std::move(Base), Args);
  if (!O)
    return O.takeError();
  AcceptedRegressions Known;
  if (!Accept.empty())
    if (Error E = AcceptedRegressions::read(Accept).moveInto(Known))
      return std::move(E);
  StatusLine Status;
  O->Status = [&](const Twine &Text) { Status.set(Text); };
  Expected<GuardReport> R =
      guardCompiler(*O, [&](const GuardedKernel &K, const Regression &Found) {
        return Known.contains(K, Found, O->Criteria);
      });
  Status.clear();
  if (!R)
    return R.takeError();
  for (const std::string &Text : R->Warnings)
    printWarning(Text);
  if (printsText())
    printReport(textOuts(), *R);
  else
    jsonOuts() << formatv("{0:2}\n", toJSON(*R));
  if (!JUnit.empty())
    if (Error E = writeFileAtomically(JUnit, [&](raw_ostream &OS) {
          printJUnit(OS, *R);
          return Error::success();
        }))
      return std::move(E);
  if (!SARIF.empty())
    if (Error E =
            writeFileAtomically(SARIF, formatv("{0:2}\n", toSARIF(*R)).str()))
      return std::move(E);
  if (R->count([](const GuardedKernel &K) { return K.isWorse(); }))
    return makeExitCode(Difference::Present);
  return makeExitCode(
      R->count([](const GuardedKernel &K) { return !K.Undecided.empty(); })
          ? Difference::Untestable
          : Difference::None);
}
