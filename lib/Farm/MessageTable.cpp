//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Farm/MessageTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static void printFields(raw_ostream &OS, const ObjectText &Text) {
  for (const FieldText &F : Text.Fields)
    OS << formatv("\n* ``{0}``: {1} ({2})", F.Key, F.Description, F.Rule);
  OS << (Text.Fields.empty() ? "" : "\n");
}

static void printTitle(raw_ostream &OS, StringRef Title, char Line) {
  OS << '\n' << Title << '\n' << std::string(Title.size(), Line) << '\n';
}

static void printMessage(raw_ostream &OS, const ObjectText &M) {
  printTitle(OS, ("``" + M.Kind.Key + "``").str(), '-');
  OS << formatv("\n{0}. Line: at most {1} bytes.", M.Description,
                M.Kind.LineBytes);
  if (M.Kind.Bytes)
    OS << formatv(" After it: at most {0} bytes.", M.Kind.Bytes);
  OS << '\n';
  printFields(OS, M);
}

void mneme::printMessageTexts(raw_ostream &OS, ArrayRef<SetText> Sets,
                              ArrayRef<ObjectText> Messages,
                              ArrayRef<ObjectText> Parts) {
  for (const SetText &Set : Sets) {
    printTitle(OS, ("From " + Set.Sender + " to " + Set.Receiver).str(), '=');
    for (StringRef Name : Set.Messages)
      printMessage(OS, *find_if(Messages, [&](const ObjectText &T) {
        return T.Name == Name;
      }));
  }
  printTitle(OS, "Objects within messages", '=');
  for (const ObjectText &Part : Parts) {
    printTitle(OS, Part.Name, '-');
    OS << '\n' << Part.Description << ".\n";
    printFields(OS, Part);
  }
}
