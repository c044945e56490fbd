//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bisect --over: finds the first bad compiler.
//
//===----------------------------------------------------------------------===//

#include "Over.h"
#include "Modes.h"
#include "llvm/Mneme/Bisect/CompilerSearch.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &OverCat = getCategory(OptionGroup::Comparison);

namespace {
enum class OverKind { Passes, LLVM, Ptxas, Controls };
} // namespace
static EnumOption<OverKind> Over(
    "over",
    cl::desc("Find the first bad compiler between those of --good and --bad, "
             "which are folders or programs, or revisions of --llvm-checkout"),
    cl::init(OverKind::Passes),
    cl::values(clEnumValN(OverKind::LLVM, "llvm", "builds of opt and llc"),
               clEnumValN(OverKind::Ptxas, "ptxas",
                          "CUDA toolkits, or ptxas programs"),
               clEnumValN(OverKind::Controls, "controls",
                          "refused: controls files have no parts")),
    cl::sub(getBisectCommand()), cl::cat(OverCat));
static cl::list<std::string>
    OverList("over-list",
             cl::desc("Compilers to search: glob of builds, or a folder that "
                      "holds them; repeatable. Default: those next to --good "
                      "and --bad"),
             cl::value_desc("glob"), cl::sub(getBisectCommand()),
             cl::cat(OverCat));
static cl::opt<std::string>
    Checkout("llvm-checkout",
             cl::desc("Git checkout of LLVM whose commits --over=llvm searches "
                      "with git bisect"),
             cl::value_desc("dir"), cl::sub(getBisectCommand()),
             cl::cat(OverCat));
static cl::opt<std::string>
    Build("llvm-build",
          cl::desc("Shell command that builds a commit in --llvm-checkout "
                   "(default: ninja -C build opt llc)"),
          cl::value_desc("command"), cl::sub(getBisectCommand()),
          cl::cat(OverCat));
static cl::opt<std::string>
    Tools("llvm-tools",
          cl::desc("Folder of the built opt and llc in --llvm-checkout "
                   "(default: build/bin)"),
          cl::value_desc("dir"), cl::init("build/bin"),
          cl::sub(getBisectCommand()), cl::cat(OverCat));

bool mneme::isBisectedOverCompilers() { return Over != OverKind::Passes; }

std::vector<StringRef> mneme::getOverOptions() {
  return {Over.ArgStr, OverList.ArgStr, Checkout.ArgStr, Build.ArgStr,
          Tools.ArgStr};
}

Error mneme::checkOverOptions() {
  if (isBisectedOverCompilers())
    return Error::success();
  const cl::Option *Others[] = {std::addressof(OverList), &Checkout, &Build,
                                &Tools};
  for (const cl::Option *O : Others)
    if (O->getNumOccurrences())
      return createStringError("--" + O->ArgStr + " needs --over");
  return Error::success();
}

static Expected<CompilerSearchOptions> readOptions(const ReplayPlan &Plan) {
  if (Over == OverKind::Controls)
    return createStringError(
        "--over=controls: a controls file of ptxas is encrypted as a whole, so "
        "no file lies between two of them; compare them as one setting: "
        "--good=--ptxas-controls=FILE --bad=--ptxas-controls=FILE");
  CompilerSearchOptions S;
  S.Kind = Over == OverKind::LLVM ? CompilerKind::LLVM : CompilerKind::Ptxas;
  std::string Name = ("--over=" + getCompilerKindName(S.Kind)).str();
  if (GoodSide.empty() || BadSide.empty())
    return createStringError(Name + " needs a good and a bad compiler: --good "
                                    "and --bad");
  const ReplayOptions &Base = Plan.options();
  const std::pair<StringRef, bool> Given[] = {
      {"--opt-tool", S.Kind == CompilerKind::LLVM && !Base.OptTool.empty()},
      {"--llc-tool", S.Kind == CompilerKind::LLVM && !Base.LlcTool.empty()},
      {"--ptxas", S.Kind == CompilerKind::Ptxas && !Base.Ptxas.empty()}};
  for (auto [Option, IsGiven] : Given)
    if (IsGiven)
      return createStringError(Name + " chooses " + Option +
                               " itself: leave it out");
  if (!Checkout.empty() && S.Kind != CompilerKind::LLVM)
    return createStringError("--llvm-checkout needs --over=llvm");
  if (!Checkout.empty() && !OverList.empty())
    return createStringError("--over-list and --llvm-checkout contradict each "
                             "other");
  for (const cl::opt<std::string> *O : {&Build, &Tools})
    if (O->getNumOccurrences() && Checkout.empty())
      return createStringError("--" + O->ArgStr + " needs --llvm-checkout");
  S.Good = GoodSide;
  S.Bad = BadSide;
  S.Builds = std::vector<std::string>(OverList.begin(), OverList.end());
  S.Checkout = Checkout;
  S.BuildCommand = Build;
  S.BuiltTools = Tools;
  return std::move(S);
}

Expected<int> mneme::runBisectOver(const ReplayPlan &Plan,
                                   const ReplayBisectOptions &O) {
  Expected<CompilerSearchOptions> S = readOptions(Plan);
  if (!S)
    return S.takeError();
  Expected<CompilerReport> R = searchCompilers(Plan, O, *S);
  if (!R)
    return R.takeError();
  if (printsText())
    printReport(textOuts(), *R);
  else
    jsonOuts() << formatv("{0:2}\n", toJSON(*R));
  return !R->Candidates.empty() && R->isConfirmed() ? 0 : 2;
}
