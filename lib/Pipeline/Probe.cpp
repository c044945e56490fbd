//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes a pipeline for each pass of a space at its position. All paths through
/// the tree are followed at once: only a small state of a path affects what
/// follows.
///
//===----------------------------------------------------------------------===//

#include "Impl.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Beyond these limits, not all combinations are followed.
static constexpr size_t MaxVariants = 256;
static constexpr size_t MaxStates = 128;
static constexpr size_t MaxProbes = 1 << 16;
static constexpr unsigned MaxVisits = 1 << 20;

namespace {
/// The alternatives of named choices that are used often, by binding.
using Bound = std::map<unsigned, size_t>;

/// A text that a word can have.
struct Variant {
  std::string Text;
  Bound Names;
  SourcePos Pos;
};
using Variants = std::vector<Variant>;

/// The state after an item: the first item at the top level ("" if there is
/// none yet), and the alternatives of named choices.
using State = std::pair<std::string, Bound>;
using States = std::set<State>;

/// The text around a list.
struct Surroundings {
  std::string First, Before, After;
  std::vector<PipelineProbe::Place> Path;
};

class Prober {
public:
  explicit Prober(const PipelineTree &T) : T(T) {}
  std::vector<PipelineProbe> run() {
    walk(*T.Root, {}, {State()});
    return std::move(Probes);
  }

private:
  const PipelineTree &T;
  std::vector<PipelineProbe> Probes;
  StringSet<> Seen;
  std::string FirstProbe; ///< First pipeline since the last reset.
  mutable unsigned Visits = 0;

  bool isTired() const { return Visits >= MaxVisits; }
  Variants vary(const PipelineNode &N, const Bound &Names) const;
  Variants varyAll(const PipelineNode &N, const Bound &Names,
                   StringRef Separator) const;
  /// The states after \p N.
  States walk(const PipelineNode &N, const Surroundings &Around,
              const States &In);
  States walkWord(const PipelineNode &N, const Surroundings &Around,
                  const State &In);
  States walkAdaptor(const PipelineNode &N, const Surroundings &Around,
                     const State &In);
  States walkUse(const PipelineNode &N, const Surroundings &Around,
                 const States &In);
  States walkPerm(const PipelineNode &N, const Surroundings &Around,
                  const States &In);
  States walkSeq(const PipelineNode &N, const Surroundings &Around,
                 const States &In);
  States walkAny(const PipelineNode &N, const Surroundings &Around,
                 const States &In);
  void add(const Surroundings &Around, StringRef First, const Variant &V);
};
} // namespace

