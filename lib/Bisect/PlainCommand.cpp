//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlainCommand.h"
#include "Evidence.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Mneme/Bisect/OptCommand.h"
#include "llvm/Mneme/Compile/OlderIR.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/InstructionNamer.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Limit of passes; a longer pipeline is no more readable than the original.
static constexpr size_t MaxElements = 24;

/// Limit of combinations to try if the pipeline contains passes with different
/// parameters.
static constexpr unsigned MaxCombinations = 32;

/// Time limit of one run of opt or llc.
static constexpr double ProgramSeconds = 60;

/// Options of opt and llc that run only passes that cannot be skipped.
static constexpr StringLiteral NoPasses[] = {"-opt-bisect-limit=0",
                                             "-opt-bisect-verbose=0"};

//===----------------------------------------------------------------------===//
// Pipelines as text
//===----------------------------------------------------------------------===//

namespace {
/// A pass in a pipeline, with its parameters.
struct Element {
  std::string Text;
  /// Its adaptors from the outside in: "function(loop-mssa(".
  std::string Adaptors;

  std::string print() const {
    return Adaptors + Text +
           std::string(StringRef(Adaptors).count('('), ')');
  }
  bool operator<(const Element &E) const {
    return std::tie(Text, Adaptors) < std::tie(E.Text, E.Adaptors);
  }
};
} // namespace

/// Splits \p Text at the commas outside brackets.
static std::vector<StringRef> splitElements(StringRef Text) {
  std::vector<StringRef> Parts;
  unsigned Depth = 0;
  size_t Begin = 0;
  for (auto [I, C] : enumerate(Text)) {
    Depth += C == '(' || C == '<';
    Depth -= C == ')' || C == '>';
    if (C != ',' || Depth)
      continue;
    Parts.push_back(Text.slice(Begin, I));
    Begin = I + 1;
  }
  Parts.push_back(Text.substr(Begin));
  return Parts;
}

/// Appends an adaptor, simplified: "function<eager-inv>" and "cgscc(function"
/// run the same passes as "function".
static std::string addAdaptor(StringRef Outer, StringRef Name) {
  Name = Name.split('<').first;
  if (Name == "module" || Name == "devirt")
    return Outer.str();
  return (Name == "function" ? "" : Outer.str()) + Name.str() + "(";
}

static void collectElements(StringRef Pipeline, StringRef Adaptors,
                            std::multimap<std::string, Element> &Elements) {
  for (StringRef Part : splitElements(Pipeline)) {
    StringRef Name = Part.take_until([](char C) { return C == '(' || C == '<'; });
    // "function<eager-inv>(...)" nests; "require<globals-aa>" is a pass.
    size_t Nest = Part.find('(');
    if (Nest != StringRef::npos && Part.ends_with(")")) {
      collectElements(Part.slice(Nest + 1, Part.size() - 1),
                      addAdaptor(Adaptors, Part.take_front(Nest)), Elements);
      continue;
    }
    Element E{Part.str(), Adaptors.str()};
    if (StringRef(E.Text).ends_with("<>"))
      E.Text.resize(E.Text.size() - 2);
    // opt would fail if a second iteration found more to do.
    static const Regex Verifies("([<;])verify-fixpoint");
    E.Text = Verifies.sub("\\1no-verify-fixpoint", E.Text);
    Elements.emplace(Name.str(), std::move(E));
  }
}

/// Prints a pipeline. \p Merge: adjacent function passes share an adaptor.
static std::string printPipeline(ArrayRef<Element> Elements, bool Merge) {
  std::string Text;
  for (size_t I = 0; I != Elements.size(); ++I) {
    bool Joins = Merge && I && Elements[I].Adaptors == "function(" &&
                 Elements[I - 1].Adaptors == "function(";
    if (Joins)
      Text.pop_back();
    if (I)
      Text += ',';
    Text += Joins ? Elements[I].Text + ")" : Elements[I].print();
  }
  return Text;
}

//===----------------------------------------------------------------------===//
// IR as text
//===----------------------------------------------------------------------===//

