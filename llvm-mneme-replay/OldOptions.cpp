//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options from before there were subcommands.
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
  StringLiteral NewName; ///< Empty: the subcommand says it all.
  bool Chooses;          ///< The subcommand.
};
} // namespace

static constexpr OldOption OldOptions[] = {
    {"assess", "assess", "", true},
    {"bisect", "bisect", "criterion", true},
    {"differs-from", "compare", "good", true},
    {"differs-by", "compare", "criterion", false},
    {"differs-as", "compare", "verdict", false},
    {"list-passes", "list-passes", "format", true},
    {"reduce", "reduce", "criterion", true},
    {"reduce-jobs", "reduce", "jobs", false},
    {"reduce-limit", "reduce", "limit", false},
};

/// The old option that \p Word gives; null if it gives none.
static const OldOption *findOldOption(StringRef Word) {
  if (!Word.consume_front("-"))
    return nullptr;
  Word.consume_front("-");
  const OldOption *O = find_if(OldOptions, [&](const OldOption &Old) {
    return Old.Name == Word.split('=').first;
  });
  return O != std::end(OldOptions) ? O : nullptr;
}

Expected<SmallVector<const char *, 0>>
mneme::replaceOldOptions(ArrayRef<const char *> Args, StringSaver &Saver) {
  auto IsFirst = [&](const OldOption &O) {
    return Args.size() > 1 && O.Command == Args[1];
  };
  const OldOption *Chosen = nullptr;
  for (StringRef Word : Args.drop_front()) {
    const OldOption *O = findOldOption(Word);
    if (!O || !O->Chooses)
      continue;
    if (Chosen && Chosen->Command != O->Command)
      return createStringError("--" + Chosen->Name + " and --" + O->Name +
                               " rule each other out");
    Chosen = O;
  }
  if (!Chosen || any_of(OldOptions, IsFirst))
    return SmallVector<const char *, 0>(Args);
  SmallVector<const char *, 0> New{Args.front(), Chosen->Command.data()};
  for (const char *Word : Args.drop_front()) {
    const OldOption *O = findOldOption(Word);
    if (!O) {
      New.push_back(Word);
      continue;
    }
    size_t Value = StringRef(Word).find('=');
    bool IsWord = Value == StringRef::npos && O->NewName != "format";
    if (!O->NewName.empty() && (IsWord || Value != StringRef::npos))
      New.push_back(
          Saver.save("--" + O->NewName + StringRef(Word).substr(Value)).data());
  }
  return New;
}
