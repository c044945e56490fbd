//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/PipelineSpaceCheck.h"
#include "PipelineParser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Mneme/Support/Words.h"

using namespace llvm;
using namespace llvm::mneme;

/// Adaptors, which LLVM does not list among its passes.
static constexpr StringLiteral Adaptors[] = {
    "module",    "cgscc",            "function", "loop",
    "loop-mssa", "machine-function", "devirt",   "coro-cond"};

/// The level of a pass, determined by the innermost adaptor that accepts it:
/// LLVM adds missing adaptors only inside of the given ones.
struct PipelineLevel {
  StringLiteral Name, Before, After;
};
static constexpr PipelineLevel Levels[] = {
    {"a loop pass", "function(loop-mssa(", "))"},
    {"a machine function pass", "function(machine-function(", "))"},
    {"a function pass", "function(", ")"},
    {"a CGSCC pass", "cgscc(", ")"},
    {"a module pass", "module(", ")"},
};

namespace {
class SpaceChecker {
public:
  explicit SpaceChecker(PipelineParser &Parser) : Parser(Parser) {}
  Error check(const PipelineProbe &P);

private:
  PipelineParser &Parser;

  bool parses(const Twine &Passes) {
    return !errorToBool(Parser.parse(Passes.str()));
  }
  Error checkMemorySSA(const PipelineProbe &P);
  /// Returns a suggestion as the end of a message.
  std::string explainPlace(const PipelineProbe &P);
  std::string explainName(StringRef Pass);
};
} // namespace

/// The pass is known, but not valid at this level.
std::string SpaceChecker::explainPlace(const PipelineProbe &P) {
  StringRef Pass = P.Path.back().Text;
  for (const PipelineLevel &L : Levels) {
    if (!parses(L.Before + Pass + L.After))
      continue;
    std::string Text = (": it is " + L.Name).str();
    if (!P.First.empty())
      Text += ", and '" + P.First + "' comes first";
    return Text;
  }
  return "";
}

std::string SpaceChecker::explainName(StringRef Pass) {
  if (std::string Level = expandLevel(Pass.ltrim('-')); !Level.empty())
    return "; did you mean '" + Level + "'?";
  auto [Name, Params] = Pass.split('<');
  bool OfAnalysis = Name == "require" || Name == "invalidate";
  std::vector<std::string> Passes = Parser.passNames();
  std::vector<StringRef> Names(std::begin(Adaptors), std::end(Adaptors));
  append_range(Names, Passes);
  if (!OfAnalysis)
    return suggest(Name, Names);
  std::vector<std::string> Whole;
  for (StringRef Analysis : Names)
    Whole.push_back((Name + "<" + Analysis + ">").str());
  return suggest(Pass, std::vector<StringRef>(Whole.begin(), Whole.end()));
}

/// LLVM parses "loop(licm)" but aborts when it runs: some passes require
/// loop-mssa. PassBuilder reveals which: it adds that adaptor to such a pass if
/// the pass stands alone.
Error SpaceChecker::checkMemorySSA(const PipelineProbe &P) {
  const PipelineProbe::Place &Pass = P.Path.back();
  if (!parses(Pass.Text) ||
      !StringRef(Parser.print(Pass.Text)).starts_with("function(loop-mssa("))
    return Error::success();
  // Nothing follows the pass, so the last loop adaptor encloses it.
  std::string Printed = Parser.print(P.Pipeline);
  size_t With = Printed.rfind("loop-mssa("), Without = Printed.rfind("loop(");
  if (With != Printed.npos && (Without == Printed.npos || Without < With))
    return Error::success();
  bool IsInLoop = P.Path.size() > 1 && P.Path[P.Path.size() - 2].Text == "loop";
  return make_error<TextError>(
      Pass.Line, Pass.Column,
      "'" + Pass.Text + "' needs MemorySSA: write 'loop-mssa(" +
          (IsInLoop ? "...)' instead of 'loop(...)'" : Pass.Text + ")'"));
}

Error SpaceChecker::check(const PipelineProbe &P) {
  Error E = Parser.parse(P.Pipeline);
  if (!E)
    return checkMemorySSA(P);
  std::string Message = toString(std::move(E));
  const PipelineProbe::Place &Pass = P.Path.back();
  // Locate the error at the pass, unless LLVM names an adaptor around it.
  const PipelineProbe::Place *At = &Pass;
  for (const PipelineProbe::Place &Outer : P.Path)
    if (Message.find("'" + Outer.Text + "'") != Message.npos) {
      At = &Outer;
      break;
    }
  if (Message.find("'" + At->Text + "'") == Message.npos)
    Message = "'" + At->Text + "': " + Message;
  std::string Explanation = At == &Pass ? explainPlace(P) : "";
  if (Explanation.empty())
    Explanation = explainName(At->Text);
  return make_error<TextError>(At->Line, At->Column, Message + Explanation);
}

static Error checkSpace(PipelineParser &Parser, const PipelineSpace &Space) {
  SpaceChecker Checker(Parser);
  for (const PipelineProbe &P : Space.probes())
    if (Error E = Checker.check(P))
      return E;
  return Error::success();
}

Error mneme::checkPipeline(TargetMachine &TM, StringRef Passes,
                           ArrayRef<std::string> Plugins) {
  Expected<PipelineParser> Parser = PipelineParser::create(TM, Plugins);
  if (!Parser)
    return Parser.takeError();
  Error E = Parser->parse(Passes);
  if (!E)
    return Error::success();
  // Parsed as a space of one pipeline, the error has a location and a hint.
  Expected<PipelineSpace> Space = PipelineSpace::parse(Passes);
  if (!Space) {
    consumeError(Space.takeError());
    return E;
  }
  Error Explained = checkSpace(*Parser, *Space);
  if (!Explained)
    return E;
  consumeError(std::move(E));
  return quoteText("pipeline", Passes, std::move(Explained));
}

Error mneme::checkPipelineSpace(TargetMachine &TM, const PipelineSpace &Space,
                                ArrayRef<std::string> Plugins) {
  Expected<PipelineParser> Parser = PipelineParser::create(TM, Plugins);
  if (!Parser)
    return Parser.takeError();
  return checkSpace(*Parser, Space);
}