/// Returns the text of an IR file without the names of types, and without
/// target attributes, which opt adds to functions that lack them.
static Expected<std::string> readComparableIR(StringRef Path) {
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M = parseIRFile(Path, Diagnostic, Context);
  if (!M)
    return createStringError("cannot read " + Path + ": " +
                             Diagnostic.getMessage());
  for (Function &F : *M)
    for (StringRef Attribute : {"target-cpu", "target-features"})
      F.removeFnAttr(Attribute);
  // A module that is read into a context of another one has other names.
  for (StructType *T : M->getIdentifiedStructTypes())
    T->setName("");
  M->setModuleIdentifier("");
  M->setSourceFileName("");
  std::string Text;
  raw_string_ostream OS(Text);
  M->print(OS, nullptr);
  return Text;
}

Error mneme::writeReadableIR(const ReplayPlan &Plan, const Module &M,
                             StringRef Path) {
  std::string Text;
  raw_string_ostream(Text) << M;
  if (const std::string &Program = Plan.options().OptTool; !Program.empty()) {
    Expected<ToolInfo> Info = identifyTool(Program);
    if (!Info)
      return Info.takeError();
    if (isOfOlderLLVM(*Info))
      if (Error E = printForOlderLLVM(M, Info->Major).moveInto(Text))
        return E;
  }
  return writeFileAtomically(Path, Text);
}

/// Names all values, and the module by no path of this machine.
static void nameValues(Module &M) {
  M.setModuleIdentifier("kernel.ll");
  M.setSourceFileName("kernel.ll");
  FunctionAnalysisManager NotUsed;
  for (Function &F : M)
    InstructionNamerPass().run(F, NotUsed);
}

Error mneme::writeNamedText(const ReplayPlan &Plan, StringRef Path) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  nameValues(*M);
  // Of the rest of the application's image, which llc does not add.
  for (StringRef Name : {ImageVariablesMetadata, OtherKernelsMetadata})
    if (NamedMDNode *Node = M->getNamedMetadata(Name))
      Node->eraseFromParent();
  return writeReadableIR(Plan, *M, Path);
}

Error mneme::writePlainInput(const ReplayPlan &Plan, StringRef Path) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  nameValues(*M);
  Plan.compiler().preprocess(*M);
  return writeReadableIR(Plan, *M, Path);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
/// An LLVM tool of this version.
struct Tool {
  std::string Path, Name; ///< Name: for the command line.
};

class PlainSearch {
public:
  PlainSearch(const ReplayPlan &Plan, StringRef Input, const PrivateFolder &Work)
      : Plan(Plan), Input(Input.str()), Work(Work) {}

  /// Returns opt's options for a plan of the smallest configuration. The error
  /// is the reason why there is no command.
  Expected<std::vector<std::string>> run();
  /// Returns opt's options for the plan's whole pipeline, which Mneme's
  /// compiler runs on the IR in \p Named.
  Expected<std::vector<std::string>> runPipeline(StringRef Named);
  /// For a plan of the smallest configuration whose pipeline another opt runs.
  Expected<std::vector<std::string>> runExternal();
  /// Returns true if opt writes the IR \p Wanted, or dies as Mneme's compiler
  /// did.
  Expected<bool> writes(ArrayRef<std::string> Words, StringRef Wanted) const;
  /// Returns the command, with " | llc ..." if llc compiles opt's output.
  /// \param Name  name of the input in the command; empty: its path.
  std::string print(ArrayRef<std::string> Words, StringRef Name = "") const;
  /// The program and options of opt, and of the llc that makes the plan's code
  /// of opt's output.
  std::vector<std::string> printOpt(ArrayRef<std::string> Words) const;
  /// \param Named  the IR that Mneme's compiler reads.
  /// \param IR     opt's output.
  Expected<std::vector<std::string>> findLlc(StringRef Named,
                                             StringRef IR) const;
  /// Returns the IR of a configuration as readComparableIR() does.
  Expected<std::string> emitWanted(ReplayOptions Options) const;

private:
  const ReplayPlan &Plan;
  std::string Input;
  const PrivateFolder &Work;
  Tool Opt;
  std::optional<ToolInfo> External; ///< Opt, if it is the user's.
  std::string NamedIR;  ///< Path.
  std::string WantedIR; ///< Text of the IR to reproduce.
  bool Dies = false;    ///< The compiler dies in the last execution.
  std::vector<PassExecution> Executions; ///< The executions to reproduce.

