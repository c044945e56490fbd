//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/PassGate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Pass.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

StringRef mneme::getPassStageName(PassStage S) {
  return S == PassStage::IR ? "ir" : "codegen";
}

//===----------------------------------------------------------------------===//
// Executions
//===----------------------------------------------------------------------===//

std::string PassExecution::spec() const {
  std::string Text = Pass;
  if (!Unit.empty())
    Text += "@" + Unit;
  return Text + "#" + utostr(Occurrence);
}

json::Value mneme::toJSON(const PassExecution &E) {
  return json::Object{
      {"number", E.Number ? json::Value(E.Number) : json::Value(nullptr)},
      {"stage", getPassStageName(E.Stage)},
      {"pass", json::fixUTF8(E.Pass)},
      {"unit", orNull(E.Unit)},
      {"function", orNull(E.Function)},
      {"occurrence", E.Occurrence},
      {"required", E.Required},
      {"ran", E.Ran},
      {"changed", E.Changed ? json::Value(*E.Changed) : json::Value(nullptr)},
      {"instruction_delta", E.InstructionDelta},
      {"seconds", E.Seconds}};
}

bool mneme::fromJSON(const json::Value &V, PassExecution &E, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<unsigned> Number;
  std::optional<std::string> Unit, Function;
  std::string Stage;
  if (!O || !O.map("number", Number) || !O.map("stage", Stage) ||
      !O.map("pass", E.Pass) || !O.map("unit", Unit) ||
      !O.map("function", Function) || !O.map("occurrence", E.Occurrence) ||
      !O.map("required", E.Required) || !O.map("ran", E.Ran) ||
      !O.map("changed", E.Changed) ||
      !O.map("instruction_delta", E.InstructionDelta) ||
      !O.map("seconds", E.Seconds))
    return false;
  for (PassStage S : {PassStage::IR, PassStage::CodeGen})
    if (Stage == getPassStageName(S)) {
      E.Stage = S;
      E.Number = Number.value_or(0);
      E.Unit = Unit.value_or("");
      E.Function = Function.value_or("");
      return true;
    }
  P.field("stage").report("no stage of a compilation");
  return false;
}

/// The first failure of the compilation that skips nothing.
static StringRef getFirstFailure(const PassListing &L) {
  return L.Deaths.empty() ? L.Failure : L.Deaths.front().Failure;
}

json::Value mneme::toJSON(const PassListing &L) {
  json::Array Executions, Deaths;
  for (const PassDeath &D : L.Deaths)
    Deaths.push_back(
        json::Object{{"number", D.Number}, {"failure", orNull(D.Failure)}});
  for (const PassExecution &E : L.Executions)
    Executions.push_back(toJSON(E));
  return json::Object{{"executions", std::move(Executions)},
                      {"num_ir", L.NumIR},
                      {"num_all", L.NumAll},
                      {"failure", orNull(getFirstFailure(L))},
                      {"deaths", std::move(Deaths)},
                      {"unnumbered", orNull(L.Unnumbered)}};
}

/// Describes an execution's effect in a table.
static StringRef describeEffect(const PassExecution &E) {
  if (!E.Ran)
    return "skipped";
  if (!E.Changed)
    return "-";
  return *E.Changed ? "yes" : "no";
}

static TextTable::Row makeRow(const PassExecution &E) {
  // Executions without details have no known effect.
  bool IsKnown = E.Ran && E.Changed;
  return {E.Number ? utostr(E.Number) : "-",
          E.Stage == PassStage::IR ? "" : "codegen",
          E.Pass,
          E.Unit.empty() ? "-" : E.Unit,
          describeEffect(E).str(),
          IsKnown ? formatv("{0}{1}", E.InstructionDelta > 0 ? "+" : "",
                            E.InstructionDelta)
                        .str()
                  : "-",
          IsKnown ? formatv("{0:F3}", E.Seconds * 1000).str() : "-"};
}

