//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options that show the compilation of one replay. Printing options are LLVM's
// own: they are removed from the global state of the command line at once and
// set only while the replay's code is compiled.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/PrintPasses.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Pass.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &InstrumentsCat =
    getCategory(OptionGroup::Inspection);

static cl::opt<bool>
    VerifyEach("verify-each",
               cl::desc("Verify the IR after each pass of the pipeline"),
               cl::cat(InstrumentsCat));
static cl::opt<std::string>
    TimeTrace("ftime-trace",
              cl::desc("Write a time trace of the compilation for "
                       "chrome://tracing (default: time-trace.json)"),
              cl::value_desc("file"), cl::ValueOptional,
              cl::cat(InstrumentsCat));
static cl::opt<std::string>
    SaveTemps("save-temps",
              cl::desc("Write the intermediate files of the compilation "
                       "(default: into mneme-temps)"),
              cl::value_desc("dir"), cl::ValueOptional,
              cl::cat(InstrumentsCat));
static cl::opt<std::string>
    Remarks("remarks", cl::desc("Write optimization remarks as YAML"),
            cl::value_desc("file"), cl::cat(InstrumentsCat));
static cl::opt<std::string>
    RemarksFilter("remarks-filter",
                  cl::desc("Write only remarks of passes whose name matches"),
                  cl::value_desc("regex"), cl::cat(InstrumentsCat));
static cl::opt<std::string>
    Dataset("dataset",
            cl::desc("Append the replay to a file as one line of JSON"),
            cl::value_desc("file"), cl::cat(getCategory(OptionGroup::Output)));

namespace {
/// An LLVM option, by the type of its value's storage.
struct LLVMPrinter {
  enum Type { Flag, Timing, Texts, Text, Change };
  StringLiteral Name;
  Type T;
};
} // namespace

static constexpr LLVMPrinter Printers[] = {
    {"print-changed", LLVMPrinter::Change},
    {"print-before", LLVMPrinter::Texts},
    {"print-after", LLVMPrinter::Texts},
    {"print-before-all", LLVMPrinter::Flag},
    {"print-after-all", LLVMPrinter::Flag},
    {"print-module-scope", LLVMPrinter::Flag},
    {"filter-print-funcs", LLVMPrinter::Texts},
    {"filter-passes", LLVMPrinter::Texts},
    {"time-passes", LLVMPrinter::Timing},
};

static constexpr StringLiteral VocabularyOption = "ir2vec-vocab-path";

static StringRef getChangeName(ChangePrinter C) {
  switch (C) {
  case ChangePrinter::None:
  case ChangePrinter::Verbose:
    return "";
  case ChangePrinter::Quiet:
    return "quiet";
  case ChangePrinter::DiffVerbose:
    return "diff";
  case ChangePrinter::DiffQuiet:
    return "diff-quiet";
  case ChangePrinter::ColourDiffVerbose:
    return "cdiff";
  case ChangePrinter::ColourDiffQuiet:
    return "cdiff-quiet";
  case ChangePrinter::DotCfgVerbose:
    return "dot-cfg";
  case ChangePrinter::DotCfgQuiet:
    return "dot-cfg-quiet";
  }
  llvm_unreachable("unknown printer of changes");
}

void mneme::showLLVMPrinters() {
  auto &Options = cl::getRegisteredOptions();
  for (const LLVMPrinter &P : Printers)
    if (cl::Option *O = Options.lookup(P.Name)) {
      O->addCategory(InstrumentsCat);
      O->setHiddenFlag(cl::NotHidden);
    }
  if (cl::Option *O = Options.lookup(VocabularyOption)) {
    // List it once, with the other instruments.
    O->Categories.assign({&InstrumentsCat});
    O->setHiddenFlag(cl::NotHidden);
  }
}

static std::string getText(cl::Option *O, LLVMPrinter::Type T) {
  switch (T) {
  case LLVMPrinter::Flag:
    return *static_cast<cl::opt<bool> *>(O) ? "true" : "false";
  case LLVMPrinter::Timing:
    return TimePassesIsEnabled ? "true" : "false";
  case LLVMPrinter::Texts:
    return join(*static_cast<cl::list<std::string> *>(O), ",");
  case LLVMPrinter::Text:
    return *static_cast<cl::opt<std::string> *>(O);
  case LLVMPrinter::Change:
    return getChangeName(PrintChanged).str();
  }
  llvm_unreachable("unknown type of option");
}

/// Returns the value of an option and resets the option.
static std::optional<std::string> take(StringRef Name, LLVMPrinter::Type T) {
  cl::Option *O = cl::getRegisteredOptions().lookup(Name);
  if (!O || !O->getNumOccurrences())
    return std::nullopt;
  std::string Text = getText(O, T);
  O->reset();
  return Text;
}

InstrumentOptions mneme::takeInstruments() {
  InstrumentOptions I;
  for (const LLVMPrinter &P : Printers)
    if (std::optional<std::string> Text = take(P.Name, P.T))
      I.Printing.push_back({P.Name.str(), std::move(*Text)});
  I.Vocabulary = take(VocabularyOption, LLVMPrinter::Text).value_or("");
  I.VerifyEach = VerifyEach;
  auto OrDefault = [](const cl::opt<std::string> &O, StringRef Default) {
    if (!O.getNumOccurrences())
      return std::string();
    return O.empty() ? Default.str() : O.getValue();
  };
  I.TimeTrace = OrDefault(TimeTrace, "time-trace.json");
  I.SaveTemps = OrDefault(SaveTemps, "mneme-temps");
  I.Remarks = Remarks;
  I.RemarksFilter = RemarksFilter;
  I.Dataset = Dataset;
  // To stderr: stdout is for the report.
  I.Note = [](const Twine &Text) {
    errs() << "llvm-mneme-replay: note: " << printableLines(Text.str()) << '\n';
  };
  return I;
}