  Error findOpt();
  Expected<std::vector<std::string>> findInWhole() const;
  Error chooseExecutions();
  Expected<std::multimap<std::string, Element>> listElements() const;
  std::vector<std::string> makeWords(StringRef Passes) const;
  std::string chooseNumbers(StringRef Log, bool IsWhole, bool &IsWanting) const;
  Expected<std::optional<std::vector<std::string>>>
  tryNumbers(std::vector<std::string> Words, bool IsWhole) const;
  Expected<std::optional<std::vector<std::string>>>
  tryElements(ArrayRef<Element> Elements) const;
};
} // namespace

static Expected<Tool> findTool(StringRef Name) {
  std::string Versioned = (Name + "-" + Twine(LLVM_VERSION_MAJOR)).str();
  StringRef Folder(MNEME_LLVM_TOOLS_DIR);
  for (StringRef Wanted : {StringRef(Versioned), Name}) {
    if (ErrorOr<std::string> Path = sys::findProgramByName(Wanted)) {
      Expected<ToolInfo> Info = identifyTool(*Path);
      if (Info && Info->Major == LLVM_VERSION_MAJOR)
        return Tool{*Path, Wanted.str()};
      consumeError(Info.takeError());
    }
    if (ErrorOr<std::string> Path = sys::findProgramByName(Wanted, Folder))
      return Tool{*Path, *Path};
  }
  return createStringError("no " + Name + " of LLVM " +
                           Twine(LLVM_VERSION_MAJOR) + " was found");
}

/// Selects the executions that changed the IR in the smallest configuration,
/// including required executions, and the executions of the answer: a culprit
/// may change only an analysis.
Error PlainSearch::chooseExecutions() {
  PassListOptions LO;
  LO.CodeGen = false;
  LO.Limit = Plan.options().Timeout;
  Expected<PassListing> L = listPasses(Plan, LO);
  if (!L)
    return L.takeError();
  Dies = !L->Failure.empty();
  if (Dies && !StringRef(L->Failure).contains("died of signal"))
    return createStringError("the compilation fails: " + L->Failure);
  for (const PassExecution &E : L->Executions) {
    bool IsLast = &E == &L->Executions.back();
    if (E.Ran && E.Stage == PassStage::IR &&
        (E.Changed == true || !E.Required || (Dies && IsLast)))
      Executions.push_back(E);
  }
  if (Executions.size() > MaxElements)
    return createStringError(
        formatv("{0} executions take part", Executions.size()).str());
  if (Executions.empty())
    return createStringError("no pass of the pipeline takes part");
  return Error::success();
}

/// Collects elements from the pipeline as LLVM prints it, and as the user wrote
/// it: only the latter has the parameters of a plugin's passes.
Expected<std::multimap<std::string, Element>>
PlainSearch::listElements() const {
  Expected<std::string> Expanded = Plan.compiler().expandedPipeline();
  if (!Expanded)
    return Expanded.takeError();
  std::multimap<std::string, Element> Elements;
  collectElements(Plan.compiler().pipeline(), "", Elements);
  collectElements(*Expanded, "", Elements);
  // Loop pass adaptors run these first.
  for (StringRef Name : {"loop-simplify", "lcssa"})
    Elements.emplace(Name.str(), Element{Name.str(), "function("});
  return Elements;
}

std::vector<std::string> PlainSearch::makeWords(StringRef Passes) const {
  ToolTarget Target = Plan.compiler().toolTarget();
  if (External)
    Target = adaptTarget(*External, std::move(Target));
  std::vector<std::string> Words =
      makeOptOptions(Passes, Target, Plan.compiler().options().Plugins);
  for (const LLVMOption &O : Target.LLVMOptions)
    Words.push_back(toString(O));
  Words.push_back("-S");
  return Words;
}

