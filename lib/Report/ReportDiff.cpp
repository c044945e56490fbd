//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportParts.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Splits a text into names, numbers and single separators.
static std::vector<StringRef> splitText(StringRef Text) {
  std::vector<StringRef> Words;
  while (!Text.empty()) {
    size_t End = Text.find_first_of("()<>,; \n");
    Words.push_back(Text.take_front(std::max<size_t>(1, End)));
    Text = Text.drop_front(Words.back().size());
  }
  return Words;
}

static void writeRun(raw_ostream &OS, StringRef Tag,
                     std::vector<StringRef> &Words) {
  if (Words.empty())
    return;
  OS << '<' << Tag << '>';
  for (StringRef Word : Words)
    OS << escapeHTML(Word);
  OS << "</" << Tag << '>';
  Words.clear();
}

void mneme::writeWordDiff(raw_ostream &OS, StringRef Before, StringRef After) {
  std::vector<StringRef> A = splitText(Before), B = splitText(After);
  // Differences since the last common word.
  std::vector<StringRef> Removed, Added;
  auto WriteRuns = [&] {
    writeRun(OS, "del", Removed);
    writeRun(OS, "ins", Added);
  };
  OS << "<code class=\"diff\">";
  if (auto Words = compareLines(A, B)) {
    for (const DiffLine &W : *Words) {
      if (W.Kind == '-') {
        Removed.push_back(A[W.A]);
      } else if (W.Kind == '+') {
        Added.push_back(B[W.B]);
      } else {
        WriteRuns();
        // Long pipelines have no spaces to break at.
        OS << escapeHTML(A[W.A]) << (A[W.A] == "," ? "<wbr>" : "");
      }
    }
  } else {
    Removed = A;
    Added = B;
  }
  WriteRuns();
  OS << "</code>\n";
}