void mneme::printPasses(raw_ostream &OS, const PassListing &L) {
  TextTable::Row Heads = {"number",       "",  "pass", "on", "changed",
                          "instructions", "ms"};
  TextTable Optional(Heads), Required(Heads);
  for (const PassExecution &E : L.Executions)
    (E.Required ? Required : Optional).add(makeRow(E));
  constexpr StringLiteral Sides = "rllllrr";
  if (!Optional.empty())
    Optional.print(OS, Sides);
  if (!Required.empty()) {
    OS << "\nCannot be skipped:\n";
    Required.print(OS, Sides);
  }
  if (StringRef Failure = getFirstFailure(L); !Failure.empty())
    OS << "\nThe compilation failed: " << Failure << '\n';
  for (const PassDeath &D : L.Deaths)
    OS << "Skipped to list what is behind it: " << D.Number << '\n';
  if (!L.Unnumbered.empty())
    OS << "\nNot listed: " << L.Unnumbered << '\n';
}

//===----------------------------------------------------------------------===//
// Sets of executions
//===----------------------------------------------------------------------===//

/// Splits \p Text at commas, except inside brackets, as in "(f, g)".
static SmallVector<StringRef, 8> splitItems(StringRef Text) {
  SmallVector<StringRef, 8> Items;
  int Depth = 0;
  size_t Begin = 0;
  for (auto [I, C] : enumerate(Text)) {
    if (C == '(' || C == '<')
      ++Depth;
    else if (C == ')' || C == '>')
      --Depth;
    else if (C == ',' && Depth <= 0) {
      Items.push_back(Text.slice(Begin, I).trim());
      Begin = I + 1;
    }
  }
  Items.push_back(Text.substr(Begin).trim());
  return Items;
}

Expected<PassSet> PassSet::parse(StringRef Text) {
  PassSet Set;
  if (Text.trim() == "none")
    return Set;
  if (Text.trim() == "all") {
    Set.Ranges.push_back({1, UINT_MAX});
    return Set;
  }
  for (StringRef Item : splitItems(Text))
    if (Error E = Set.parseItem(Item))
      return E;
  return Set;
}

Error PassSet::parseItem(StringRef Item) {
  if (Item.empty())
    return createStringError("expected a number, a range or a pass name, got "
                             "''; use none for no execution");
  if (Item == "all" || Item == "none")
    return createStringError("'" + Item + "' must stand alone");
  return isDigit(Item.front()) || Item.front() == '-' ? parseRange(Item)
                                                      : parseName(Item);
}

Error PassSet::parseRange(StringRef Item) {
  auto [First, Last] = Item.split('-');
  Range R{0, UINT_MAX};
  if (First.getAsInteger(10, R.First) ||
      (!Last.empty() && Last.getAsInteger(10, R.Last)))
    return createStringError(
        "'" + Item + "' is neither a number (7) nor a range (3-7 or 3-)");
  if (!Item.contains('-'))
    R.Last = R.First;
  if (!R.First)
    return createStringError("'" + Item + "': numbers start at 1");
  if (R.Last < R.First)
    return createStringError("'" + Item + "' is a backwards range");
  Ranges.push_back(R);
  return Error::success();
}

Error PassSet::parseName(StringRef Item) {
  Name N;
  N.Text = Item.str();
  auto [Rest, Occurrence] = Item.rsplit('#');
  if (Rest.size() != Item.size() &&
      (Occurrence.getAsInteger(10, N.Occurrence) || !N.Occurrence))
    return createStringError("'" + Item + "': '" + Occurrence +
                             "' is not the number of an occurrence");
  auto [Pass, Unit] = Rest.split('@');
  if (Pass.empty() || (Unit.empty() && Rest.contains('@')))
    return createStringError(
        "'" + Item +
        "' is not the name of a pass, such as gvn, gvn@kernel or gvn@kernel#2");
  N.Pass = Pass.str();
  N.Unit = Unit.str();
  Names.push_back(std::move(N));
  return Error::success();
}

bool PassSet::contains(unsigned Number) const {
  return any_of(Ranges, [&](const Range &R) {
    return Number >= R.First && Number <= R.Last;
  });
}

bool PassSet::matches(const Name &N, const PassExecution &E) {
  return N.Pass == E.Pass &&
         (N.Unit.empty() || N.Unit == E.Unit || N.Unit == E.Function) &&
         (!N.Occurrence || N.Occurrence == E.Occurrence);
}

