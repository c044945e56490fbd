//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/Mneme/Compile/LLVMOptions.h"
#include "CounterWatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns true for --help, --version and the like, which print and exit.
static bool isGeneric(const cl::Option &O) {
  return any_of(O.Categories, [](const cl::OptionCategory *C) {
    return C->getName() == "Generic Options";
  });
}

static Error refuseUnknown(StringRef Name) {
  std::vector<StringRef> Names;
  for (const auto &[Known, Option] : cl::getRegisteredOptions())
    if (!isGeneric(*Option))
      Names.push_back(Known);
  return createStringError("LLVM has no option '" + Name + "'" +
                           suggest(Name, Names));
}

static Expected<cl::Option *> findOption(StringRef Name) {
  cl::Option *Option = cl::getRegisteredOptions().lookup(Name);
  if (!Option)
    return refuseUnknown(Name);
  if (isGeneric(*Option))
    return createStringError("'" + Name +
                             "' is not an option of a compilation");
  return Option;
}

static bool isList(const cl::Option &O) {
  return O.getNumOccurrencesFlag() == cl::ZeroOrMore ||
         O.getNumOccurrencesFlag() == cl::OneOrMore;
}

/// Returns all options that have been set.
static SmallPtrSet<cl::Option *, 8> findGivenOptions() {
  SmallPtrSet<cl::Option *, 8> Given;
  for (const auto &[Name, Option] : cl::getRegisteredOptions())
    if (Option->getNumOccurrences())
      Given.insert(Option);
  return Given;
}

/// Sets an option as the command line parser would.
static Error setOption(cl::Option &Option, const LLVMOption &O) {
  bool HasValue = !O.Value.empty();
  if (HasValue && Option.getValueExpectedFlag() == cl::ValueDisallowed)
    return createStringError("LLVM's option '" + O.Name +
                             "' takes no value, '" + O.Value + "' was given");
  if (!HasValue && Option.getValueExpectedFlag() == cl::ValueRequired)
    return createStringError("LLVM's option '" + O.Name + "' needs a value");
  SmallVector<StringRef, 4> Values = {O.Value};
  if (HasValue && Option.getMiscFlags() & cl::CommaSeparated) {
    Values.clear();
    StringRef(O.Value).split(Values, ',');
  }
  for (auto [I, Value] : enumerate(Values))
    if (Option.addOccurrence(0, O.Name, Value, /*MultiArg=*/I != 0))
      return createStringError("invalid value '" + O.Value +
                               "' for LLVM's option '" + O.Name + "'");
  return Error::success();
}

using FoundOption = std::pair<cl::Option *, const LLVMOption *>;

static Error setOptions(ArrayRef<FoundOption> Options) {
  for (size_t I = 0; I != Options.size(); ++I) {
    cl::Option *Option = Options[I].first;
    bool Again =
        any_of(Options.drop_front(I + 1),
               [&](const FoundOption &Later) { return Later.first == Option; });
    if (Again && !isList(*Option))
      continue;
    if (Error E = setOption(*Option, *Options[I].second))
      return E;
  }
  return Error::success();
}

LLVMOptionScope::~LLVMOptionScope() { leave(); }

void LLVMOptionScope::leave() {
  for (cl::Option *Option : Set) {
    Option->reset();
    // Planning a compilation must not affect later ones in child processes.
    if (Option->ArgStr == "debug-counter")
      runAllRewrites();
  }
  Set.clear();
}

Error LLVMOptionScope::enter(ArrayRef<LLVMOption> Options, bool SkipUnknown) {
  if (Options.empty())
    return Error::success();
  initializeTargets(); // they have options of their own
  SmallVector<FoundOption, 4> Found;
  for (const LLVMOption &O : Options) {
    if (SkipUnknown && !cl::getRegisteredOptions().count(O.Name))
      continue;
    Expected<cl::Option *> Option = findOption(O.Name);
    if (!Option)
      return Option.takeError();
    if ((*Option)->getNumOccurrences())
      return createStringError("LLVM's option '" + O.Name +
                               "' was set on the command line already");
    Found.push_back({*Option, &O});
  }
  SmallPtrSet<cl::Option *, 8> Before = findGivenOptions();
  Error Result = setOptions(Found);
  // Track the options that were set, not those named: a name may be an alias.
  for (cl::Option *Option : findGivenOptions())
    if (!Before.contains(Option))
      Set.push_back(Option);
  if (Result)
    leave();
  return Result;
}

bool mneme::isLasting(const LLVMOption &O) {
  static constexpr StringLiteral Known[] = {
#define LASTING_OPTION(Name) Name,
#include "llvm/Mneme/Compile/LastingOptions.def"
  };
  if (is_contained(Known, O.Name))
    return true;
  initializeTargets();
  const cl::Option *Option = cl::getRegisteredOptions().lookup(O.Name);
  return Option && isList(*Option);
}

Error mneme::checkLLVMOptions(ArrayRef<LLVMOption> Options, bool SkipUnknown) {
  if (Options.empty())
    return Error::success();
  Expected<Pipe> Answer = Pipe::create();
  if (!Answer)
    return Answer.takeError();
  int FD = Answer->Write.get();
  ChildOptions CO;
  CO.Out = InheritStream;
  CO.Kept = {FD};
  Expected<Child> C = Child::fork(
      [&] {
        LLVMOptionScope Scope;
        if (Error E = Scope.enter(Options, SkipUnknown))
          consumeError(writeAll(FD, llvm::toString(std::move(E))));
      },
      CO);
  if (!C)
    return C.takeError();
  Answer->Write.reset();
  std::string Text = readToEnd(Answer->Read.get());
  if (!Text.empty())
    return createStringError(Text);
  if (C->wait() != 0)
    return createStringError(
        "LLVM ended the process that set '" +
        join(map_range(Options,
                       [](const LLVMOption &O) { return toString(O); }),
             " ") +
        "'");
  return Error::success();
}