/// Returns the numbers of the executions in opt's log, for -opt-bisect, and of
/// passes that must always run.
/// \param IsWhole    opt runs the original pipeline, so that occurrences agree.
/// \param IsWanting  set to whether the log lacks some of the executions.
std::string PlainSearch::chooseNumbers(StringRef Log, bool IsWhole,
                                       bool &IsWanting) const {
  static const Regex Pattern(
      "^BISECT: (NOT )?running pass \\(([0-9]+)\\) (.*) on (.*)$");
  struct Line {
    std::string Number, Pass, Unit;
    bool Used = false;
  };
  std::vector<Line> Lines;
  for (StringRef Text : split(Log, '\n')) {
    SmallVector<StringRef, 5> Groups;
    if (Pattern.match(Text, &Groups))
      Lines.push_back({Groups[2].str(), Groups[3].str(), Groups[4].str()});
  }
  IsWanting = false;
  for (const PassExecution &E : Executions) {
    if (E.Required)
      continue;
    // Mneme's "loop 2 of f" is opt's second "loop %x in function f".
    unsigned Nth = 0;
    bool IsLoop = StringRef(E.Unit).consume_front("loop ") &&
                  !StringRef(E.Unit).drop_front(5).consumeInteger(10, Nth);
    std::string InFunction = " in function " + E.Function;
    std::set<std::string> Loops;
    unsigned Occurrence = 0;
    auto It = find_if(Lines, [&](const Line &L) {
      if ((L.Used && !IsWhole) || L.Pass != E.Pass)
        return false;
      if (!IsLoop)
        return (L.Unit == E.Unit || L.Unit == "(" + E.Unit + ")") &&
               (!IsWhole || ++Occurrence == E.Occurrence);
      if (!StringRef(L.Unit).ends_with(InFunction))
        return false;
      Loops.insert(L.Unit);
      return Loops.size() == Nth;
    });
    if (It == Lines.end())
      IsWanting = true;
    else
      It->Used = true;
  }
  std::vector<std::string> Numbers;
  for (const Line &L : Lines)
    if (L.Used || L.Pass == "loop-simplify" || L.Pass == "lcssa" ||
        isNumberedWrapper(L.Pass))
      Numbers.push_back(L.Number);
  return join(Numbers, ",");
}

Expected<bool> PlainSearch::writes(ArrayRef<std::string> Words,
                                   StringRef Wanted) const {
  std::string Output = Work.pathOf("opt.ll"), Log;
  std::vector<StringRef> Args{Opt.Path};
  append_range(Args, Words);
  Args.insert(Args.end(), {Input, "-o", Output});
  Expected<std::optional<int>> Code =
      askProgram(Args, Log, ProgramSeconds);
  if (!Code)
    return Code.takeError();
  if (Dies)
    return !*Code;
  if (*Code != 0)
    return false;
  Expected<std::string> Text = readComparableIR(Output);
  if (!Text)
    return Text.takeError();
  return *Text == Wanted;
}

/// Adds the numbers of the executions to \p Words and checks the result. An
/// execution may cause new ones and renumber those after it, and a pass that is
/// skipped runs none of its own, so this iterates until the numbers are stable.
/// Unset: opt does not write the wanted IR.
Expected<std::optional<std::vector<std::string>>>
PlainSearch::tryNumbers(std::vector<std::string> Words, bool IsWhole) const {
  static constexpr unsigned MaxRounds = 6;
  std::string Option = "-opt-bisect-limit=0";
  bool IsWanting = false;
  for (unsigned Round = 0; Round != MaxRounds; ++Round) {
    std::vector<StringRef> Args{Opt.Path};
    append_range(Args, Words);
    Args.insert(Args.end(), {Option, "-disable-output", Input});
    std::string Log;
    // If opt rejects the pipeline, the log has no executions.
    if (Error E = runProgram(Args, Log, ProgramSeconds))
      consumeError(std::move(E));
    std::string Numbers = chooseNumbers(Log, IsWhole, IsWanting);
    if (Numbers.empty())
      return std::nullopt;
    std::string Next = "-opt-bisect=" + Numbers;
    if (Next == Option)
      break;
    Option = std::move(Next);
  }
  if (IsWanting)
    return std::nullopt;
  Words.push_back(Option);
  Expected<bool> Same = writes(Words, WantedIR);
  if (!Same)
    return Same.takeError();
  if (!*Same)
    return std::nullopt;
  return Words;
}