static void addTo(States &To, const States &From) {
  for (const State &S : From)
    if (To.size() < MaxStates)
      To.insert(S);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// \returns the concatenations of the children's variants, with \p Separator
/// between those that are not empty.
Variants Prober::varyAll(const PipelineNode &N, const Bound &Names,
                         StringRef Separator) const {
  Variants All = {{"", Names, N.Pos}};
  for (const auto &C : N.Children) {
    Variants Longer;
    for (const Variant &Head : All) {
      Variants Tails = vary(*C, Head.Names);
      // The first head is combined with all tails in any case.
      if (!Longer.empty() && All.size() * Tails.size() > MaxVariants)
        Tails.resize(1);
      for (Variant &Tail : Tails) {
        if (Head.Text.empty()) {
          Longer.push_back(std::move(Tail));
          continue;
        }
        StringRef Between = Tail.Text.empty() ? "" : Separator;
        Longer.push_back(
            {(Head.Text + Between + Tail.Text).str(), Tail.Names, Head.Pos});
      }
    }
    All = std::move(Longer);
  }
  return All;
}

Variants Prober::vary(const PipelineNode &N, const Bound &Names) const {
  ++Visits;
  if (isTired())
    return {{"", Names, N.Pos}};
  switch (N.Kind) {
  case PipelineNode::Text:
    return {{N.Characters, Names, N.Pos}};
  case PipelineNode::Range: {
    Variants Ends = {{std::to_string(N.Low), Names, N.Pos}};
    int64_t Last = N.Low + int64_t(N.numValues() - 1) * N.Step;
    if (Last != N.Low)
      Ends.push_back({std::to_string(Last), Names, N.Pos});
    return Ends;
  }
  case PipelineNode::Choice: {
    Variants All;
    for (const auto &C : N.Children)
      append_range(All, vary(*C, Names));
    return All;
  }
  case PipelineNode::Optional: {
    Variants All = vary(N.child(0), Names);
    All.push_back({"", Names, N.Pos});
    return All;
  }
  case PipelineNode::Use: {
    const PipelineBinding &B = T.Bindings[N.Binding];
    const PipelineNode &D = *B.Definition;
    Variants All;
    if (!B.isUsedOften() || D.Kind != PipelineNode::Choice) {
      All = vary(D, Names);
    } else if (auto It = Names.find(N.Binding); It != Names.end()) {
      All = vary(D.child(It->second), Names);
    } else {
      for (size_t I = 0; I != D.size(); ++I) {
        Bound More = Names;
        More[N.Binding] = I;
        append_range(All, vary(D.child(I), More));
      }
    }
    for (Variant &V : All)
      V.Pos = N.Pos;
    return All;
  }
  case PipelineNode::Params: {
    Variants All = varyAll(N, Names, ";");
    for (Variant &V : All)
      if (!V.Text.empty())
        V.Text = "<" + V.Text + ">";
    return All;
  }
  default:
    return varyAll(N, Names, N.Kind == PipelineNode::List ? ";" : "");
  }
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

void Prober::add(const Surroundings &Around, StringRef First,
                 const Variant &V) {
  if (isTired())
    return; // The text may be incomplete.
  PipelineProbe P;
  P.Pipeline = Around.Before + V.Text + Around.After;
  P.Path = Around.Path;
  P.Path.push_back({V.Pos.Line, V.Pos.Column, V.Text});
  if (FirstProbe.empty())
    FirstProbe = P.Pipeline;
  if (Seen.insert(P.Pipeline).second && Probes.size() < MaxProbes)
    Probes.push_back(P);
  if (First.empty())
    return;
  P.First = First.str();
  P.Pipeline = P.First + "," + P.Pipeline;
  if (Seen.insert(P.Pipeline).second && Probes.size() < MaxProbes)
    Probes.push_back(std::move(P));
}

States Prober::walkWord(const PipelineNode &N, const Surroundings &Around,
                        const State &In) {
  bool Top = Around.Path.empty();
  States Out;
  for (const Variant &V : vary(N, In.second)) {
    if (!V.Text.empty())
      add(Around, Top ? In.first : Around.First, V);
    bool IsFirst = Top && In.first.empty();
    addTo(Out, {{IsFirst ? V.Text : In.first, V.Names}});
  }
  return Out;
}

States Prober::walkAdaptor(const PipelineNode &N, const Surroundings &Around,
                           const State &In) {
  bool Top = Around.Path.empty();
  States Out;
  for (const Variant &V : vary(N.child(0), In.second)) {
    Surroundings Inside = Around;
    if (Top)
      Inside.First = In.first;
    Inside.Before += V.Text + "(";
    Inside.After.insert(0, ")");
    Inside.Path.push_back({V.Pos.Line, V.Pos.Column, V.Text});
    std::string Outer = std::exchange(FirstProbe, "");
    for (const State &S : walk(N.child(1), Inside, {State("", V.Names)})) {
      bool IsFirst = Top && In.first.empty();
      addTo(Out, {{IsFirst ? FirstProbe : In.first, S.second}});
    }
    if (!Outer.empty())
      FirstProbe = std::move(Outer);
    if (T.canBeEmpty(N.child(1)))
      addTo(Out, {{In.first, V.Names}});
  }
  return Out;
}

States Prober::walkUse(const PipelineNode &N, const Surroundings &Around,
                       const States &In) {
  const PipelineBinding &B = T.Bindings[N.Binding];
  const PipelineNode &D = *B.Definition;
  if (!B.isUsedOften() || D.Kind != PipelineNode::Choice)
    return walk(D, Around, In);
  States Out;
  for (const State &S : In) {
    auto It = S.second.find(N.Binding);
    if (It != S.second.end()) {
      addTo(Out, walk(D.child(It->second), Around, {S}));
      continue;
    }
    for (size_t I = 0; I != D.size(); ++I) {
      State More = S;
      More.second[N.Binding] = I;
      addTo(Out, walk(D.child(I), Around, {More}));
    }
  }
  return Out;
}

/// Walks each child as an alternative.
States Prober::walkAny(const PipelineNode &N, const Surroundings &Around,
                       const States &In) {
  States Out;
  for (const auto &C : N.Children)
    addTo(Out, walk(*C, Around, In));
  return Out;
}

States Prober::walkPerm(const PipelineNode &N, const Surroundings &Around,
                        const States &In) {
  std::vector<States> Alone;
  for (const auto &C : N.Children)
    Alone.push_back(walk(*C, Around, In));
  States Out;
  for (size_t I = 0; I != N.size(); ++I) {
    States Others;
    for (size_t J = 0; J != N.size(); ++J)
      if (J != I)
        addTo(Others, Alone[J]);
    bool Same = N.size() == 1 || Others == In;
    addTo(Out, Same ? Alone[I] : walk(N.child(I), Around, Others));
  }
  return Out;
}

States Prober::walkSeq(const PipelineNode &N, const Surroundings &Around,
                       const States &In) {
  States Out = N.Low == 0 ? In : States();
  States Before = In;
  for (int64_t I = 0; I != N.High; ++I) {
    States After = walkAny(N, Around, Before);
    size_t Known = Out.size();
    addTo(Out, After);
    if (Out.size() == Known || After == Before)
      break;
    Before = std::move(After);
  }
  return Out;
}

States Prober::walk(const PipelineNode &N, const Surroundings &Around,
                    const States &In) {
  ++Visits;
  if (isTired())
    return In;
  switch (N.Kind) {
  case PipelineNode::List: {
    States Now = In;
    for (const auto &C : N.Children)
      Now = walk(*C, Around, Now);
    return Now;
  }
  case PipelineNode::Choice:
    return walkAny(N, Around, In);
  case PipelineNode::Optional: {
    States Out = walk(N.child(0), Around, In);
    addTo(Out, In);
    return Out;
  }
  case PipelineNode::Use:
    return walkUse(N, Around, In);
  case PipelineNode::Perm:
    return walkPerm(N, Around, In);
  case PipelineNode::Seq:
    return walkSeq(N, Around, In);
  default:
    States Out;
    for (const State &S : In)
      addTo(Out, N.Kind == PipelineNode::Adaptor ? walkAdaptor(N, Around, S)
                                                 : walkWord(N, Around, S));
    return Out;
  }
}

std::vector<PipelineProbe> PipelineSpace::probes() const {
  return Prober(I->Tree).run();
}
