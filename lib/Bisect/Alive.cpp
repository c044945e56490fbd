//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Alive.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Alive2 unrolls loops up to this number of iterations. Without a bound, it
/// ignores back edges.
static constexpr unsigned Unrolling = 2;

/// Time limit of one run of alive-tv. Alive2 itself limits each solver query to
/// 10 s.
static constexpr double AliveSeconds = 120;

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Returns true if the summary has a line like "  1 incorrect transformations"
/// with a count above 0.
static bool hasCount(StringRef Output, StringRef Kind) {
  SmallVector<StringRef, 2> Groups;
  unsigned Count = 0;
  return Regex(("^  ([0-9]+) " + Kind).str(), Regex::Newline)
             .match(Output, &Groups) &&
         !Groups[1].getAsInteger(10, Count) && Count;
}

/// Returns the text from the first error to the summary; empty if there is no
/// error.
static std::string findErrors(StringRef Output) {
  size_t Begin = Output.find("ERROR: ");
  if (Begin == StringRef::npos)
    return "";
  StringRef Text = Output.substr(Begin);
  return Text.take_front(Text.find("\nSummary:")).trim().str();
}

void mneme::parseAliveOutput(StringRef Output, std::optional<int> ExitCode,
                             AliveCheck &C) {
  C.Result = AliveCheck::Undecided;
  C.Text = findErrors(Output);
  if (hasCount(Output, "incorrect transformations")) {
    C.Result = AliveCheck::Incorrect;
  } else if (C.Text.empty() && ExitCode == 0 &&
             hasCount(Output, "correct transformations")) {
    C.Result = AliveCheck::Correct;
  } else if (C.Text.empty()) {
    C.Text =
        !ExitCode ? "alive-tv died of a signal"
        : *ExitCode
            ? formatv("alive-tv failed with exit code {0}", *ExitCode).str()
            : "alive-tv printed no result for the function";
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static Error check(StringRef Program, StringRef Function,
                   const PassEvidence &Evidence, AliveCheck &C) {
  ScratchFile Before, After;
  if (Error E = ScratchFile::create("ll", Before, Evidence.BeforeText))
    return E;
  if (Error E = ScratchFile::create("ll", After, Evidence.AfterText))
    return E;
  std::string Func = ("-func=" + Function).str(),
              Source = formatv("-src-unroll={0}", Unrolling).str(),
              Target = formatv("-tgt-unroll={0}", Unrolling).str(), Output;
  StringRef Args[] = {Program, Before.Path, After.Path, Func, Source, Target};
  Expected<std::optional<int>> Code = askProgram(Args, Output, AliveSeconds);
  if (!Code)
    return Code.takeError();
  parseAliveOutput(Output, *Code, C);
  return Error::success();
}

AliveCheck mneme::runAlive(StringRef Program, const PassExecution &E,
                           const PassEvidence &Evidence) {
  AliveCheck C;
  C.Number = E.Number;
  if (Evidence.IsAssembly)
    C.Text = "Alive2 checks IR, not passes of the code generator";
  else if (E.Function.empty())
    C.Text = "Alive2 checks functions, and " + E.Pass + " runs on " + E.Unit;
  else if (Evidence.BeforeText.empty() || Evidence.AfterText.empty())
    C.Text = "no IR to check: " + Evidence.Missing;
  else if (Error Failed = check(Program, E.Function, Evidence, C))
    C.Text = toString(std::move(Failed));
  return C;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static StringRef getResultName(AliveCheck::ResultKind R) {
  switch (R) {
  case AliveCheck::Undecided:
    return "undecided";
  case AliveCheck::Correct:
    return "correct";
  case AliveCheck::Incorrect:
    return "incorrect";
  }
  llvm_unreachable("no such result");
}

json::Value mneme::toJSON(const AliveCheck &C) {
  return json::Object{{"number", C.Number},
                      {"rewrite", C.IsRewrite},
                      {"result", getResultName(C.Result)},
                      {"text", json::fixUTF8(C.Text)}};
}

void mneme::printAlive(raw_ostream &OS, const AliveCheck &C) {
  static constexpr size_t MaxLines = 60;
  OS << formatv("\nexecution {0}, {1} checked by Alive2: {2}", C.Number,
                C.IsRewrite ? "the rewrite" : "IR before and after",
                getResultName(C.Result));
  if (C.Result == AliveCheck::Correct)
    OS << formatv(" (loops up to {0} iterations)", Unrolling);
  OS << '\n';
  std::vector<StringRef> Lines = splitLines(C.Text);
  for (StringRef Line : ArrayRef(Lines).take_front(MaxLines))
    OS << Line << '\n';
  if (Lines.size() > MaxLines)
    OS << formatv("... {0} more lines\n", Lines.size() - MaxLines);
}