/// Returns the options with which opt writes the wanted IR: with all executions
/// of the elements, or else with selected executions. Unset: with neither.
Expected<std::optional<std::vector<std::string>>>
PlainSearch::tryElements(ArrayRef<Element> Elements) const {
  for (bool Merge : {true, false}) {
    std::string Passes = printPipeline(Elements, Merge);
    if (!Merge && Passes == printPipeline(Elements, true))
      break;
    std::vector<std::string> Words = makeWords(Passes);
    Expected<bool> Same = writes(Words, WantedIR);
    if (!Same)
      return Same.takeError();
    if (*Same)
      return Words;
    Expected<std::optional<std::vector<std::string>>> Numbered =
        tryNumbers(std::move(Words), /*IsWhole=*/false);
    if (!Numbered || *Numbered)
      return Numbered;
  }
  return std::nullopt;
}

Expected<std::string> PlainSearch::emitWanted(ReplayOptions Options) const {
  std::string Path = Work.pathOf("wanted.ll");
  if (Error E =
          emitCode(Plan, std::move(Options), NamedIR, /*Assembly=*/false, Path)
              .takeError())
    return std::move(E);
  return readComparableIR(Path);
}

Error PlainSearch::findOpt() {
  const std::string &Program = Plan.options().OptTool;
  if (Program.empty())
    return findTool("opt").moveInto(Opt);
  Expected<ToolInfo> Info = identifyTool(Program);
  if (!Info)
    return Info.takeError();
  if (Info->Kind != ToolKind::Opt)
    return createStringError("a clang runs the passes");
  External = std::move(*Info);
  Opt = {External->Path, Program};
  return Error::success();
}

Expected<std::vector<std::string>> PlainSearch::runPipeline(StringRef Named) {
  if (Error E = findOpt())
    return std::move(E);
  NamedIR = Named.str();
  if (Error E = emitWanted(Plan.options()).moveInto(WantedIR))
    return std::move(E);
  Expected<std::string> Expanded = Plan.compiler().expandedPipeline();
  if (!Expanded)
    return Expanded.takeError();
  // opt does not know Mneme's own elements ("clang<O2>").
  for (const std::string &Passes :
       {Plan.compiler().pipeline().str(), *Expanded}) {
    std::vector<std::string> Words = makeWords(Passes);
    if (Plan.options().RunPasses == "none")
      append_range(Words, NoPasses);
    Expected<bool> Same = writes(Words, WantedIR);
    if (!Same)
      return Same.takeError();
    if (*Same)
      return Words;
  }
  return createStringError(Opt.Name + " writes different IR");
}

Expected<std::vector<std::string>> PlainSearch::runExternal() {
  if (Error E = findOpt())
    return std::move(E);
  PassListOptions LO;
  LO.CodeGen = LO.Details = false;
  LO.Limit = Plan.options().Timeout;
  Expected<PassListing> L = listPasses(Plan, LO);
  if (!L)
    return L.takeError();
  Dies = StringRef(L->Failure).contains("died of signal");
  if (!L->Failure.empty() && !Dies)
    return createStringError("the compilation fails: " + L->Failure);
  // The program counts its required executions, too.
  BitVector Ran(L->Executions.size() + 1);
  for (auto [I, E] : enumerate(L->Executions))
    if (E.Ran)
      Ran.set(I + 1);
  bool IsPrefix = int(Ran.count()) == std::max(Ran.find_last(), 0);
  NamedIR = Input;
  if (!Dies)
    if (Error E = emitWanted(Plan.options()).moveInto(WantedIR))
      return std::move(E);
  std::vector<std::string> Words =
      makeWords(Plan.compiler().pipeline().str());
  Words.push_back(IsPrefix ? "-opt-bisect-limit=" + utostr(Ran.count())
                           : "-opt-bisect=" + printNumbers(Ran));
  Expected<bool> Same = writes(Words, WantedIR);
  if (!Same)
    return Same.takeError();
  if (!*Same)
    return createStringError(Opt.Name + " writes different IR");
  return Words;
}

/// Selects the executions in the original pipeline, as no shorter one works.
Expected<std::vector<std::string>> PlainSearch::findInWhole() const {
  Expected<std::optional<std::vector<std::string>>> Words =
      tryNumbers(makeWords(Plan.compiler().pipeline()), /*IsWhole=*/true);
  if (!Words)
    return Words.takeError();
  if (*Words)
    return std::move(**Words);
  return createStringError("no pipeline that was tried gives the same IR in " +
                           Opt.Name);
}

