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
#include "llvm/Support/CommandLine.h"
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
