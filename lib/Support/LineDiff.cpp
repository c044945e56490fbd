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
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;

/// Limits the table to 100 MB: enough for a function, not for a program.
static constexpr size_t MaxDiffCells = 25'000'000;

/// Returns all lines of two texts in order, aligned so that the sum of the
/// scores of common lines is greatest. Lines with a score of 0 differ. \param
/// IsSame  common at both ends of the texts without further search.
static std::optional<std::vector<DiffLine>>
alignLines(size_t SizeA, size_t SizeB,
           function_ref<bool(size_t, size_t)> IsSame,
           function_ref<uint32_t(size_t, size_t)> Score) {
  std::vector<DiffLine> Lines;
  size_t First = 0, Last = 0;
  for (; First < std::min(SizeA, SizeB) && IsSame(First, First); ++First)
    Lines.push_back({' ', First, First});
  while (Last < std::min(SizeA, SizeB) - First &&
         IsSame(SizeA - 1 - Last, SizeB - 1 - Last))
    ++Last;
  size_t EndA = SizeA - Last, EndB = SizeB - Last;
  size_t Width = EndB - First + 1;
  if ((EndA - First + 1) * Width > MaxDiffCells)
    return std::nullopt;
  // The greatest sum for the lines of A from I and those of B from K.
  std::vector<uint32_t> Sums((EndA - First + 1) * Width);
  auto At = [&](size_t I, size_t K) -> uint32_t & {
    return Sums[(I - First) * Width + K - First];
  };
  for (size_t I = EndA; I-- > First;)
    for (size_t K = EndB; K-- > First;) {
      At(I, K) = std::max(At(I + 1, K), At(I, K + 1));
      if (uint32_t S = Score(I, K))
        At(I, K) = std::max(At(I, K), At(I + 1, K + 1) + S);
    }
  for (size_t I = First, K = First; I < EndA || K < EndB;) {
    uint32_t S = I < EndA && K < EndB ? Score(I, K) : 0;
    if (S && At(I, K) == At(I + 1, K + 1) + S)
      Lines.push_back({' ', I++, K++});
    else if (K == EndB || (I < EndA && At(I + 1, K) >= At(I, K + 1)))
      Lines.push_back({'-', I++, K});
    else
      Lines.push_back({'+', I, K++});
  }
  for (size_t I = 0; I != Last; ++I)
    Lines.push_back({' ', EndA + I, EndB + I});
  return Lines;
}

std::optional<std::vector<DiffLine>>
mneme::compareLines(ArrayRef<StringRef> A, ArrayRef<StringRef> B) {
  auto IsSame = [&](size_t I, size_t K) { return A[I] == B[K]; };
  return alignLines(A.size(), B.size(), IsSame, IsSame);
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

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
/// A text of code. A name is a sigil and what follows it: "%x.lcssa5".
struct Code {
  /// A name in the function that the line is in: functions have names of their
  /// own.
  using Name = std::pair<unsigned, StringRef>;

  std::vector<StringRef> Lines;
  /// The lines without the digits at the end of names. Lines that are the same
  /// without them have equally many names.
  std::vector<std::string> Masked;
  std::vector<SmallVector<Name, 4>> Names; ///< Of each line.
  /// The line that defines a name: it begins with "%x = ", or else is the first
  /// that has it.
  std::map<Name, size_t> Definitions;

  Code(StringRef Text, StringRef Sigils);
};

/// Finds the lines that two codes have in common but for numbers in names.
class CodeComparison {
public:
  CodeComparison(const Code &A, const Code &B) : A(A), B(B) {}

  /// Returns unset if too many lines differ. A line whose names do not stand
  /// for each other differs, although it is the same without numbers.
  std::optional<std::vector<DiffLine>> run();

private:
  const Code &A, &B;
  std::vector<DiffLine> Lines;
  std::vector<bool> IsCommon; ///< Of Lines.
  /// What a name of one code is in the other.
  std::map<Code::Name, Code::Name> Forth, Back;
  /// The run of changed lines that a line is in; 0: it is common.
  std::vector<size_t> HunksA, HunksB;

  void findHunks();
  void pairDefinitions();
  bool standFor(Code::Name X, Code::Name Y);
  bool separate();
};
} // namespace

Code::Code(StringRef Text, StringRef Sigils) : Lines(splitLines(Text)) {
  auto IsOfName = [](char C) {
    return isAlnum(C) || C == '_' || C == '.' || C == '$' || C == '-';
  };
  unsigned Function = 0;
  for (auto [I, Line] : enumerate(Lines)) {
    std::string &Mask = Masked.emplace_back();
    SmallVector<Name, 4> &Own = Names.emplace_back();
    Function += Line == "}";
    StringRef Rest = Line;
    while (!Rest.empty()) {
      size_t Begin = Rest.find_first_of(Sigils);
      bool IsFirst = Rest.take_front(Begin).trim().empty() && Own.empty();
      Mask += Rest.take_front(Begin);
      Rest = Rest.drop_front(std::min(Begin, Rest.size()));
      if (Rest.empty())
        break;
      StringRef Text =
          Rest.take_front(1 + Rest.drop_front().take_while(IsOfName).size());
      Rest = Rest.drop_front(Text.size());
      Mask += Text.rtrim("0123456789");
      Own.push_back({Function, Text});
      if (IsFirst && Rest.starts_with(" = "))
        Definitions[Own.back()] = I;
      else
        Definitions.try_emplace(Own.back(), I);
    }
  }
}

