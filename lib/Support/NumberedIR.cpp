//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/NumberedIR.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/xxhash.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Returns \p Line with other numbers of nodes and groups. Strings may contain
/// what looks like a number.
/// \param Print  returns the new text of a reference.
static std::string replaceNumbers(StringRef Line,
                                  function_ref<std::string(IRNumber)> Print) {
  std::string Text;
  bool InString = false;
  while (!Line.empty()) {
    char C = Line.front();
    InString ^= C == '"';
    StringRef Rest = Line.drop_front();
    unsigned Number;
    if (InString || (C != '!' && C != '#') || Rest.consumeInteger(10, Number)) {
      Text += C;
      Line = Line.drop_front();
      continue;
    }
    Text += Print({C, Number});
    Line = Rest;
  }
  return Text;
}

static std::string toString(IRNumber N) { return N.first + utostr(N.second); }

/// Returns the line with 0 for each number. Adds the numbers to \p Numbers.
static std::string maskNumbers(StringRef Line, std::vector<IRNumber> &Numbers) {
  return replaceNumbers(Line, [&](IRNumber N) {
    Numbers.push_back(N);
    return toString(IRNumber(N.first, 0));
  });
}

/// Returns the number that \p Line defines, and its definition.
static std::optional<std::pair<IRNumber, StringRef>>
parseDefinition(StringRef Line) {
  Line.consume_front("attributes ");
  if (!Line.starts_with("!") && !Line.starts_with("#"))
    return std::nullopt;
  IRNumber N{Line.front(), 0};
  Line = Line.drop_front();
  if (Line.consumeInteger(10, N.second) || !Line.consume_front(" = "))
    return std::nullopt;
  return std::pair(N, Line);
}

//===----------------------------------------------------------------------===//
// Joint numbers
//===----------------------------------------------------------------------===//

namespace {
/// A metadata node or an attribute group.
struct Node {
  IRNumber Number;
  StringRef Line, Definition;
  std::string Masked; ///< The definition without numbers.
  std::vector<IRNumber> Uses;
  /// Equal for nodes whose definitions are equal, as are those of their uses.
  uint64_t Color = 0;
  std::optional<IRNumber> Partner; ///< The same node of the other module.
};

struct NumberedText {
  std::map<IRNumber, Node> Nodes;
  std::vector<StringRef> Lines; ///< Without the definitions.

  explicit NumberedText(StringRef Text) {
    for (StringRef Line : splitLines(Text)) {
      auto Definition = parseDefinition(Line);
      if (!Definition) {
        Lines.push_back(Line);
        continue;
      }
      Node N{Definition->first, Line, Definition->second, "", {}, 0, {}};
      N.Masked = maskNumbers(N.Definition, N.Uses);
      Nodes[N.Number] = std::move(N);
    }
  }

  Node *find(IRNumber N) {
    auto It = Nodes.find(N);
    return It == Nodes.end() ? nullptr : &It->second;
  }
};

class JointNumbering {
public:
  JointNumbering(StringRef Before, StringRef After) : A(Before), B(After) {}

  JointIR run();

private:
  NumberedText A, B;

  void color();
  void pair(IRNumber InA, IRNumber InB);
  void pairUsesOfLines();
  void pairRest();
  bool isSame(const Node &X, const Node &Y);
  void separateDifferent();
};
} // namespace

/// Refines the colors until they are stable, as in the minimization of
/// automata: nodes may refer to each other in circles.
void JointNumbering::color() {
  size_t NumColors = 0;
  while (true) {
    std::set<uint64_t> Colors;
    std::vector<std::pair<Node *, uint64_t>> Next;
    for (NumberedText *T : {&A, &B})
      for (auto &[Number, N] : T->Nodes) {
        std::string Key = N.Masked + '\n' + utohexstr(N.Color);
        for (IRNumber Use : N.Uses)
          if (const Node *Used = T->find(Use))
            Key += ',' + utohexstr(Used->Color);
        Next.emplace_back(&N, xxh3_64bits(Key));
        Colors.insert(Next.back().second);
      }
    for (auto [N, Color] : Next)
      N->Color = Color;
    if (Colors.size() == NumColors)
      return;
    NumColors = Colors.size();
  }
}

/// Pairs two nodes and the nodes that they use.
void JointNumbering::pair(IRNumber InA, IRNumber InB) {
  std::vector<std::pair<IRNumber, IRNumber>> Work{{InA, InB}};
  while (!Work.empty()) {
    Node *X = A.find(Work.back().first), *Y = B.find(Work.back().second);
    Work.pop_back();
    if (!X || !Y || X->Partner || Y->Partner || X->Color != Y->Color)
      continue;
    X->Partner = Y->Number;
    Y->Partner = X->Number;
    for (auto [U, V] : zip(X->Uses, Y->Uses))
      Work.emplace_back(U, V);
  }
}

/// Pairs what the same lines use, since distinct nodes with the same content
/// are different nodes.
void JointNumbering::pairUsesOfLines() {
  std::vector<std::string> Masked[2];
  std::vector<std::vector<IRNumber>> Uses[2];
  for (bool Second : {false, true})
    for (StringRef Line : Second ? B.Lines : A.Lines)
      Masked[Second].push_back(maskNumbers(Line, Uses[Second].emplace_back()));
  std::optional<std::vector<DiffLine>> Lines =
      compareLines(std::vector<StringRef>(Masked[0].begin(), Masked[0].end()),
                   std::vector<StringRef>(Masked[1].begin(), Masked[1].end()));
  for (const DiffLine &L : Lines.value_or(std::vector<DiffLine>()))
    if (L.Kind == ' ')
      for (auto [InA, InB] : zip_equal(Uses[0][L.A], Uses[1][L.B]))
        pair(InA, InB);
}