bool PassSet::names(const PassExecution &E) const {
  return any_of(Names, [&](const Name &N) { return matches(N, E); });
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

char PassSetError::ID = 0;

static Error parseOption(StringRef Option,
                         const std::optional<std::string> &Text,
                         std::optional<PassSet> &Out) {
  if (!Text)
    return Error::success();
  Expected<PassSet> Set = PassSet::parse(*Text);
  if (!Set)
    return make_error<PassSetError>("invalid " + Option + "=" + *Text + ": " +
                                    toString(Set.takeError()));
  Out = std::move(*Set);
  return Error::success();
}

Expected<PassSelection>
PassSelection::parse(const std::optional<std::string> &Run,
                     const std::optional<std::string> &Skip) {
  PassSelection S;
  if (Error E = parseOption("--run-passes", Run, S.Run))
    return std::move(E);
  if (Error E = parseOption("--skip-passes", Skip, S.Skip))
    return std::move(E);
  return std::move(S);
}

bool PassSelection::runs(unsigned Number) const {
  return (!Run || Run->contains(Number)) && !(Skip && Skip->contains(Number));
}

bool PassSelection::needsCodeGen(const PassListing &Listing) const {
  auto Needs = [&](const std::optional<PassSet> &Set) {
    if (!Set)
      return false;
    return any_of(Set->Ranges,
                  [&](const PassSet::Range &R) {
                    return R.First > Listing.NumIR ||
                           (R.Last > Listing.NumIR && R.Last != UINT_MAX);
                  }) ||
           any_of(Set->Names, [&](const PassSet::Name &N) {
             return none_of(Listing.Executions, [&](const PassExecution &E) {
               return !E.Required && PassSet::matches(N, E);
             });
           });
  };
  return Needs(Run) || Needs(Skip);
}

/// Explains why the list ends.
static std::string describeEnd(const PassListing &L) {
  return L.Failure.empty()
             ? ""
             : " before the compilation failed (" + L.Failure + ")";
}

Error PassSelection::check(const PassListing &Listing) const {
  auto Check = [&](StringRef Option, const PassSet &Set) -> Error {
    for (const PassSet::Range &R : Set.Ranges) {
      unsigned Last = R.Last == UINT_MAX ? R.First : R.Last;
      bool IsAll = R.First == 1 && R.Last == UINT_MAX;
      if (Last > Listing.NumAll && !IsAll)
        return make_error<PassSetError>(
            formatv("{0}: there is no pass execution {1}, the last one{2} is "
                    "{3}",
                    Option, Last, describeEnd(Listing), Listing.NumAll)
                .str());
    }
    for (const PassSet::Name &N : Set.Names) {
      auto Means = [&](const PassExecution &E) {
        return PassSet::matches(N, E);
      };
      auto It = find_if(Listing.Executions, [&](const PassExecution &E) {
        return Means(E) && !E.Required;
      });
      if (It != Listing.Executions.end() || !Listing.Failure.empty())
        continue;
      bool Required = any_of(Listing.Executions, Means);
      return make_error<PassSetError>(
          formatv("{0}: '{1}' {2}", Option, N.Text,
                  Required ? "always runs: it cannot be skipped"
                           : "names no pass execution of this compilation")
              .str());
    }
    return Error::success();
  };
  if (Run)
    if (Error E = Check("--run-passes", *Run))
      return E;
  return Skip ? Check("--skip-passes", *Skip) : Error::success();
}

std::string PassSelection::codeGenKey(const PassListing &Listing) const {
  std::string Names, Numbers;
  for (const std::optional<PassSet> *Set : {&Run, &Skip}) {
    Names += Set == &Run ? "run" : "skip";
    if (*Set)
      for (const PassSet::Name &N : (*Set)->Names)
        Names += " " + N.Text;
  }
  if (Names == "runskip")
    Names.clear();
  // Numbers of code generation, and one more for executions without a number.
  for (unsigned N = Listing.NumIR + 1; N <= Listing.NumAll + 1; ++N)
    Numbers += runs(N) ? '1' : '0';
  if (StringRef(Numbers).drop_front().find_first_not_of(Numbers[0]) ==
      StringRef::npos)
    Numbers.resize(1);
  if (Names.empty() && Numbers == "1")
    return "";
  return Names + " " + Numbers;
}

//===----------------------------------------------------------------------===//
// The gate
//===----------------------------------------------------------------------===//

static constexpr StringLiteral ModuleUnit = "[module]";

namespace {
/// Gate for the code generator's passes, in addition to LLVM's own gate.
class CodeGenGate : public OptPassGate {
public:
  /// \param IsAllowed  whether LLVM's own gate allows the pass.
  using AskFn = std::function<bool(StringRef Pass, StringRef Description,
                                   bool IsAllowed)>;
  explicit CodeGenGate(AskFn Ask) : Ask(std::move(Ask)) {}
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef Pass, StringRef Description) const override {
    OptPassGate &LLVMs = getGlobalPassGate();
    return Ask(Pass, Description,
               !LLVMs.isEnabled() || LLVMs.shouldRunPass(Pass, Description));
  }

private:
  AskFn Ask;
};

/// A pass that changes nothing but lets \c Look inspect the effect of the
/// preceding pass.
template <typename BaseT, typename UnitT> class UnitObserver : public BaseT {
public:
  using Fn = std::function<void(UnitT &)>;
  explicit UnitObserver(Fn Look) : BaseT(ID), Look(std::move(Look)) {}
  StringRef getPassName() const override { return "Observe passes"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    BaseT::getAnalysisUsage(AU);
    AU.setPreservesAll();
  }

protected:
  Fn Look;
  static char ID;
};
template <typename BaseT, typename UnitT>
char UnitObserver<BaseT, UnitT>::ID = 0;

struct ModuleObserver : UnitObserver<ModulePass, Module> {
  using UnitObserver::UnitObserver;
  bool runOnModule(Module &M) override {
    Look(M);
    return false;
  }
};

struct FunctionObserver : UnitObserver<FunctionPass, Function> {
  using UnitObserver::UnitObserver;
  bool runOnFunction(Function &F) override {
    Look(F);
    return false;
  }
};

struct MachineObserver : UnitObserver<MachineFunctionPass, MachineFunction> {
  using UnitObserver::UnitObserver;
  bool runOnMachineFunction(MachineFunction &MF) override {
    Look(MF);
    return false;
  }
};

/// Calls \c See for each pass that is added.
class GatedPassManager : public legacy::PassManager {
public:
  using AddFn = function_ref<void(Pass *)>;
  explicit GatedPassManager(std::function<void(Pass *, AddFn)> See)
      : See(std::move(See)) {}
  void add(Pass *P) override {
    See(P, [&](Pass *One) { legacy::PassManager::add(One); });
  }

private:
  std::function<void(Pass *, AddFn)> See;
};

/// Size and digest of the code.
struct CodeState {
  uint64_t Instructions = 0;
  Digest128 Digest{};
};

/// The IR unit of an execution.
struct Unit {
  std::string Name, Function;
};
} // namespace

