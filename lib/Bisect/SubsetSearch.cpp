//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/SubsetSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/MinimizeSet.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;

StringRef mneme::getAnswerName(Answer A) {
  switch (A) {
  case Answer::Good:
    return "good";
  case Answer::Bad:
    return "bad";
  case Answer::Unresolved:
    return "unresolved";
  }
  llvm_unreachable("no such answer");
}

//===----------------------------------------------------------------------===//
// Boundaries
//===----------------------------------------------------------------------===//

namespace {
/// The untested positions between two tested ones.
struct Gap {
  size_t Begin, End; ///< The tested positions.
  unsigned Probes = 0;

  size_t size() const { return End - Begin - 1; }
  /// Number of positions between two of its probes.
  size_t share() const { return size() / (Probes + 1); }
};
} // namespace

/// Limit of unresolved positions before the search gives up.
static constexpr size_t MaxUnresolved = 64;

/// Returns up to \p Width positions between \p Lo and \p Hi that divide the
/// untested positions evenly.
static std::vector<size_t> chooseProbes(size_t Lo, size_t Hi, unsigned Width,
                                        const std::map<size_t, Answer> &Known) {
  std::vector<Gap> Gaps;
  size_t Begin = Lo;
  auto Add = [&](size_t End) {
    if (End - Begin > 1)
      Gaps.push_back({Begin, End});
    Begin = End;
  };
  for (auto It = Known.upper_bound(Lo), E = Known.lower_bound(Hi); It != E;
       ++It)
    Add(It->first);
  Add(Hi);
  for (unsigned I = 0; I != Width && !Gaps.empty(); ++I) {
    auto Largest = llvm::max_element(
        Gaps, [](const Gap &A, const Gap &B) { return A.share() < B.share(); });
    if (Largest->Probes == Largest->size())
      break;
    ++Largest->Probes;
  }
  std::vector<size_t> Probes;
  for (const Gap &G : Gaps)
    for (unsigned I = 1; I <= G.Probes; ++I)
      Probes.push_back(G.Begin + (G.size() + 1) * I / (G.Probes + 1));
  return Probes;
}

Expected<Boundary> mneme::findBoundary(size_t Last, unsigned Width,
                                       AskPositionsFn Ask) {
  Boundary B{0, Last};
  std::map<size_t, Answer> Known; // the unresolved ones
  while (B.FirstBad - B.LastGood > 1 && Known.size() < MaxUnresolved) {
    std::vector<size_t> Probes =
        chooseProbes(B.LastGood, B.FirstBad, std::max(Width, 1u), Known);
    if (Probes.empty())
      break;
    Expected<std::vector<Answer>> Answers = Ask(Probes);
    if (!Answers)
      return Answers.takeError();
    for (auto [Position, A] : zip_equal(Probes, *Answers)) {
      if (A == Answer::Unresolved)
        Known[Position] = A;
      if (A == Answer::Good)
        B.LastGood = Position;
      if (A == Answer::Bad) {
        B.FirstBad = Position;
        break;
      }
    }
  }
  return B;
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

Expected<std::optional<size_t>> mneme::findFirst(ArrayRef<BitVector> Sets,
                                                 Answer Wanted, unsigned Width,
                                                 AskSetsFn Ask) {
  Width = std::max(Width, 1u);
  for (size_t Begin = 0; Begin < Sets.size(); Begin += Width) {
    ArrayRef<BitVector> Batch =
        Sets.slice(Begin, std::min<size_t>(Width, Sets.size() - Begin));
    Expected<std::vector<Answer>> Answers = Ask(Batch);
    if (!Answers)
      return Answers.takeError();
    auto It = llvm::find(*Answers, Wanted);
    if (It != Answers->end())
      return Begin + (It - Answers->begin());
  }
  return std::nullopt;
}

Expected<BitVector> mneme::minimize(const BitVector &Start,
                                    const BitVector &Always, Answer Wanted,
                                    unsigned Width, AskSetsFn Ask) {
  BitVector Free = Start;
  Free.reset(Always);
  SmallVector<unsigned> Elements(Free.set_bits());
  auto Expand = [&](const BitVector &Kept) {
    BitVector Set = Always;
    for (unsigned I : Kept.set_bits())
      Set.set(Elements[I]);
    return Set;
  };
  auto Test = [&](ArrayRef<BitVector> Kept) {
    std::vector<BitVector> Sets;
    for (const BitVector &K : Kept)
      Sets.push_back(Expand(K));
    return findFirst(Sets, Wanted, Width, Ask);
  };
  Expected<BitVector> Kept = minimizeSet(Elements.size(), Test);
  if (!Kept)
    return Kept.takeError();
  return Expand(*Kept);
}

std::vector<BitVector> mneme::makeChunks(const BitVector &All) {
  SmallVector<unsigned> Elements(All.set_bits());
  std::vector<BitVector> Chunks;
  size_t Count = 1;
  while (Count < Elements.size()) {
    Count = std::min<size_t>(Count * 2, Elements.size());
    size_t First = Chunks.size();
    Chunks.resize(First + Count, BitVector(All.size()));
    for (auto [I, Element] : enumerate(Elements))
      Chunks[First + I * Count / Elements.size()].set(Element);
  }
  return Chunks;
}
