//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include <string>

using namespace llvm;
using namespace llvm::mneme;

/// Makes a help section of \p Title and the indented \p Lines.
static std::string makeSection(StringRef Title, StringRef Lines) {
  std::string Text = ("\n" + Title + ":\n\n").str();
  SmallVector<StringRef> Split;
  Lines.split(Split, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Split)
    Text += ("  " + Line + "\n").str();
  return Text;
}

void mneme::addCommandHelp(ArrayRef<CommandHelp> Table, int Argc,
                           const char *const *Argv) {
  const CommandHelp *H = find_if(Table, [&](const CommandHelp &Row) {
    return Argc > 1 && Row.Command == Argv[1];
  });
  if (H == Table.end())
    H = Table.begin();
  // cl::extrahelp keeps a reference.
  static std::string Text;
  Text = makeSection("EXAMPLES", H->Examples) +
         makeSection("EXIT CODES", H->ExitCodes);
  static cl::extrahelp Extra(Text);
}

Error mneme::checkSubCommand(ArrayRef<const cl::OptionCategory *> Categories) {
  auto Chosen =
      find_if(cl::getRegisteredSubcommands(),
              [](const cl::SubCommand *Command) { return bool(*Command); });
  if (Chosen == cl::getRegisteredSubcommands().end())
    return Error::success();
  auto IsOurs = [&](const cl::OptionCategory *C) {
    return is_contained(Categories, C);
  };
  for (const auto &[Name, O] : cl::getRegisteredOptions())
    if (O->getNumOccurrences() && any_of(O->Categories, IsOurs) &&
        !(*Chosen)->OptionsMap.count(Name))
      return createStringError("--" + Name + " is not an option of " +
                               (*Chosen)->getName());
  return Error::success();
}

/// Returns "a, b or c".
static std::string joinAlternatives(ArrayRef<StringRef> Names) {
  if (Names.size() < 2)
    return join(Names, "");
  return join(Names.drop_back(), ", ") + (" or " + Names.back()).str();
}

std::string mneme::describeUnknownValue(StringRef Text,
                                        const cl::generic_parser_base &Parser) {
  SmallVector<StringRef> Names;
  for (unsigned I = 0, E = Parser.getNumOptions(); I != E; ++I)
    if (StringRef Name = Parser.getOption(I); !Name.empty())
      Names.push_back(Name);
  return "unknown value '" + printable(Text) + "': expected " +
         joinAlternatives(Names);
}

static SmallVector<StringRef> getSubCommandNames() {
  SmallVector<StringRef> Names;
  for (const cl::SubCommand *Command : cl::getRegisteredSubcommands())
    if (!Command->getName().empty())
      Names.push_back(Command->getName());
  llvm::sort(Names);
  return Names;
}

/// Fails if a word is a subcommand, but not the first word, or if the first
/// word is a misspelt one. A word that names a file is none.
static Error checkSubCommandWords(ArrayRef<const char *> Words) {
  SmallVector<StringRef> Names = getSubCommandNames();
  auto IsFile = [](StringRef Word) { return sys::fs::exists(Word); };
  if (Names.empty() || Words.empty() || is_contained(Names, Words.front()))
    return Error::success();
  StringRef First = Words.front();
  if (!First.starts_with("-") && !IsFile(First)) {
    if (std::string Meant = suggest(First, Names); !Meant.empty())
      return createStringError("unknown subcommand '" + First + "'" + Meant);
    if (cl::SubCommand::getTopLevel().PositionalOpts.empty())
      return createStringError("unknown subcommand '" + First + "': expected " +
                               joinAlternatives(Names));
  }
  StringRef Before;
  for (StringRef Word : Words) {
    const cl::Option *O = cl::getRegisteredOptions().lookup(Before.ltrim('-'));
    bool IsValue = Before.starts_with("-") && O &&
                   O->getValueExpectedFlag() == cl::ValueRequired;
    Before = Word;
    if (!IsValue && is_contained(Names, Word) && !IsFile(Word))
      return createStringError("subcommand '" + Word +
                               "' must be the first argument");
  }
  return Error::success();
}

/// Returns the descriptions of the chosen subcommand's required positional
/// arguments. LLVM assigns none if one is missing.
static std::string describeRequiredArguments() {
  SmallVector<StringRef> Required;
  for (const cl::SubCommand *Command : cl::getRegisteredSubcommands())
    if (*Command)
      for (const cl::Option *O : Command->PositionalOpts)
        if (is_contained({cl::Required, cl::OneOrMore},
                         O->getNumOccurrencesFlag()))
          Required.push_back(O->HelpStr);
  return join(Required, " ");
}

void mneme::parseCommandLine(int Argc, const char *const *Argv,
                             StringRef Overview) {
  StringRef Tool = sys::path::filename(Argv[0]);
  auto Fail = [&](const Twine &Text) {
    WithColor::error(errs(), Tool) << Text << '\n';
    std::exit(1);
  };
  ArrayRef<const char *> Words(Argv + 1, Argc - 1);
  if (Error E = checkSubCommandWords(
          Words.take_while([](StringRef Word) { return Word != "--"; })))
    Fail(printableMessage(toString(std::move(E))));
  std::string Text;
  raw_string_ostream OS(Text);
  bool IsValid = cl::ParseCommandLineOptions(Argc, Argv, Overview, &OS);
  if (!IsValid && StringRef(Text).contains("Not enough positional"))
    if (std::string Required = describeRequiredArguments(); !Required.empty())
      Fail("expected " + Required + " (see --help)");
  errs() << Text;
  if (!IsValid)
    std::exit(1);
}