/// Returns true for passes that run other passes. They are neither skipped nor
/// listed.
static bool isManager(StringRef Class) {
  return isSpecialPass(Class,
                       {"PassManager", "PassAdaptor", "AnalysisManagerProxy",
                        "DevirtSCCRepeatedPass", "ModuleInlinerWrapperPass"});
}

struct PassGate::Impl {
  Options O;
  PassListing Listing;
  StringMap<unsigned> Numbers, Occurrences;
  /// The last decision made by number.
  bool LastRun = true;

  // State of the pipeline.
  PassInstrumentationCallbacks *PIC = nullptr;
  const Module *M = nullptr;
  /// Loops visited by the current loop pass manager, by index.
  DenseMap<const Loop *, unsigned> Loops;
  struct Running {
    size_t Index;
    CodeState Before;
    std::chrono::steady_clock::time_point Start;
  };
  std::vector<Running> Stack;
  std::optional<size_t> Asked;
  CodeState Now;

  // State of code generation.
  std::unique_ptr<CodeGenGate> Gate;
  /// llc's names of the passes, by pass name.
  StringMap<std::string> Arguments;
  /// Execution of the last pass that asked, until an observer has inspected its
  /// effect.
  std::optional<size_t> Unobserved;
  std::chrono::steady_clock::time_point LastLook;
  /// Name and state of the machine function that was observed last.
  std::string MachineFunctionName;
  CodeState MachineNow;
  /// IsBlind: passes were added whose effect cannot be observed. IsMachine: the
  /// passes added now run on machine code.
  bool IsBlind = false, IsMachine = false;
  std::vector<std::string> Unwatched;
  StringSet<> HaveAsked;

  explicit Impl(Options Opts);