/// Pairs the other nodes of the same color in order.
void JointNumbering::pairRest() {
  std::map<uint64_t, std::vector<IRNumber>> Left;
  for (auto &[Number, N] : reverse(A.Nodes))
    Left[N.Color].push_back(Number);
  for (auto &[Number, N] : B.Nodes) {
    std::vector<IRNumber> &Same = Left[N.Color];
    while (!Same.empty() && !N.Partner) {
      pair(Same.back(), Number);
      Same.pop_back();
    }
  }
}

bool JointNumbering::isSame(const Node &X, const Node &Y) {
  return X.Masked == Y.Masked && X.Uses.size() == Y.Uses.size() &&
         all_of(zip(X.Uses, Y.Uses), [&](const auto &Pair) {
           const Node *U = A.find(std::get<0>(Pair));
           return U && U->Partner == std::get<1>(Pair);
         });
}

/// Separates pairs that use nodes that are not pairs, until all definitions of
/// pairs are the same.
void JointNumbering::separateDifferent() {
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (auto &[Number, N] : A.Nodes) {
      if (!N.Partner)
        continue;
      Node &Other = *B.find(*N.Partner);
      if (isSame(N, Other))
        continue;
      N.Partner = Other.Partner = std::nullopt;
      Changed = true;
    }
  }
}

JointIR JointNumbering::run() {
  color();
  pairUsesOfLines();
  pairRest();
  separateDifferent();
  JointIR Joint;
  std::map<char, unsigned> Next;
  for (const auto &[Number, N] : A.Nodes) {
    Joint.Definitions[Number] = N.Line.str();
    Next[Number.first] = Number.second + 1;
  }
  std::map<IRNumber, IRNumber> Renamed;
  for (const auto &[Number, N] : B.Nodes)
    Renamed[Number] =
        N.Partner ? *N.Partner : IRNumber{Number.first, Next[Number.first]++};
  auto Rename = [&](StringRef Line) {
    return replaceNumbers(Line, [&](IRNumber N) {
      auto It = Renamed.find(N);
      return toString(It == Renamed.end() ? N : It->second);
    });
  };
  for (const auto &[Number, N] : B.Nodes)
    if (!N.Partner)
      Joint.Definitions[Renamed[Number]] = Rename(N.Line);
  for (StringRef Line : A.Lines)
    Joint.Before += (Line + "\n").str();
  for (StringRef Line : B.Lines)
    Joint.After += Rename(Line) + '\n';
  return Joint;
}

JointIR mneme::numberJointly(StringRef Before, StringRef After) {
  return JointNumbering(Before, After).run();
}

std::string JointIR::printDefinitions() const {
  std::string Text;
  for (const auto &[Number, Line] : Definitions)
    Text += Line + '\n';
  return Text;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

/// Returns \p Numbers and those of the nodes that they use. Does not follow
/// debug information, which is one large graph.
static std::set<IRNumber> addUsed(const JointIR &Joint,
                                  const std::set<IRNumber> &Numbers) {
  std::set<IRNumber> All;
  std::vector<IRNumber> Work(Numbers.begin(), Numbers.end());
  while (!Work.empty()) {
    IRNumber N = Work.back();
    Work.pop_back();
    auto It = Joint.Definitions.find(N);
    if (It == Joint.Definitions.end() || !All.insert(N).second)
      continue;
    StringRef Definition = parseDefinition(It->second)->second;
    Definition.consume_front("distinct ");
    if (Definition.starts_with("!{"))
      maskNumbers(Definition, Work);
  }
  return All;
}

/// Returns the numbers that a change of \p Diff, a run of '-' and '+' lines,
/// adds or removes.
static std::set<IRNumber> findChangedNumbers(StringRef Diff) {
  std::set<IRNumber> Changed, Used[2];
  auto EndRun = [&] {
    std::set_symmetric_difference(Used[0].begin(), Used[0].end(),
                                  Used[1].begin(), Used[1].end(),
                                  std::inserter(Changed, Changed.end()));
    Used[0].clear();
    Used[1].clear();
  };
  for (StringRef Line : splitLines(Diff)) {
    if (!Line.starts_with("-") && !Line.starts_with("+")) {
      EndRun();
      continue;
    }
    std::vector<IRNumber> Numbers;
    maskNumbers(Line, Numbers);
    Used[Line.starts_with("+")].insert(Numbers.begin(), Numbers.end());
  }
  EndRun();
  return Changed;
}

std::string mneme::makeIRDiff(const JointIR &Joint, StringRef Before,
                              StringRef After, bool RenumberedValues,
                              unsigned Context) {
  static constexpr size_t MaxDefinitions = 24;
  std::string Diff = RenumberedValues
                         ? makeCodeDiff(Before, After, Context, "%")
                         : makeDiff(Before, After, Context);
  std::set<IRNumber> Shown = addUsed(Joint, findChangedNumbers(Diff));
  if (Shown.empty() || Shown.size() > MaxDefinitions)
    return Diff;
  Diff += "@@ definitions @@\n";
  for (IRNumber N : Shown)
    Diff += " " + Joint.Definitions.at(N) + '\n';
  return Diff;
}