Expected<std::vector<std::string>> PlainSearch::run() {
  if (Error E = findOpt())
    return std::move(E);
  if (Error E = chooseExecutions())
    return std::move(E);
  NamedIR = Work.pathOf("named.bc");
  if (Error E = writeNamedIR(Plan, NamedIR))
    return std::move(E);
  if (!Dies)
    if (Error E = emitWanted(Plan.options()).moveInto(WantedIR))
      return std::move(E);
  Expected<std::multimap<std::string, Element>> All = listElements();
  if (!All)
    return All.takeError();
  std::vector<std::vector<Element>> Choices;
  for (const PassExecution &E : Executions) {
    auto [Begin, End] = All->equal_range(E.Pass);
    std::set<Element> Different;
    for (auto It = Begin; It != End; ++It)
      Different.insert(It->second);
    if (Different.empty())
      return findInWhole();
    Choices.emplace_back(Different.begin(), Different.end());
  }
  // Count through all combinations.
  std::vector<size_t> Digits(Choices.size());
  for (unsigned Try = 0; Try != MaxCombinations; ++Try) {
    std::vector<Element> Elements;
    for (auto [C, D] : zip_equal(Choices, Digits))
      Elements.push_back(C[D]);
    // One element covers the executions on all functions.
    Elements.erase(llvm::unique(Elements,
                                [](const Element &A, const Element &B) {
                                  return !(A < B) && !(B < A);
                                }),
                   Elements.end());
    Expected<std::optional<std::vector<std::string>>> Words =
        tryElements(Elements);
    if (!Words)
      return Words.takeError();
    if (*Words)
      return std::move(**Words);
    size_t I = 0;
    while (I != Digits.size() && ++Digits[I] == Choices[I].size())
      Digits[I++] = 0;
    if (I == Digits.size())
      break;
  }
  return findInWhole();
}

std::vector<std::string>
PlainSearch::printOpt(ArrayRef<std::string> Words) const {
  std::vector<std::string> Line{Opt.Name};
  append_range(Line, Words);
  return Line;
}

/// Removes names of values, which differ: in comments, and in the list of a
/// kernel's arguments for AMD GPUs.
static std::string stripNames(StringRef Assembly, StringRef Comment) {
  std::string Text;
  for (StringRef Line : split(Assembly, '\n')) {
    StringRef Code = Line.split(Comment).first.trim(" \t-");
    if (!Code.empty() && !Code.starts_with(".name:"))
      Text += (Code + "\n").str();
  }
  return Text;
}

/// Compares assembly, which is what the plan's settings of passes of the code
/// generator change.
Expected<std::vector<std::string>> PlainSearch::findLlc(StringRef Named,
                                                        StringRef IR) const {
  std::string Assembly = Work.pathOf("wanted.s"), Output = Work.pathOf("llc.s"),
              Log;
  ReplayOptions Options = Plan.options();
  Options.IRFile = Named.str();
  Expected<std::string> Wanted = emitCode(Plan, std::move(Options), Named,
                                          /*Assembly=*/true, Assembly);
  if (!Wanted)
    return Wanted.takeError();
  Tool Llc;
  ToolTarget Target = Plan.compiler().toolTarget();
  if (const std::string &Program = Plan.options().LlcTool; !Program.empty()) {
    Expected<ToolInfo> Info = identifyTool(Program);
    if (!Info)
      return Info.takeError();
    Target = adaptTarget(*Info, std::move(Target));
    Llc = {Info->Path, Program};
  } else if (Error E = findTool("llc").moveInto(Llc)) {
    return std::move(E);
  }
  std::vector<std::string> Words{Llc.Path};
  append_range(Words, makeLlcOptions(Target, Plan.isNVPTX()));
  for (const LLVMOption &O : Target.LLVMOptions)
    Words.push_back(toString(O));
  if (Plan.options().RunPasses == "none")
    append_range(Words, NoPasses);
  std::vector<StringRef> Args(Words.begin(), Words.end());
  Args.insert(Args.end(), {IR, "-o", Output});
  Expected<std::optional<int>> Code = askProgram(Args, Log, ProgramSeconds);
  if (!Code)
    return Code.takeError();
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Output);
  if (!Text)
    consumeError(Text.takeError());
  StringRef Comment = Plan.isNVPTX() ? "//" : ";";
  if (*Code != 0 || !Text)
    return createStringError(
        Llc.Name + " fails: " + StringRef(Log).trim().split('\n').first);
  if (stripNames((*Text)->getBuffer(), Comment) != stripNames(*Wanted, Comment))
    return createStringError(Llc.Name + " writes different code");
  Words.front() = Llc.Name;
  return Words;
}