  size_t begin(PassExecution E);
  bool decide(const PassExecution &E);
  bool decideUnnumbered() const;
  void beginCodeGen() {
    // The decision for executions before the first one with a number.
    LastRun = O.Selection.runs(Listing.NumIR + 1);
  }
  void tell(size_t Index) {
    if (O.Observe)
      O.Observe(Index, Listing.Executions[Index]);
  }

  std::string getPassName(StringRef Class);
  Unit describe(const Any &IR);
  bool ask(StringRef Class, const Any &IR);
  void skip();
  void start(StringRef Class, const Any &IR);
  void end();

  bool askCodeGen(StringRef Pass, StringRef Description, bool IsAllowed);
  void addPass(Pass *P, GatedPassManager::AddFn Add);
  Pass *createObserver(Pass &P, std::string Argument);
  void observe(StringRef Argument, StringRef Unit, const Module &M);
  void observe(StringRef Argument, const MachineFunction &MF);
  void note(StringRef Argument, StringRef Unit, double Seconds, bool Changed,
            int64_t Delta);
};

/// Returns the key under which an execution's number is stored.
static std::string getNumberKey(const PassExecution &E) {
  return formatv("{0} {1}", getPassStageName(E.Stage), E.spec()).str();
}

PassGate::Impl::Impl(Options Opts) : O(std::move(Opts)) {
  if (!O.Numbers)
    return;
  for (const PassExecution &E : O.Numbers->Executions)
    if (E.Number)
      Numbers[getNumberKey(E)] = E.Number;
  Listing.NumIR = O.Numbers->NumIR;
  Listing.NumAll = O.Numbers->NumAll;
  LastRun = O.Selection.runs(1);
}

/// Adds an execution that begins and sets its occurrence and number.
size_t PassGate::Impl::begin(PassExecution E) {
  // Names must be valid UTF-8 in JSON.
  for (std::string *Text : {&E.Pass, &E.Unit, &E.Function})
    if (!json::isUTF8(*Text))
      *Text = json::fixUTF8(*Text);
  E.Occurrence = ++Occurrences[formatv("{0} {1}@{2}", getPassStageName(E.Stage),
                                       E.Pass, E.Unit)
                                   .str()];
  if (!E.Required && O.Numbers) {
    E.Number = Numbers.lookup(getNumberKey(E));
  } else if (!E.Required) {
    E.Number = ++Listing.NumAll;
    if (E.Stage == PassStage::IR)
      Listing.NumIR = Listing.NumAll;
  }
  E.Ran = E.Required || decide(E);
  Listing.Executions.push_back(std::move(E));
  return Listing.Executions.size() - 1;
}

/// An execution without a number is treated like the last one that had a
/// number. If the reference compilation failed, executions after the failure
/// have no number: they run, unless --run-passes is given or the range of
/// skipped numbers is open-ended.
bool PassGate::Impl::decideUnnumbered() const {
  const PassSelection &S = O.Selection;
  if (O.Numbers && !O.Numbers->Failure.empty() && !S.Run)
    return S.runs(O.Numbers->NumAll + 1);
  return LastRun;
}

