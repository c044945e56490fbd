//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Limits the table to 100 MB: enough for a function, not for a program.
static constexpr size_t MaxDiffCells = 25'000'000;

std::optional<std::vector<DiffLine>>
mneme::compareLines(ArrayRef<StringRef> A, ArrayRef<StringRef> B) {
  std::vector<DiffLine> Lines;
  size_t First = 0, Last = 0;
  for (; First < std::min(A.size(), B.size()) && A[First] == B[First]; ++First)
    Lines.push_back({' ', First, First});
  while (Last < std::min(A.size(), B.size()) - First &&
         A[A.size() - 1 - Last] == B[B.size() - 1 - Last])
    ++Last;
  size_t EndA = A.size() - Last, EndB = B.size() - Last;
  A = A.drop_back(Last).drop_front(First);
  B = B.drop_back(Last).drop_front(First);
  if ((A.size() + 1) * (B.size() + 1) > MaxDiffCells)
    return std::nullopt;
  // Length of the longest common subsequence of the suffixes of A from I and of
  // B from K.
  std::vector<uint32_t> Length((A.size() + 1) * (B.size() + 1));
  auto At = [&](size_t I, size_t K) -> uint32_t & {
    return Length[I * (B.size() + 1) + K];
  };
  for (size_t I = A.size(); I-- > 0;)
    for (size_t K = B.size(); K-- > 0;)
      At(I, K) = A[I] == B[K] ? At(I + 1, K + 1) + 1
                              : std::max(At(I + 1, K), At(I, K + 1));
  for (size_t I = 0, K = 0; I < A.size() || K < B.size();) {
    if (I < A.size() && K < B.size() && A[I] == B[K])
      Lines.push_back({' ', First + I++, First + K++});
    else if (K == B.size() || (I < A.size() && At(I + 1, K) >= At(I, K + 1)))
      Lines.push_back({'-', First + I++, First + K});
    else
      Lines.push_back({'+', First + I, First + K++});
  }
  for (size_t I = 0; I != Last; ++I)
    Lines.push_back({' ', EndA + I, EndB + I});
  return Lines;
}

std::vector<StringRef> mneme::splitLines(StringRef Text) {
  SmallVector<StringRef, 0> Lines;
  Text.split(Lines, '\n');
  if (!Lines.empty() && Lines.back().empty())
    Lines.pop_back();
  return {Lines.begin(), Lines.end()};
}

/// Prints the differences in \p Lines of \p A and \p B.
static std::string printDiff(ArrayRef<DiffLine> Lines, ArrayRef<StringRef> A,
                             ArrayRef<StringRef> B, unsigned Context) {
  std::vector<bool> Shown(Lines.size());
  for (auto [I, L] : enumerate(Lines))
    if (L.Kind != ' ')
      for (size_t K = I - std::min<size_t>(I, Context);
           K != std::min(I + Context + 1, Lines.size()); ++K)
        Shown[K] = true;
  std::string Text;
  raw_string_ostream OS(Text);
  size_t LineA = 1, LineB = 1;
  for (size_t I = 0; I != Lines.size();) {
    if (!Shown[I]) {
      ++LineA, ++LineB, ++I;
      continue;
    }
    size_t End = I, CountA = 0, CountB = 0;
    for (; End != Lines.size() && Shown[End]; ++End) {
      CountA += Lines[End].Kind != '+';
      CountB += Lines[End].Kind != '-';
    }
    OS << formatv("@@ -{0},{1} +{2},{3} @@\n", LineA, CountA, LineB, CountB);
    for (; I != End; ++I)
      OS << Lines[I].Kind
         << (Lines[I].Kind == '+' ? B[Lines[I].B] : A[Lines[I].A]) << '\n';
    LineA += CountA;
    LineB += CountB;
  }
  return Text;
}

static std::string describeTooLarge(size_t A, size_t B) {
  return formatv("{0} lines before, {1} after: too many for a comparison\n", A,
                 B);
}

std::string mneme::makeDiff(StringRef Before, StringRef After,
                            unsigned Context) {
  if (Before == After)
    return "";
  std::vector<StringRef> A = splitLines(Before), B = splitLines(After);
  std::optional<std::vector<DiffLine>> Lines = compareLines(A, B);
  return Lines ? printDiff(*Lines, A, B, Context)
               : describeTooLarge(A.size(), B.size());
}

/// The line without the numbers of its values, which are added to \p Names.
static std::string maskNumbers(StringRef Line, StringRef Sigils,
                               SmallVectorImpl<StringRef> &Names) {
  auto IsOfName = [](char C) {
    return isAlnum(C) || C == '_' || C == '.' || C == '$' || C == '-';
  };
  std::string Masked;
  while (!Line.empty()) {
    size_t Begin = Line.find_first_of(Sigils);
    Masked += Line.take_front(Begin);
    Line = Line.drop_front(std::min(Begin, Line.size()));
    if (Line.empty())
      break;
    StringRef Name =
        Line.take_front(1 + Line.drop_front().take_while(IsOfName).size());
    Line = Line.drop_front(Name.size());
    StringRef Stem = Name.rtrim("0123456789");
    Masked += Stem;
    if (Stem != Name)
      Names.push_back(Name);
  }
  return Masked;
}

std::string mneme::makeCodeDiff(StringRef Before, StringRef After,
                                unsigned Context, StringRef Sigils) {
  if (Before == After)
    return "";
  std::vector<StringRef> A = splitLines(Before), B = splitLines(After);
  std::vector<std::string> Masked[2];
  std::vector<SmallVector<StringRef, 4>> Names[2];
  for (bool Second : {false, true})
    for (StringRef Line : Second ? B : A)
      Masked[Second].push_back(
          maskNumbers(Line, Sigils, Names[Second].emplace_back()));
  std::optional<std::vector<DiffLine>> Lines =
      compareLines(std::vector<StringRef>(Masked[0].begin(), Masked[0].end()),
                   std::vector<StringRef>(Masked[1].begin(), Masked[1].end()));
  if (!Lines)
    return describeTooLarge(A.size(), B.size());
  // A line defines its first name, mostly; the first line that has a name says
  // what it stands for.
  StringMap<StringRef> Forth, Back;
  std::vector<DiffLine> All;
  bool Differs = false;
  for (const DiffLine &L : *Lines) {
    bool Same = L.Kind == ' ';
    if (Same)
      for (auto [X, Y] : zip_equal(Names[0][L.A], Names[1][L.B]))
        Same &= Forth.try_emplace(X, Y).first->second == Y &&
                Back.try_emplace(Y, X).first->second == X;
    Differs |= !Same;
    if (L.Kind != ' ' || Same) {
      All.push_back(L);
      continue;
    }
    All.push_back({'-', L.A, L.B});
    All.push_back({'+', L.A + 1, L.B});
  }
  return Differs ? printDiff(All, A, B, Context) : "";
}
