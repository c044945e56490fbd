//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Words.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/StringSaver.h"

using namespace llvm;
using namespace llvm::mneme;

std::vector<std::string> mneme::splitWords(StringRef Text) {
  BumpPtrAllocator Allocator;
  StringSaver Saver(Allocator);
  SmallVector<const char *, 8> Words;
  cl::TokenizeGNUCommandLine(Text, Saver, Words);
  return {Words.begin(), Words.end()};
}

std::string mneme::formatDims(const Dim3 &D) {
  return formatv("{0}x{1}x{2}", D.X, D.Y, D.Z).str();
}

std::string mneme::quoteWord(StringRef Word) {
  if (!Word.empty() && all_of(Word, [](char C) {
        return isAlnum(C) || StringRef("-_=+:,./@%").contains(C);
      }))
    return Word.str();
  // Within single quotes, a backslash is literal to a shell but an escape to
  // LLVM.
  if (Word.find_first_of("'\\") == StringRef::npos)
    return ("'" + Word + "'").str();
  std::string Quoted = "\"";
  for (char C : Word) {
    if (StringRef("\"\\$`").contains(C))
      Quoted += '\\';
    Quoted += C;
  }
  return Quoted + '"';
}

std::string mneme::quoteCommand(ArrayRef<std::string> Words) {
  return join(map_range(Words, [](StringRef W) { return quoteWord(W); }), " ");
}

std::string mneme::suggest(StringRef Wrong, ArrayRef<StringRef> Names) {
  // The bound is exclusive: a name of three letters may have two edits, such as
  // two swapped letters.
  unsigned Best = (Wrong.size() + 3) / 3 + 1;
  StringRef Found;
  for (StringRef Name : Names) {
    unsigned Distance =
        Wrong.edit_distance(Name, /*AllowReplacements=*/true, Best);
    if (Distance > Best ||
        (Distance == Best && (Found.empty() || Name > Found)))
      continue;
    Best = Distance;
    Found = Name;
  }
  return Found.empty() || Found == Wrong
             ? ""
             : ("; did you mean '" + Found + "'?").str();
}

std::string mneme::formatCount(uint64_t Number, StringRef Noun) {
  bool IsHissed = Noun.ends_with("ch") || Noun.ends_with("s");
  StringRef Ending = Number == 1 ? "" : IsHissed ? "es" : "s";
  return (Twine(Number) + " " + Noun + Ending).str();
}

std::string mneme::formatBytes(uint64_t Bytes) {
  static constexpr StringLiteral Units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double Value = Bytes;
  size_t Unit = 0;
  for (; Value >= 1024 && Unit + 1 < std::size(Units); ++Unit)
    Value /= 1024;
  return formatv(Unit ? "{0:f1} {1}" : "{0:f0} {1}", Value, Units[Unit]).str();
}

std::string mneme::formatSeconds(double S) {
  const char *Unit = "s";
  for (const char *Smaller : {"ms", "us", "ns"}) {
    if (S >= 1 || S == 0)
      break;
    S *= 1000;
    Unit = Smaller;
  }
  return formatv("{0} {1}", formatv("{0:f2}", S), Unit).str();
}
