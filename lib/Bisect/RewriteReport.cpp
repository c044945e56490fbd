//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RewriteReport.h"
#include "Evidence.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Evidence
//===----------------------------------------------------------------------===//

/// Returns the options of \p Config without the executions after \p Last.
static Expected<ReplayOptions> makeOptionsUpTo(const ReplayPlan &Plan,
                                               const json::Object &Config,
                                               unsigned Last) {
  ReplayOptions Options = Plan.options();
  if (Error E = applyConfig(Config, Options))
    return std::move(E);
  if (!Options.RunPasses) {
    Options.RunPasses = formatv("1-{0}", Last).str();
    return std::move(Options);
  }
  Expected<PassSet> Run = PassSet::parse(*Options.RunPasses);
  if (!Run)
    return Run.takeError();
  BitVector Numbers(Last + 1);
  for (unsigned I = 1; I <= Last; ++I)
    if (Run->contains(I))
      Numbers.set(I);
  Options.RunPasses = printNumbers(Numbers);
  return std::move(Options);
}

static Error compareCode(const ReplayPlan &Plan, const PassExecution &E,
                         const BlamedRewrite &W, StringRef Folder,
                         PassEvidence &Out) {
  Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
  if (!Work)
    return Work.takeError();
  std::string NamedIR = Work->pathOf("named.bc");
  if (Error Failed = writeNamedIR(Plan, NamedIR))
    return Failed;
  std::string Texts[2];
  for (bool With : {false, true}) {
    Expected<ReplayOptions> Options =
        makeOptionsUpTo(Plan, With ? W.BadConfig : W.GoodConfig, E.Number);
    if (!Options)
      return Options.takeError();
    std::string Name =
        formatv("{0}-{1}-{2}.{3}.{4}", E.Number, W.Counter, W.Count,
                With ? "with" : "without", Out.IsAssembly ? "s" : "ll")
            .str();
    Expected<std::string> Text = emitCode(Plan, std::move(*Options), NamedIR,
                                          Out.IsAssembly, Work->pathOf(Name));
    if (!Text)
      return Text.takeError();
    Texts[With] = std::move(*Text);
    keepCode(Folder, Name, Texts[With], With ? Out.AfterFile : Out.BeforeFile,
             Out.Missing);
  }
  Out.BeforeText = Texts[0];
  Out.AfterText = Texts[1];
  Out.Diff = diffCode(Texts[0], Texts[1], E.Function, Out.IsAssembly);
  if (Out.Diff.empty())
    Out.Missing = "no change unless executions after it run";
  return Error::success();
}

PassEvidence mneme::makeRewriteEvidence(const ReplayPlan &Plan,
                                        const BisectOutcome &Outcome,
                                        const BlamedRewrite &W,
                                        StringRef Folder) {
  PassEvidence Out;
  Out.Number = W.Number;
  auto Culprit = find_if(Outcome.Culprits, [&](const BisectCulprit &C) {
    return C.Execution.Number == W.Number;
  });
  if (!W.Missing.empty() || Culprit == Outcome.Culprits.end())
    return Out;
  const PassExecution &E = Culprit->Execution;
  Out.IsAssembly = E.Stage == PassStage::CodeGen;
  if (Error Failed = compareCode(Plan, E, W, Folder, Out))
    Out.Missing = "cannot be shown: " + toString(std::move(Failed));
  return Out;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

json::Array mneme::rewritesToJSON(const BisectReport &R) {
  json::Array All;
  for (auto [W, E] : zip_equal(R.Outcome.Rewrites, R.RewriteEvidence)) {
    json::Object O{{"number", W.Number}, {"missing", json::fixUTF8(W.Missing)}};
    if (W.Missing.empty()) {
      O["counter"] = W.Counter;
      O["begin"] = W.Begin;
      O["end"] = W.End;
      O["count"] = W.Count;
      O["num_counts"] = W.NumCounts;
      O["bad_chunks"] = W.BadChunks;
      O["good_chunks"] = W.GoodChunks;
      O["before"] = json::fixUTF8(E.BeforeFile);
      O["after"] = json::fixUTF8(E.AfterFile);
      O["diff"] = json::fixUTF8(E.Diff);
      O["diff_missing"] = json::fixUTF8(E.Missing);
    }
    All.push_back(std::move(O));
  }
  return All;
}

json::Value mneme::changeToJSON(const std::optional<BlamedChange> &C) {
  if (!C)
    return nullptr;
  return json::Object{{"number", C->Number},
                      {"missing", json::fixUTF8(C->Missing)},
                      {"hunks", C->NumHunks},
                      {"blamed", C->NumBlamed},
                      {"diff", json::fixUTF8(C->Diff)}};
}

void mneme::printRewrites(raw_ostream &OS, ArrayRef<BlamedRewrite> Rewrites) {
  for (const BlamedRewrite &W : Rewrites) {
    OS << left_justify("rewrite", 15) << ' ';
    if (!W.Missing.empty()) {
      OS << formatv("cannot narrow down execution {0} further: {1}\n", W.Number,
                    W.Missing);
      continue;
    }
    OS << formatv("execution {0}, debug counter {1}: count {2} of {3}-{4}",
                  W.Number, W.Counter, W.Count, W.Begin, W.End - 1);
    if (W.NumCounts == 1)
      OS << "; bad with it alone, good without it\n";
    else
      OS << formatv("; bad with it and {0} before it, good without it\n",
                    W.NumCounts - 1);
  }
}

static void printLines(raw_ostream &OS, StringRef Text) {
  static constexpr size_t MaxLines = 60;
  std::vector<StringRef> Lines = splitLines(Text);
  for (StringRef Line : ArrayRef(Lines).take_front(MaxLines))
    OS << Line << '\n';
  if (Lines.size() > MaxLines)
    OS << formatv("... {0} more lines\n", Lines.size() - MaxLines);
}

void mneme::printRewriteEvidence(raw_ostream &OS, const BisectReport &R) {
  for (auto [W, E] : zip_equal(R.Outcome.Rewrites, R.RewriteEvidence)) {
    if (!W.Missing.empty())
      continue;
    OS << formatv("\nexecution {0}, {1} without and with count {2} of {3}",
                  W.Number, E.IsAssembly ? "assembly" : "IR", W.Count,
                  W.Counter);
    if (!E.BeforeFile.empty() && !E.AfterFile.empty())
      OS << ": " << E.BeforeFile << ", " << E.AfterFile;
    OS << '\n';
    if (!E.Missing.empty())
      OS << E.Missing << '\n';
    printLines(OS, E.Diff);
  }
  const std::optional<BlamedChange> &C = R.Outcome.Change;
  if (!C)
    return;
  OS << formatv("\nexecution {0}, the part of its change that makes it bad: ",
                C->Number);
  if (C->Missing.empty())
    OS << formatv("{0} of {1} hunks\n", C->NumBlamed, C->NumHunks);
  else
    OS << "unknown: " << C->Missing << '\n';
  printLines(OS, C->Diff);
}