void CodeComparison::findHunks() {
  HunksA.assign(A.Lines.size(), 0);
  HunksB.assign(B.Lines.size(), 0);
  size_t Hunk = 0;
  bool WasCommon = true;
  for (auto [L, IsCommonLine] : zip_equal(Lines, IsCommon)) {
    Hunk += WasCommon && !IsCommonLine;
    WasCommon = IsCommonLine;
    if (!IsCommonLine && L.Kind != '+')
      HunksA[L.A] = Hunk;
    if (!IsCommonLine && L.Kind != '-')
      HunksB[L.B] = Hunk;
  }
}

void CodeComparison::pairDefinitions() {
  Forth.clear();
  Back.clear();
  for (auto [L, IsCommonLine] : zip_equal(Lines, IsCommon))
    if (IsCommonLine)
      for (auto [X, Y] : zip_equal(A.Names[L.A], B.Names[L.B]))
        if (A.Definitions.at(X) == L.A && B.Definitions.at(Y) == L.B) {
          Forth.try_emplace(X, Y);
          Back.try_emplace(Y, X);
        }
}

/// Names whose definitions changed may stand for each other if one definition
/// replaces the other, or if the name is the same.
bool CodeComparison::standFor(Code::Name X, Code::Name Y) {
  auto ItX = Forth.find(X);
  auto ItY = Back.find(Y);
  if (ItX != Forth.end() || ItY != Back.end())
    return ItX != Forth.end() && ItX->second == Y && ItY != Back.end() &&
           ItY->second == X;
  size_t HunkX = HunksA[A.Definitions.at(X)],
         HunkY = HunksB[B.Definitions.at(Y)];
  if (!HunkX || !HunkY || (HunkX != HunkY && X.second != Y.second))
    return false;
  Forth[X] = Y;
  Back[Y] = X;
  return true;
}

/// Takes the lines whose names do not stand for each other from the common
/// ones. Returns true if there was one.
bool CodeComparison::separate() {
  bool Found = false;
  findHunks();
  pairDefinitions();
  for (auto [I, L] : enumerate(Lines)) {
    if (!IsCommon[I] ||
        all_of(zip_equal(A.Names[L.A], B.Names[L.B]), [&](const auto &Pair) {
          return standFor(std::get<0>(Pair), std::get<1>(Pair));
        }))
      continue;
    IsCommon[I] = false;
    Found = true;
  }
  return Found;
}

std::optional<std::vector<DiffLine>> CodeComparison::run() {
  // As many common lines as possible, and of these as many without other
  // numbers.
  static constexpr uint32_t Common = 1000, Equal = Common + 1;
  auto IsEqual = [&](size_t I, size_t K) { return A.Lines[I] == B.Lines[K]; };
  auto IsEqualMasked = [&](size_t I, size_t K) {
    return A.Masked[I] == B.Masked[K];
  };
  auto Score = [&](size_t I, size_t K) -> uint32_t {
    return !IsEqualMasked(I, K) ? 0 : IsEqual(I, K) ? Equal : Common;
  };
  std::optional<std::vector<DiffLine>> Aligned =
      alignLines(A.Lines.size(), B.Lines.size(), IsEqual, Score);
  if (!Aligned)
    Aligned = alignLines(A.Lines.size(), B.Lines.size(), IsEqualMasked, Score);
  if (!Aligned)
    return std::nullopt;
  Lines = std::move(*Aligned);
  for (const DiffLine &L : Lines)
    IsCommon.push_back(L.Kind == ' ');
  while (separate())
    ;
  std::vector<DiffLine> All;
  for (auto [L, IsCommonLine] : zip_equal(Lines, IsCommon)) {
    if (L.Kind != ' ' || IsCommonLine) {
      All.push_back(L);
      continue;
    }
    All.push_back({'-', L.A, L.B});
    All.push_back({'+', L.A + 1, L.B});
  }
  return All;
}

std::string mneme::makeCodeDiff(StringRef Before, StringRef After,
                                unsigned Context, StringRef Sigils) {
  if (Before == After)
    return "";
  Code A(Before, Sigils), B(After, Sigils);
  std::optional<std::vector<DiffLine>> Lines = CodeComparison(A, B).run();
  if (!Lines)
    return describeTooLarge(A.Lines.size(), B.Lines.size());
  bool Differs =
      any_of(*Lines, [](const DiffLine &L) { return L.Kind != ' '; });
  return Differs ? printDiff(*Lines, A.Lines, B.Lines, Context) : "";
}
