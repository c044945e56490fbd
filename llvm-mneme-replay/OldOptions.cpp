//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options that were replaced by subcommands.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
struct OldOption {
  StringLiteral Name;
  StringLiteral Command;
  StringLiteral NewName; ///< Empty: the subcommand replaces the option.
  bool Chooses;          ///< Whether the option selects the subcommand.
};
} // namespace

static constexpr OldOption OldOptions[] = {
    {"assess", "assess", "", true},
    {"bisect", "bisect", "criterion", true},
    {"differs-from", "compare", "good", true},
    {"differs-by", "compare", "criterion", false},
    {"differs-as", "compare", "verdict", false},
    {"differs-as", "reduce", "verdict", false},
    {"list-passes", "list-passes", "format", true},
    {"reduce", "reduce", "criterion", true},
    {"reduce-jobs", "reduce", "jobs", false},
    {"reduce-limit", "reduce", "limit", false},
    // Options that had no effect.
    {"no-execute", "list-passes", "", false},
    {"no-verify", "list-passes", "", false},
    {"resources", "list-passes", "", false},
};

/// Returns the name of the option \p Word; empty if it is not an option.
static StringRef getName(StringRef Word) {
  if (!Word.consume_front("-"))
    return "";
  Word.consume_front("-");
  return Word.split('=').first;
}

/// Returns the option that selects a subcommand; null if there is none.
static Expected<const OldOption *> findChoice(ArrayRef<const char *> Words) {
  const OldOption *Choice = nullptr;
  for (StringRef Word : Words) {
    const OldOption *O = find_if(OldOptions, [&](const OldOption &Old) {
      return Old.Chooses && Old.Name == getName(Word);
    });
    if (O == std::end(OldOptions))
      continue;
    if (Choice && Choice->Command != O->Command)
      return createStringError("--" + Choice->Name + " and --" + O->Name +
                               " are mutually exclusive");
    Choice = O;
  }
  return Choice;
}

/// Adds the replacement of \p Word, one of the words \p Old, to \p New.
static Error addWord(StringRef Word, ArrayRef<const char *> Old,
                     StringRef Command, StringSaver &Saver,
                     SmallVectorImpl<const char *> &New) {
  StringRef Name = getName(Word);
  auto IsGiven = [&](StringRef Option) {
    return any_of(Old, [&](StringRef W) { return getName(W) == Option; });
  };
  bool IsOfAnother = false;
  for (const OldOption &O : OldOptions) {
    bool IsHere = O.Command == Command;
    if (IsHere && O.NewName == Name && !Name.empty() && IsGiven(O.Name) &&
        O.NewName != "format")
      return createStringError("--" + O.Name + " and --" + Name +
                               " are mutually exclusive");
    if (O.Name != Name)
      continue;
    IsOfAnother |= !O.NewName.empty();
    if (!IsHere)
      continue;
    // The value of --format is optional.
    size_t Value = Word.find('=');
    bool IsEmpty = Value == StringRef::npos || Value + 1 == Word.size();
    if (!O.NewName.empty() && !(O.NewName == "format" && IsEmpty))
      New.push_back(Saver.save("--" + O.NewName + Word.substr(Value)).data());
    return Error::success();
  }
  if (IsOfAnother)
    return createStringError("--" + Name + " is not an option of " + Command);
  New.push_back(Word.data());
  return Error::success();
}

Expected<SmallVector<const char *, 0>>
mneme::replaceOldOptions(ArrayRef<const char *> Args, StringSaver &Saver) {
  auto IsFirst = [&](const OldOption &O) {
    return Args.size() > 1 && O.Command == Args[1];
  };
  // There are no options after "--".
  auto End = find_if(Args, [](StringRef Word) { return Word == "--"; });
  ArrayRef<const char *> Words(Args.begin() + 1,
                               std::max(End, Args.begin() + 1));
  Expected<const OldOption *> Choice = findChoice(Words);
  if (!Choice)
    return Choice.takeError();
  if (!*Choice || any_of(OldOptions, IsFirst))
    return SmallVector<const char *, 0>(Args);
  SmallVector<const char *, 0> New{Args.front(), (*Choice)->Command.data()};
  for (StringRef Word : Words)
    if (Error E = addWord(Word, Words, (*Choice)->Command, Saver, New))
      return std::move(E);
  New.append(End, Args.end());
  return New;
}