/// Names take precedence over numbers.
bool PassGate::Impl::decide(const PassExecution &E) {
  const PassSelection &S = O.Selection;
  LastRun = E.Number ? S.runs(E.Number) : decideUnnumbered();
  if (S.Skip && S.Skip->names(E))
    return false;
  if (S.Run && S.Run->names(E))
    return !(S.Skip && E.Number && S.Skip->contains(E.Number));
  return LastRun;
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// Returns "require<globals-aa>" for RequireAnalysisPass<llvm::GlobalsAA,
/// llvm::Module>.
static std::string getAnalysisPassName(PassInstrumentationCallbacks &PIC,
                                       StringRef Class) {
  for (auto [Template, Verb] :
       {std::pair("RequireAnalysisPass<", "require"),
        std::pair("InvalidateAnalysisPass<", "invalidate")}) {
    StringRef Argument = Class;
    if (!Argument.consume_front(Template))
      continue;
    Argument = Argument.take_until([](char C) { return C == ',' || C == '>'; });
    Argument.consume_front("llvm::");
    StringRef Name = PIC.getPassNameForClassName(Argument);
    return (Verb + Twine("<") + (Name.empty() ? Argument : Name) + ">").str();
  }
  return Class.str();
}

std::string PassGate::Impl::getPassName(StringRef Class) {
  StringRef Name = PIC->getPassNameForClassName(Class);
  return Name.empty() ? getAnalysisPassName(*PIC, Class) : Name.str();
}

/// Does not use value names, which a compilation may have discarded.
Unit PassGate::Impl::describe(const Any &IR) {
  if (const auto *F = any_cast<const Function *>(&IR))
    return {(*F)->getName().str(), (*F)->getName().str()};
  if (const auto *C = any_cast<const LazyCallGraph::SCC *>(&IR)) {
    if ((*C)->size() != 1)
      return {(*C)->getName(), ""};
    std::string Name = (*C)->begin()->getFunction().getName().str();
    return {Name, Name};
  }
  if (const auto *L = any_cast<const Loop *>(&IR)) {
    std::string F = (*L)->getHeader()->getParent()->getName().str();
    unsigned Number = Loops.try_emplace(*L, Loops.size() + 1).first->second;
    return {formatv("loop {0} of {1}", Number, F).str(), F};
  }
  return {ModuleUnit.str(), ""};
}

/// Returns true for passes that must not be skipped, although LLVM's gate would
/// skip them: loop passes miscompile loops that are not in the form that these
/// passes establish.
static bool isReliedOn(StringRef Class) {
  return Class == "LCSSAPass" || Class == "LoopSimplifyPass";
}

bool PassGate::Impl::ask(StringRef Class, const Any &IR) {
  if (isManager(Class))
    return true;
  PassExecution E;
  E.Required = isReliedOn(Class);
  E.Pass = getPassName(Class);
  std::tie(E.Unit, E.Function) = [&] {
    Unit U = describe(IR);
    return std::pair(std::move(U.Name), std::move(U.Function));
  }();
  Asked = begin(std::move(E));
  return Listing.Executions[*Asked].Ran;
}

void PassGate::Impl::skip() {
  // Another gate may have skipped the pass.
  Listing.Executions[*Asked].Ran = false;
  tell(*Asked);
  Asked.reset();
}

void PassGate::Impl::start(StringRef Class, const Any &IR) {
  // Loops are numbered per loop pass manager, in its order.
  if (Class.contains("FunctionToLoopPassAdaptor"))
    Loops.clear();
  if (isManager(Class))
    return;
  if (!Asked) {
    PassExecution E;
    E.Pass = getPassName(Class);
    Unit U = describe(IR);
    E.Unit = std::move(U.Name);
    E.Function = std::move(U.Function);
    E.Required = true;
    Asked = begin(std::move(E));
  }
  size_t Index = *Asked;
  Asked.reset();
  tell(Index);
  Stack.push_back({Index, Now, std::chrono::steady_clock::now()});
}

static Digest128 hashModule(const Module &M) {
  SmallVector<char, 0> Bytes = writeExactBitcode(M);
  return digest128(StringRef(Bytes.data(), Bytes.size()));
}

static CodeState getState(const Module &M) {
  return {M.getInstructionCount(), hashModule(M)};
}

void PassGate::Impl::end() {
  double Seconds = secondsSince(Stack.back().Start);
  PassExecution &E = Listing.Executions[Stack.back().Index];
  const CodeState &Before = Stack.back().Before;
  if (O.Details) {
    E.Seconds = Seconds;
    // Compare digests instead of using PreservedAnalyses: passes usually report
    // too much change and sometimes too little.
    CodeState After = getState(*M);
    E.Changed = After.Digest != Before.Digest;
    E.InstructionDelta = After.Instructions - Before.Instructions;
    Now = After;
    if (*E.Changed && O.SeeChange)
      O.SeeChange(Stack.back().Index, *M);
  }
  tell(Stack.back().Index);
  Stack.pop_back();
}

//===----------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------===//

/// Parses the descriptions of LLVM's passes: "function (f)", "module (id)",
/// "SCC (f, g)", "loop".
static Unit parseDescription(StringRef Text) {
  if (Text.starts_with("module"))
    return {ModuleUnit.str(), ""};
  StringRef Name = Text;
  if (Name.consume_front("function (") && Name.consume_back(")"))
    return {Name.str(), Name.str()};
  Name = Text;
  if (Name.consume_front("SCC "))
    return {Name.str(), ""};
  return {Text.str(), ""};
}

bool PassGate::Impl::askCodeGen(StringRef Pass, StringRef Description,
                                bool IsAllowed) {
  PassExecution E;
  E.Stage = PassStage::CodeGen;
  HaveAsked.insert(Pass);
  auto It = Arguments.find(Pass);
  E.Pass = It == Arguments.end() ? Pass.str() : It->second;
  Unit U = parseDescription(Description);
  E.Unit = std::move(U.Name);
  E.Function = std::move(U.Function);
  size_t Index = begin(std::move(E));
  Listing.Executions[Index].Ran &= IsAllowed;
  Unobserved = Index;
  tell(Index);
  return Listing.Executions[Index].Ran;
}

/// Machine passes have no pass kind of their own; their printer pass identifies
/// them.
static bool isMachinePass(const Pass &P) {
  std::unique_ptr<Pass> Printer(P.createPrinterPass(nulls(), ""));
  return Printer && Printer->getPassName().contains("Machine");
}

/// Adds a pass, followed by an observer if details are wanted. Loop passes get
/// no observer, because it would separate them.
void PassGate::Impl::addPass(Pass *P, GatedPassManager::AddFn Add) {
  const PassInfo *Info =
      PassRegistry::getPassRegistry()->getPassInfo(P->getPassID());
  std::string Name = P->getPassName().str();
  std::string Argument = Info ? Info->getPassArgument().str() : "";
  if (Argument.empty())
    Argument = Name;
  Arguments[Name] = Argument;
  if (!O.Details || P->getAsImmutablePass() || (Info && Info->isAnalysis()))
    return Add(P);

  PassKind Kind = P->getPassKind();
  IsMachine |= Kind == PT_Function && isMachinePass(*P);
  bool IsWatched = IsMachine ? Kind == PT_Function && isMachinePass(*P)
                             : Kind == PT_Function || Kind == PT_Module;
  if (!IsWatched) {
    IsBlind = true;
    Unwatched.push_back(Name);
    return Add(P);
  }
  // Observe first, so that the effect of unobserved passes is not attributed to
  // this pass.
  if (std::exchange(IsBlind, false))
    Add(createObserver(*P, ""));
  Pass *Behind = createObserver(*P, std::move(Argument));
  Add(P);
  Add(Behind);
}

/// Creates an observer of the same kind as \p P.
Pass *PassGate::Impl::createObserver(Pass &P, std::string Argument) {
  if (IsMachine)
    return new MachineObserver(
        [this, Argument](MachineFunction &MF) { observe(Argument, MF); });
  if (P.getPassKind() == PT_Module)
    return new ModuleObserver(
        [this, Argument](Module &M) { observe(Argument, ModuleUnit, M); });
  return new FunctionObserver([this, Argument](Function &F) {
    observe(Argument, F.getName(), *F.getParent());
  });
}

/// An observer without a pass name only resets the state and reports nothing.
void PassGate::Impl::note(StringRef Argument, StringRef Unit, double Seconds,
                          bool Changed, int64_t Delta) {
  std::optional<size_t> Index = std::exchange(Unobserved, std::nullopt);
  if (Argument.empty())
    return;
  if (!Index || Listing.Executions[*Index].Pass != Argument) {
    PassExecution E;
    E.Stage = PassStage::CodeGen;
    E.Pass = Argument.str();
    E.Unit = Unit.str();
    if (Unit != ModuleUnit)
      E.Function = Unit.str();
    E.Required = true;
    Index = begin(std::move(E));
  }
  PassExecution &E = Listing.Executions[*Index];
  E.Seconds = Seconds;
  E.Changed = Changed;
  E.InstructionDelta = Delta;
  tell(*Index);
}

void PassGate::Impl::observe(StringRef Argument, StringRef Unit,
                             const Module &M) {
  double Seconds = secondsSince(LastLook);
  CodeState S = getState(M);
  note(Argument, Unit, Seconds, S.Digest != Now.Digest,
       S.Instructions - Now.Instructions);
  Now = S;
  LastLook = std::chrono::steady_clock::now();
}

static CodeState getState(const MachineFunction &MF) {
  CodeState S;
  for (const MachineBasicBlock &MBB : MF)
    S.Instructions += MBB.size();
  std::string Text;
  raw_string_ostream OS(Text);
  MF.print(OS);
  S.Digest = digest128(Text);
  return S;
}
/// Machine instructions begin with instruction selection, so the first state of
/// a function has no predecessor.
void PassGate::Impl::observe(StringRef Argument, const MachineFunction &MF) {
  double Seconds = secondsSince(LastLook);
  CodeState S = getState(MF);
  bool IsFirst = MachineFunctionName != MF.getName();
  note(Argument, MF.getName(), Seconds,
       IsFirst || S.Digest != MachineNow.Digest,
       IsFirst ? 0 : S.Instructions - MachineNow.Instructions);
  MachineFunctionName = MF.getName().str();
  MachineNow = S;
  LastLook = std::chrono::steady_clock::now();
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

PassGate::PassGate(Options O) : I(std::make_unique<Impl>(std::move(O))) {}

PassGate::PassGate(PassSelection Selection,
                   std::shared_ptr<const PassListing> Numbers) {
  Options O;
  O.Selection = std::move(Selection);
  O.Numbers = std::move(Numbers);
  I = std::make_unique<Impl>(std::move(O));
}

PassGate::~PassGate() = default;

const PassListing &PassGate::listing() const { return I->Listing; }

void PassGate::instrument(PassInstrumentationCallbacks &PIC, const Module &M) {
  Impl *Self = I.get();
  Self->PIC = &PIC;
  Self->M = &M;
  if (Self->O.Details)
    Self->Now = getState(M);
  PIC.registerShouldRunOptionalPassCallback(
      [Self](StringRef Class, Any IR) { return Self->ask(Class, IR); });
  PIC.registerBeforeSkippedPassCallback([Self](StringRef Class, Any) {
    if (!isManager(Class))
      Self->skip();
  });
  PIC.registerBeforeNonSkippedPassCallback(
      [Self](StringRef Class, Any IR) { Self->start(Class, IR); });
  auto End = [Self](StringRef Class) {
    if (!isManager(Class))
      Self->end();
  };
  // Run before the callbacks that print.
  PIC.registerAfterPassCallback(
      [End](StringRef Class, Any, const PreservedAnalyses &) { End(Class); },
      /*ToFront=*/true);
  PIC.registerAfterPassInvalidatedCallback(
      [End](StringRef Class, const PreservedAnalyses &) { End(Class); },
      /*ToFront=*/true);
}

std::unique_ptr<legacy::PassManager> PassGate::createPassManager(Module &M) {
  Impl *Self = I.get();
  Self->beginCodeGen();
  Self->Gate = std::make_unique<CodeGenGate>(
      [Self](StringRef Pass, StringRef Description, bool IsAllowed) {
        return Self->askCodeGen(Pass, Description, IsAllowed);
      });
  M.getContext().setOptPassGate(*Self->Gate);
  if (Self->O.Details)
    Self->Now = getState(M);
  Self->LastLook = std::chrono::steady_clock::now();
  return std::make_unique<GatedPassManager>(
      [Self](Pass *P, GatedPassManager::AddFn Add) { Self->addPass(P, Add); });
}

void PassGate::finishCodeGen() {
  for (StringRef Name : I->Unwatched) {
    if (I->HaveAsked.contains(Name))
      continue;
    PassExecution E;
    E.Stage = PassStage::CodeGen;
    E.Pass = I->Arguments[Name];
    E.Required = true;
    I->tell(I->begin(std::move(E)));
  }
}

//===----------------------------------------------------------------------===//
// Other programs
//===----------------------------------------------------------------------===//

const PassGate::Options &PassGate::options() const { return I->O; }

void PassGate::addPipeline(PassListing L) {
  for (PassExecution &E : L.Executions) {
    bool Ran = E.Ran;
    size_t Index = I->begin(std::move(E));
    I->Listing.Executions[Index].Ran = Ran;
    I->tell(Index);
  }
  setUnnumbered(std::move(L.Unnumbered));
}

void PassGate::beginCodeGen() { I->beginCodeGen(); }

bool PassGate::addCodeGen(PassExecution E) {
  E.Stage = PassStage::CodeGen;
  Unit U = parseDescription(E.Unit);
  E.Unit = std::move(U.Name);
  E.Function = std::move(U.Function);
  size_t Index = I->begin(std::move(E));
  I->tell(Index);
  return I->Listing.Executions[Index].Ran;
}

bool PassGate::runsRest() const { return I->decideUnnumbered(); }

void PassGate::setUnnumbered(std::string Why) {
  if (!Why.empty())
    I->Listing.Unnumbered = std::move(Why);
}
