//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The side-by-side view of both sides' code in a comparison.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/SideBySide.h"
#include "Modes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Reduce/Differential.h"
#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &ComparisonCat = getCategory(OptionGroup::Comparison);

namespace {
enum class ShownForm { All, IR, Assembly, Machine, Host };
} // namespace

static cl::list<ShownForm, bool, EnumParser<ShownForm>> SideBySideForms(
    "side-by-side", cl::CommaSeparated, cl::ValueOptional,
    cl::desc("Print metrics and the code of both sides in two columns"),
    cl::values(clEnumValN(ShownForm::IR, "ir", "optimized IR"),
               clEnumValN(ShownForm::Assembly, "asm",
                          "the GPU's assembly: PTX"),
               clEnumValN(ShownForm::Machine, "obj",
                          "the GPU's machine code, disassembled: SASS"),
               clEnumValN(ShownForm::Host, "host",
                          "the CPU's assembly, on the host device"),
               // An optional value needs an entry for the empty value.
               clEnumValN(ShownForm::All, "", "all of these (default)")),
    cl::sub(getCompareCommand()), cl::cat(ComparisonCat));
static cl::opt<std::string>
    Page("html",
         cl::desc("Write metrics and the code of both sides to a file as an "
                  "HTML page"),
         cl::value_desc("file"), cl::sub(getCompareCommand()),
         cl::cat(ComparisonCat));

bool mneme::isCodePrinted() {
  return SideBySideForms.getNumOccurrences() && Page.empty();
}

bool mneme::isCodeShown() { return isCodePrinted() || !Page.empty(); }

static bool isShown(CodeForm Form) {
  static constexpr std::pair<CodeForm, ShownForm> Names[] = {
      {CodeForm::IR, ShownForm::IR},
      {CodeForm::Assembly, ShownForm::Assembly},
      {CodeForm::Machine, ShownForm::Machine},
      {CodeForm::Host, ShownForm::Host}};
  if (SideBySideForms.empty() || is_contained(SideBySideForms, ShownForm::All))
    return true;
  return any_of(Names, [&](const auto &N) {
    return N.first == Form && is_contained(SideBySideForms, N.second);
  });
}

static StringRef getId(CodeForm Form) {
  switch (Form) {
  case CodeForm::IR:
    return "ir";
  case CodeForm::Assembly:
    return "asm";
  case CodeForm::Machine:
    return "obj";
  case CodeForm::Host:
    return "host";
  }
  llvm_unreachable("unknown form of code");
}

static std::string nameSide(const ReplayPlan &Plan) {
  std::vector<std::string> Options = makeOptions(makeConfig(Plan.options()));
  return Options.empty() ? "as recorded" : quoteCommand(Options);
}

static std::string chooseSameDevice(const ReplayPlan &Plan,
                                    const DifferentialResult &R) {
  for (const ReplayResult *Side : {&R.Good, &R.Bad})
    if (!Side->Device.empty())
      return Side->Device;
  StringRef Name = Plan.options().Device;
  return Name == "auto" ? chooseDevice(Plan) : Name.str();
}

/// Warns if the code shown is not the code that was replayed.
static void checkHash(StringRef Side, const ReplayResult &Replayed,
                      const ReplayResult &Shown) {
  if (!Replayed.CodeHash.empty() && !Shown.CodeHash.empty() &&
      Replayed.CodeHash != Shown.CodeHash)
    printWarning("the " + Side +
                 " side was compiled twice, to different code: the code shown "
                 "is not the code replayed");
}

Error mneme::showCode(const ReplayPlan &Good, const ReplayPlan &Bad,
                      const DifferentialResult &R) {
  SideBySide S;
  std::string Device = chooseSameDevice(Bad, R);
  const RecordedKernel &Kernel = Bad.kernel();
  S.Kernel = Kernel.displayName();
  S.Facts = {"record " + Bad.instance().DynamicHash, Kernel.Arch,
             "device " + Device};
  S.Outcome = R.Reason;
  if (CriterionText == "time")
    S.TimeRatio = R.Ratio;
  const ReplayPlan *Plans[] = {&Good, &Bad};
  for (auto [I, Plan] : enumerate(Plans)) {
    Expected<ReplayCode> Code = readReplayCode(*Plan, Device);
    if (!Code)
      return Code.takeError();
    checkHash(I ? "bad" : "good", I ? R.Bad : R.Good, Code->Compiled);
    S.Names[I] = nameSide(*Plan);
    S.Metrics[I] = getMetrics(*Plan, Code->Compiled);
    // Its time is not comparable: this compilation also writes assembly.
    S.Metrics[I].erase("compile_time");
    for (auto [K, T] : enumerate(make_filter_range(
             Code->Forms, [](const CodeText &T) { return isShown(T.Form); }))) {
      if (K == S.Code.size())
        S.Code.push_back(
            {T.Title.str(), getId(T.Form).str(), T.NumberedNames.str(), {}});
      S.Code[K].Sides[I] = {std::move(T.Text), std::move(T.Missing),
                            T.Instructions};
    }
  }
  if (!Page.empty())
    return writeSideBySidePage(S, Page);
  // Without a terminal, use the default width of diff -y.
  unsigned Width = sys::Process::StandardOutColumns();
  textOuts() << '\n';
  printSideBySide(textOuts(), S, Width ? Width : 130);
  return Error::success();
}