std::string PlainSearch::print(ArrayRef<std::string> Words,
                               StringRef Name) const {
  std::vector<std::string> Line = printOpt(Words);
  Line.push_back(Name.empty() ? Input : Name.str());
  std::string Text = quoteCommand(Line);
  if (External)
    return Text;
  Expected<Tool> Llc = findTool("llc");
  if (!Llc || Dies) {
    consumeError(Llc.takeError());
    return Text;
  }
  std::vector<std::string> LlcWords{Llc->Path};
  append_range(LlcWords, makeLlcOptions(Plan.compiler().toolTarget(),
                                        Plan.isNVPTX()));
  std::vector<StringRef> Args(LlcWords.begin(), LlcWords.end());
  std::string IR = Work.pathOf("opt.ll"), Log;
  Args.insert(Args.end(), {IR, "-o", "/dev/null"});
  Expected<std::optional<int>> Code = askProgram(Args, Log, ProgramSeconds);
  if (!Code || *Code != 0) {
    consumeError(Code.takeError());
    return Text;
  }
  LlcWords.front() = Llc->Name;
  return Text + " | " + quoteCommand(LlcWords);
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

static Error findCommand(const ReplayPlan &Plan, const BisectOutcome &Out,
                         StringRef Folder, PlainCommand &C) {
  ReplayOptions Options = Plan.options();
  if (Out.SmallestConfig)
    if (Error E = applyConfig(*Out.SmallestConfig, Options))
      return E;
  bool IsExternal = !Options.OptTool.empty();
  if (!Out.SmallestConfig || (Out.PrefixOnly && !IsExternal))
    return createStringError("no set of executions alone makes it bad");
  if (any_of(Out.Culprits, [](const BisectCulprit &C) {
        return C.InRunSet && C.Execution.Stage == PassStage::CodeGen;
      }))
    return createStringError("passes of the code generator take part");
  Expected<std::unique_ptr<ReplayPlan>> Smallest =
      Plan.vary(std::move(Options));
  if (!Smallest)
    return Smallest.takeError();
  Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
  if (!Work)
    return Work.takeError();
  static constexpr StringLiteral InputName = "input.ll";
  std::string Input = Folder.empty() ? Work->pathOf(InputName)
                                     : pathIn(Folder, InputName);
  if (Error E = writePlainInput(**Smallest, Input))
    return E;
  PlainSearch Search(**Smallest, Input, *Work);
  Expected<std::vector<std::string>> Words =
      IsExternal ? Search.runExternal() : Search.run();
  if (!Words)
    return Words.takeError();
  StringRef Printed = Folder.empty() ? StringRef(InputName) : StringRef(Input);
  if (!Folder.empty())
    C.InputFile = Input;
  C.Text = Search.print(*Words, Printed);
  const BlamedRewrite *W =
      Out.Rewrites.size() == 1 && Out.Rewrites[0].Missing.empty()
          ? &Out.Rewrites[0]
          : nullptr;
  if (!W)
    return Error::success();
  ReplayOptions WithRewrite = Plan.options();
  if (Error E = applyConfig(W->BadConfig, WithRewrite))
    return E;
  Expected<std::string> Wanted = Search.emitWanted(std::move(WithRewrite));
  if (!Wanted)
    return Wanted.takeError();
  Words->push_back("-debug-counter=" + W->Counter + "=" + W->BadChunks);
  Expected<bool> Same = Search.writes(*Words, *Wanted);
  if (!Same)
    return Same.takeError();
  if (*Same)
    C.RewriteText = Search.print(*Words, Printed);
  return Error::success();
}

Expected<std::string> mneme::makeOptCommand(const ReplayPlan &Plan,
                                            StringRef Input, StringRef Name) {
  Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
  if (!Work)
    return Work.takeError();
  PlainSearch Search(Plan, Input, *Work);
  Expected<std::vector<std::string>> Words = Search.runPipeline(Input);
  if (!Words)
    return Words.takeError();
  return Search.print(*Words, Name);
}

Expected<std::string> mneme::findPlainTool(StringRef Name) {
  Expected<Tool> Found = findTool(Name);
  if (!Found)
    return Found.takeError();
  return std::move(Found->Name);
}

Expected<PlainSteps> mneme::makePlainSteps(const ReplayPlan &Plan,
                                           StringRef Input, StringRef IR,
                                           StringRef Assembly) {
  Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
  if (!Work)
    return Work.takeError();
  std::string Named = Work->pathOf("named.ll");
  if (Error E = writeNamedText(Plan, Named))
    return std::move(E);
  PlainSearch Search(Plan, Input, *Work);
  const ReplayOptions &O = Plan.options();
  // Only a smallest configuration is searched for its executions.
  bool IsWhole = !O.SkipPasses && (!O.RunPasses || O.RunPasses == "none");
  Expected<std::vector<std::string>> Words = IsWhole ? Search.runPipeline(Named)
                                             : O.OptTool.empty()
                                                 ? Search.run()
                                                 : Search.runExternal();
  PlainSteps Steps;
  std::string Output = Work->pathOf("opt.ll");
  if (Words) {
    Steps.Opt = Search.printOpt(*Words);
  } else {
    Steps.NoOpt = toString(Words.takeError());
    Output = Work->pathOf("own.ll");
    if (Error E =
            emitCode(Plan, O, Named, /*Assembly=*/false, Output).takeError())
      return std::move(E);
  }
  Expected<std::unique_ptr<MemoryBuffer>> Written = readFile(Output);
  if (!Written)
    return Written.takeError();
  // The first line has the path of the input.
  std::string Text = (*Written)->getBuffer().str();
  StringRef Path = Words ? Input : StringRef(Named);
  if (size_t At = Text.find(Path); At < Text.find('\n'))
    Text.replace(At, Path.size(), sys::path::filename(Input));
  if (Error E = writeFileAtomically(IR, Text, /*Sync=*/false))
    return std::move(E);
  Expected<std::vector<std::string>> Llc = Search.findLlc(Named, Output);
  if (!Llc) {
    Steps.NoLlc = toString(Llc.takeError());
    return Steps;
  }
  Steps.Llc = std::move(*Llc);
  if (Assembly.empty())
    return Steps;
  if (Error E = readFile(Work->pathOf("llc.s")).moveInto(Written))
    return std::move(E);
  if (Error E = writeFileAtomically(Assembly, (*Written)->getBuffer(),
                                    /*Sync=*/false))
    return std::move(E);
  return Steps;
}

PlainCommand mneme::makePlainCommand(const ReplayPlan &Plan,
                                     const BisectOutcome &Out,
                                     StringRef Folder) {
  PlainCommand C;
  if (Error E = findCommand(Plan, Out, Folder, C))
    C.Missing = toString(std::move(E));
  return C;
}

json::Value mneme::toJSON(const PlainCommand &C) {
  return json::Object{{"command", json::fixUTF8(C.Text)},
                      {"missing", json::fixUTF8(C.Missing)},
                      {"input", json::fixUTF8(C.InputFile)},
                      {"rewrite_command", json::fixUTF8(C.RewriteText)}};
}

void mneme::printPlainCommand(raw_ostream &OS, const PlainCommand &C) {
  if (C.Text.empty()) {
    OS << "\n# not reproducible with plain opt: " << C.Missing << '\n';
    return;
  }
  OS << "\n# bad: without Mneme; opt writes the IR of the smallest bad "
        "configuration";
  if (C.InputFile.empty())
    OS << "; --output=DIR writes input.ll";
  OS << '\n' << C.Text << '\n';
  if (!C.RewriteText.empty())
    OS << "\n# bad: without Mneme, with only the rewrite\n"
       << C.RewriteText << '\n';
}
