//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportParts.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Names and numbers, and what stands between them one by one.
static std::vector<StringRef> splitText(StringRef Text) {
  std::vector<StringRef> Words;
  while (!Text.empty()) {
    size_t End = Text.find_first_of("()<>,; \n");
    Words.push_back(Text.take_front(std::max<size_t>(1, End)));
    Text = Text.drop_front(Words.back().size());
  }
  return Words;
}

/// The longest sequence that both have, in the same order: for each word of
/// \p A, whether it is in it; the same for \p B.
static void findCommon(ArrayRef<StringRef> A, ArrayRef<StringRef> B,
                       std::vector<bool> &InA, std::vector<bool> &InB) {
  // Length of the longest one in the ends that begin at I and K.
  std::vector<std::vector<uint32_t>> Length(
      A.size() + 1, std::vector<uint32_t>(B.size() + 1));
  for (size_t I = A.size(); I-- > 0;)
    for (size_t K = B.size(); K-- > 0;)
      Length[I][K] = A[I] == B[K]
                         ? Length[I + 1][K + 1] + 1
                         : std::max(Length[I + 1][K], Length[I][K + 1]);
  for (size_t I = 0, K = 0; I < A.size() && K < B.size();) {
    if (A[I] == B[K])
      InA[I++] = InB[K++] = true;
    else if (Length[I + 1][K] >= Length[I][K + 1])
      ++I;
    else
      ++K;
  }
}

static void writeRun(raw_ostream &OS, StringRef Tag, ArrayRef<StringRef> Words,
                     const std::vector<bool> &Common, size_t &I) {
  if (I == Words.size() || Common[I])
    return;
  OS << '<' << Tag << '>';
  for (; I < Words.size() && !Common[I]; ++I)
    OS << escapeHTML(Words[I]);
  OS << "</" << Tag << '>';
}

void mneme::writeWordDiff(raw_ostream &OS, StringRef Before, StringRef After) {
  // Of pipelines, whatever their length; not of books.
  static constexpr size_t MaxCells = 25'000'000;
  std::vector<StringRef> A = splitText(Before), B = splitText(After);
  std::vector<bool> InA(A.size()), InB(B.size());
  if (A.size() * B.size() <= MaxCells)
    findCommon(A, B, InA, InB);
  OS << "<code class=\"diff\">";
  for (size_t I = 0, K = 0; I < A.size() || K < B.size();) {
    writeRun(OS, "del", A, InA, I);
    writeRun(OS, "ins", B, InB, K);
    for (; I < A.size() && K < B.size() && InA[I] && InB[K]; ++I, ++K)
      // Long pipelines have no spaces to break at.
      OS << escapeHTML(A[I]) << (A[I] == "," ? "<wbr>" : "");
  }
  OS << "</code>\n";
}
