//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Determines the rank of a process in a distributed run, and parses number
/// lists such as "0,2-3,8-" that select ranks and launches. Shared by the tools
/// and the runtime: no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_RANKS_H
#define LLVM_MNEME_RUNTIME_RANKS_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace mneme {

/// Parses all of \p Text as a decimal number. \returns true on success.
inline bool parseNumber(const std::string &Text, uint64_t &N) {
  if (Text.empty() || Text.size() > 18 ||
      Text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  N = strtoull(Text.c_str(), nullptr, 10);
  return true;
}

/// Numbers and ranges: "3", "0,2-3", "8-".
class NumberList {
public:
  /// \returns an empty string, or the error in \p Text.
  std::string parse(const std::string &Text) {
    Ranges.clear();
    for (size_t At = 0; At <= Text.size();) {
      size_t End = std::min(Text.find(',', At), Text.size());
      std::string Item = Text.substr(At, End - At);
      At = End + 1;
      size_t Dash = Item.find('-');
      Range R = {0, UINT64_MAX};
      if (!parseNumber(Item.substr(0, Dash), R.First))
        return "'" + Item + "' is not a number or range";
      if (Dash == std::string::npos)
        R.Last = R.First;
      else if (Dash + 1 != Item.size() &&
               !parseNumber(Item.substr(Dash + 1), R.Last))
        return "'" + Item + "' is not a number or range";
      if (R.Last < R.First)
        return "'" + Item + "' is a backwards range";
      Ranges.push_back(R);
    }
    return "";
  }

  bool contains(uint64_t N) const {
    return std::any_of(Ranges.begin(), Ranges.end(), [&](const Range &R) {
      return N >= R.First && N <= R.Last;
    });
  }

private:
  struct Range {
    uint64_t First, Last;
  };
  std::vector<Range> Ranges;
};

/// The rank of a process in a distributed run.
struct ProcessRank {
  const char *Variable; ///< The variable with the rank.
  uint64_t Rank;        ///< From 0.
  uint64_t Size;        ///< Number of ranks; 0 if unknown.
};

/// \returns true if this process belongs to a distributed run.
inline bool findRank(ProcessRank &R) {
  struct {
    const char *Rank, *Size;
    uint64_t First;
  } const Variables[] = {
#define RANK_VARIABLE(Rank, Size, First, Manager) {Rank, Size, First},
#include "llvm/Mneme/Runtime/RankVariables.def"
  };
  for (const auto &V : Variables) {
    const char *Rank = getenv(V.Rank), *Size = getenv(V.Size);
    if (!Rank || !parseNumber(Rank, R.Rank) || R.Rank < V.First)
      continue;
    R.Rank -= V.First;
    if (!Size || !parseNumber(Size, R.Size))
      R.Size = 0;
    R.Variable = V.Rank;
    return R.Size != 1;
  }
  return false;
}

/// The ranks to record: "all", a NumberList, or empty for the first rank.
class RankChoice {
public:
  /// \returns an empty string, or the error in \p Text.
  std::string parse(const std::string &Text) {
    All = Text == "all";
    return All ? "" : List.parse(Text.empty() ? "0" : Text);
  }
  /// A process without rank is always recorded.
  bool includesThisProcess() const {
    ProcessRank R;
    return All || !findRank(R) || List.contains(R.Rank);
  }

private:
  bool All = false;
  NumberList List;
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_RANKS_H
