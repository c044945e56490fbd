//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolBisection.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

std::vector<std::string> mneme::makeLlcOptions(const ToolTarget &Target,
                                               bool IsNVPTX) {
  std::vector<std::string> Args = {
      "-mcpu=" + Target.CPU, "-O" + utostr(Target.Level),
      std::string("-fp-contract=") + (Target.FuseFP ? "fast" : "on"),
      std::string("-relocation-model=") + (IsNVPTX ? "static" : "pic")};
  if (!Target.Features.empty())
    Args.push_back("-mattr=" + Target.Features);
  return Args;
}

namespace {
/// Runs an llc on one module.
class LlcRunner {
public:
  LlcRunner(ToolInfo Tool, const Module &M, bool Object, ToolTarget Target,
            raw_ostream *RemarksOut)
      : Tool(std::move(Tool)), M(M), Object(Object), Target(std::move(Target)),
        RemarksOut(RemarksOut) {}

  /// Runs all passes, or those that an option selects. Prints the output.
  Expected<SmallVector<char, 0>> run(StringRef Bisection) const;
  /// Runs the passes that the gate selects.
  Expected<SmallVector<char, 0>> runGated(PassGate &Gate) const;

private:
  ToolInfo Tool;
  const Module &M;
  bool Object;
  ToolTarget Target;
  raw_ostream *RemarksOut;

  Expected<SmallVector<char, 0>> runQuietly(StringRef Bisection,
                                            std::string &Log,
                                            raw_ostream *RemarksOut) const;
};
} // namespace

Expected<SmallVector<char, 0>>
LlcRunner::runQuietly(StringRef Bisection, std::string &Log,
                      raw_ostream *RemarksOut) const {
  ScratchFile In, Out;
  if (Error E = writeModule(M, Tool, In))
    return std::move(E);
  if (Error E = ScratchFile::create(Object ? "o" : "s", Out))
    return std::move(E);
  std::vector<std::string> Args = {Tool.Path};
  append_range(Args, makeLlcOptions(adaptTarget(Tool, Target),
                                    M.getTargetTriple().isNVPTX()));
  Args.insert(Args.end(),
              {std::string("-filetype=") + (Object ? "obj" : "asm"),
               "-debugger-tune=gdb", "-disable-verify"});
  // The text for an older llc has names.
  if (!isOfOlderLLVM(Tool))
    Args.push_back("-discard-value-names");
  for (const LLVMOption &O : Target.LLVMOptions)
    Args.push_back(toString(O));
  if (!Bisection.empty())
    Args.push_back(Bisection.str());
  Expected<SmallVector<char, 0>> Code =
      runTool(Tool, Target, std::move(Args), In, Out, Log, RemarksOut);
  if (!Code || !isOfOlderLLVM(Tool))
    return Code;
  // Calls of intrinsics that this llc does not know.
  for (const Function &F : M)
    if (F.isIntrinsic() && toStringRef(*Code).contains(F.getName()))
      return makeUnknownIntrinsic(Tool, F.getName());
  return Code;
}

static void printOutput(StringRef Log) {
  if (Log.empty())
    return;
  for (StringRef Line : split(Log.rtrim('\n'), '\n'))
    if (!isBisectionLine(Line))
      errs() << Line << '\n';
}

Expected<SmallVector<char, 0>> LlcRunner::run(StringRef Bisection) const {
  std::string Log;
  Expected<SmallVector<char, 0>> Code = runQuietly(Bisection, Log, RemarksOut);
  if (Code)
    printOutput(Log);
  return Code;
}

/// An llc numbers what it runs on this module, which may be less than in the
/// compilation that defines the numbers. Therefore, it first runs everything.
Expected<SmallVector<char, 0>> LlcRunner::runGated(PassGate &Gate) const {
  std::string Log;
  // If it does not end, the selected passes need the rest of the time.
  LlcRunner Numbering = *this;
  if (!Gate.options().Selection.empty())
    Numbering.Target.Seconds /= 2;
  Expected<SmallVector<char, 0>> Whole =
      Numbering.runQuietly(getWholeBisection(), Log, /*RemarksOut=*/nullptr);
  std::vector<PassExecution> Executions = parseBisection(Log);
  if (Executions.empty()) {
    consumeError(Whole.takeError()); // another error may be the tool's own
    Expected<SmallVector<char, 0>> Code = run("");
    if (Code)
      Gate.setUnnumbered(describeUnnumbered(Tool));
    return Code;
  }
  BisectionRanges Ranges;
  Gate.beginCodeGen();
  for (PassExecution &E : Executions) {
    unsigned Number = E.Number;
    if (Gate.addCodeGen(std::move(E)))
      Ranges.add(Number);
  }
  unsigned Last = Executions.size();
  if (Gate.runsRest())
    Ranges.addRest(Last + 1);
  if (Ranges.isWhole() && (!Whole || !RemarksOut)) {
    if (Whole)
      printOutput(Log);
    return Whole;
  }
  consumeError(Whole.takeError());
  Expected<std::string> Option = Ranges.getOption(Tool, Last);
  return Option ? run(*Option) : Option.takeError();
}

Expected<SmallVector<char, 0>>
mneme::runLlcTool(StringRef Program, const Module &M, bool Object,
                  const ToolTarget &Target, raw_ostream *RemarksOut,
                  PassGate *Gate) {
  Expected<ToolInfo> Tool =
      identifyTool(Program, {ToolKind::Llc}, "--llc-tool");
  if (!Tool)
    return Tool.takeError();
  LlcRunner Runner(std::move(*Tool), M, Object, Target, RemarksOut);
  return Gate ? Runner.runGated(*Gate) : Runner.run("");
}
